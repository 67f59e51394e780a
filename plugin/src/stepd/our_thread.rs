//! A thread of ours in slurmstepd. Whoever ends the step waits for it, but not for ever.

use std::io;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::Builder;
use std::time::Duration;

use nix::sys::signal::{SigSet, SigmaskHow};

/// A stack that is large enough to read the machine file of the largest host.
const STACK: usize = 1 << 20;

/// A thread that runs, or has ended with a result.
pub(crate) struct OurThread<T>(Receiver<T>);

impl<T: Send + 'static> OurThread<T> {
    /// Starts it.
    ///
    /// # Errors
    /// The kernel's answer.
    pub(crate) fn start(work: impl FnOnce() -> T + Send + 'static) -> io::Result<Self> {
        let (sender, result) = sync_channel(1);
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
            let _ = sender.send(work());
        });
        if blocked.is_ok() {
            // It was just taken from here, so it cannot be refused.
            let _ = before.thread_set_mask();
        }
        started.map(|_| Self(result))
    }

    /// Its result, if it ends within this time; a panic has none. Should the kernel be busy for it, the thread ends
    /// with the process; the object is never unloaded.
    pub(crate) fn join(self, patience: Duration) -> Option<T> {
        self.0.recv_timeout(patience).ok()
    }
}
