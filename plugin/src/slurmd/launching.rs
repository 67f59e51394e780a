//! The end of a launch in slurmd: a slurmstepd that has not come soon after it never will, and what
//! was written down for it is free.
//! Source: `_rpc_launch_tasks`, `_rpc_batch_job`: one thread calls the hook, waits for the prolog,
//! starts slurmstepd unless the job was cancelled meanwhile, and ends with the message. Where
//! it does not end, it has another launch, or nothing is known and the ledger waits for longer.

use std::cell::Cell;
use std::panic::catch_unwind;

use berth_host::ledger::StepKey;

use crate::slurmd::open_ledger;

/// The launch that a thread of slurmd's is at.
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

/// This thread of slurmd's goes on with the launch of a step that was accounted for.
pub(crate) fn begins(step: StepKey) {
    let _ = AT.try_with(|at| at.set(Some(Launch(step))));
}
