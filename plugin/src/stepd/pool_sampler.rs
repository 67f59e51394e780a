//! slurmstepd's thread for a pool job, which looks at the run delay of its tasks' threads: nobody knows it when they
//! have ended. It begins after the last task was forked, and ends with the step.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::Builder;
use std::time::Duration;

use berth_host::cgroup::JobFolders;
use berth_host::run_delay::{Delays, Times};
use nix::sys::signal::{SigSet, SigmaskHow};

/// A stack that is large enough to list threads.
const STACK: usize = 256 << 10;
/// A short job is looked at soon, a long one not often: what ran since the last look is missing at the end.
const FIRST: Duration = Duration::from_secs(1);
const EVERY: Duration = Duration::from_secs(10);
/// The end of a step waits so long for the thread.
const PATIENCE: Duration = Duration::from_secs(1);

/// The thread, to be ended.
pub(super) struct Sampler {
    end: Sender<()>,
    sum: Receiver<Option<Times>>,
}

impl Sampler {
    /// Begins; nothing if there are no folders of the step, or no thread.
    pub(super) fn begin() -> Option<Self> {
        let folders = JobFolders::own().ok()?;
        let ((end, ended), (tell, sum)) = (channel(), channel());
        // A thread inherits the mask; slurmstepd's signals are for its own threads.
        let mut before = SigSet::empty();
        let all = SigSet::all();
        let blocked = nix::sys::signal::pthread_sigmask(
            SigmaskHow::SIG_SETMASK,
            Some(&all),
            Some(&mut before),
        );
        let thread = Builder::new().name("berth".into()).stack_size(STACK);
        let started = thread.spawn(move || {
            // Nobody waits where slurmstepd ends in a hurry.
            let _ = tell.send(run(&folders, &ended));
        });
        if blocked.is_ok() {
            // It was just taken from here, so it cannot be refused.
            let _ = before.thread_set_mask();
        }
        started.ok().map(|_| Self { end, sum })
    }

    /// The step has ended: what its threads had run and waited for at the last look.
    pub(super) fn end(self) -> Option<Times> {
        drop(self.end);
        self.sum.recv_timeout(PATIENCE).ok().flatten()
    }
}

fn run(folders: &JobFolders, ended: &Receiver<()>) -> Option<Times> {
    let mut delays = Delays::default();
    let mut pause = FIRST;
    while ended.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
        delays.look(&folders.threads());
        pause = EVERY;
    }
    delays.sum()
}
