//! The end of a launch in slurmd: a slurmstepd that has not started soon after it never will, and
//! its entry in the ledger ends. Source: `_rpc_launch_tasks`, `_rpc_batch_job`: one thread calls
//! the hook, waits for the prolog, starts slurmstepd unless the job was cancelled meanwhile, and
//! ends with the message. Where it does not end, it has another launch, or nothing is known and the
//! ledger waits for longer.

use std::cell::Cell;
use std::panic::catch_unwind;

use berth_host::ledger::StepKey;

use crate::slurmd::open_ledger;

/// The launch that a thread of slurmd is working on.
struct Launch(StepKey);

thread_local! {
    static AT: Cell<Option<Launch>> = const { Cell::new(None) };
}

impl Drop for Launch {
    fn drop(&mut self) {
        let step = self.0;
        // A panic at a thread's end would end slurmd.
        let _ = catch_unwind(|| open_ledger::let_go(step));
    }
}

/// This thread of slurmd continues the launch of a step that has an entry in the ledger.
pub(crate) fn begins(step: StepKey) {
    let _ = AT.try_with(|at| at.set(Some(Launch(step))));
}
