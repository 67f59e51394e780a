//! The task plugin in a task, between fork and exec. Everything was prepared before the fork
//! ([`crate::stepd::state`]): nothing here allocates, locks or logs.

use std::ffi::c_void;

use libc::c_int;
use slurm_sys::{SUCCESS, StepRecord};

use crate::site::standing;
use crate::stepd::state::STATE;

/// If `pre_launch` fails, the task ends before its program starts.
const FAILED: c_int = -1;

/// `task_p_pre_launch`, as the user: a refused task stops here; the others fill in their entries and set their memory policy.
///
/// # Safety
/// The pointer is the one that slurmstepd's child passed to the running hook.
pub(crate) unsafe fn pre_launch(raw: *mut c_void) -> c_int {
    if STATE.is_refused() {
        return FAILED;
    }
    // SAFETY: the caller's promise.
    unsafe { fill_entries(raw) };
    match STATE.memory.get() {
        // SAFETY: the caller's promise.
        Some(prepared) => unsafe { prepared.in_task(raw) },
        None => SUCCESS,
    }
}

/// # Safety
/// As for [`pre_launch`].
unsafe fn fill_entries(raw: *mut c_void) {
    let (Some(prepared), Some(slurm)) = (STATE.entries.get(), standing::working()) else {
        return;
    };
    // SAFETY: slurmstepd's child owns its copy of the record until it becomes the program.
    let record = unsafe { StepRecord::from_raw(raw, slurm.layout, slurm.symbols) };
    let Some(record) = record else { return };
    let Some(ids) = record.child_ids() else {
        return;
    };
    prepared.fill(ids.localid as usize, |name, value| {
        record.env().fill(name, value)
    });
}
