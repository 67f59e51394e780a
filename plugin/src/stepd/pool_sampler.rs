//! slurmstepd's thread for a pool job, which looks at the run delay of its tasks' threads: nobody knows it when they
//! have ended. It begins after the last task was forked, and ends with the step.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use berth_host::cgroup::JobFolders;
use berth_host::run_delay::{Delays, Times};

use crate::stepd::our_thread::OurThread;

/// A short job is looked at soon, a long one not often: what ran since the last look is missing at the end.
const FIRST: Duration = Duration::from_secs(1);
const EVERY: Duration = Duration::from_secs(10);
/// The end of a step waits so long for the thread.
const PATIENCE: Duration = Duration::from_secs(1);

/// The thread, to be ended.
pub(super) struct Sampler {
    end: Sender<()>,
    thread: OurThread<Option<Times>>,
}

impl Sampler {
    /// Begins; nothing if there are no folders of the step, or no thread.
    pub(super) fn begin() -> Option<Self> {
        let folders = JobFolders::own().ok()?;
        let (end, ended) = channel();
        let thread = OurThread::start(move || run(&folders, &ended)).ok()?;
        Some(Self { end, thread })
    }

    /// The step has ended: what its threads had run and waited for at the last look.
    pub(super) fn end(self) -> Option<Times> {
        drop(self.end);
        self.thread.join(PATIENCE).flatten()
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
