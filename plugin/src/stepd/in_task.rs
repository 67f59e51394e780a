//! The task plugin in a task, between fork and exec. Everything was prepared before the fork
//! ([`crate::stepd::state`]): nothing here allocates, locks or logs.

use std::ffi::c_void;

use libc::c_int;
use slurm_sys::{SUCCESS, StepRecord};

use crate::site::standing;
use crate::stepd::state::STATE;

/// If `pre_launch` fails, the task ends before its program starts.
const FAILED: c_int = -1;
/// The signals that a program can catch have numbers below this.
const SIGNALS: c_int = 32;

/// Just forked, as root: what the task must have before it waits for anything.
pub(crate) fn forked() {
    if STATE.may_be_frozen() {
        forget_handlers();
    }
}

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

/// In a task that may be frozen before its program starts: from 24.05 on it inherits slurmstepd's signal handlers, which
/// do nothing in it, and it would not hear its SIGTERM. Its program begins without handlers anyway; signals that are ignored stay so.
fn forget_handlers() {
    for signal in 1..SIGNALS {
        // SAFETY: all zeros are a valid sigaction; the kernel fills it, and takes back one that is ours.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            if libc::sigaction(signal, std::ptr::null(), &raw mut action) == 0
                && !matches!(action.sa_sigaction, libc::SIG_DFL | libc::SIG_IGN)
            {
                action.sa_sigaction = libc::SIG_DFL;
                libc::sigaction(signal, &raw const action, std::ptr::null_mut());
            }
        }
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
    let Some(mut record) = record else { return };
    let Some(ids) = record.child_ids() else {
        return;
    };
    prepared.fill(ids.localid as usize, |name, value| {
        record.env_fill(name, value)
    });
}
