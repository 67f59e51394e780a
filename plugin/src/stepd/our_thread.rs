//! A thread of ours in slurmstepd. Whoever ends the step waits for it, but not for ever.

use std::io;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::Builder;
use std::time::Duration;

use nix::sys::signal::{SigSet, SigmaskHow};

/// A stack that is large enough to read the machine file of the largest host.
const STACK: usize = 1 << 20;

/// A thread that runs, or has ended.
pub(crate) struct OurThread(Receiver<()>);

impl OurThread {
    /// Starts it. It must not panic; it has ended when the value that it gets is gone.
    ///
    /// # Errors
    /// The kernel's answer.
    pub(crate) fn start(work: impl FnOnce(SyncSender<()>) + Send + 'static) -> io::Result<Self> {
        let (sender, ended) = sync_channel(1);
        // A thread inherits the mask; slurmstepd's signals are for its own threads.
        let mut before = SigSet::empty();
        let all = SigSet::all();
        let blocked = nix::sys::signal::pthread_sigmask(
            SigmaskHow::SIG_SETMASK,
            Some(&all),
            Some(&mut before),
        );
        let thread = Builder::new().name("berth".into()).stack_size(STACK);
        let started = thread.spawn(move || work(sender));
        if blocked.is_ok() {
            // It was just taken from here, so it cannot be refused.
            let _ = before.thread_set_mask();
        }
        started.map(|_| Self(ended))
    }

    /// Waits until it has ended, and no longer than this. Should the kernel be busy for it, the thread ends with the
    /// process; the object is never unloaded.
    pub(crate) fn join(self, patience: Duration) {
        // An error says that it has ended, or that the time is over.
        let _ = self.0.recv_timeout(patience);
    }
}
