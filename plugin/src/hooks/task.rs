//! Slurm's task plugin interface: every hook of every release line; each is a guard
//! and a call. Slurm looks up only those that its release knows. A missing hook is fatal
//! to slurmd, and an additional one is harmless. Source: src/interfaces/task.c of each line.

use std::ffi::{c_char, c_void};

use libc::{c_int, pid_t};
use slurm_sys::SUCCESS;

use crate::hooks::guard::{guard, guard_in_child, guard_or, prepare};
use crate::slurmd::{batch, launch, ready, refresh, shadow};
use crate::stepd::state::STATE;
use crate::stepd::{adopted, bind_task, in_task, node_facts, read_handover};

/// A hook that has nothing to do here.
macro_rules! nothing {
    ($($name:ident($($argument:ty),*)),+ $(,)?) => {
        $(
            /// Nothing to do here; Slurm requires the symbol.
            #[unsafe(no_mangle)]
            pub extern "C" fn $name($(_: $argument),*) -> c_int {
                guard(stringify!($name), || SUCCESS)
            }
        )+
    };
}

nothing! {
    task_p_slurmd_suspend_job(u32),
    task_p_slurmd_resume_job(u32),
    task_p_pre_set_affinity(*mut c_void, u32),
    task_p_post_set_affinity(*mut c_void, u32),
    task_p_update_mem_limit(*mut c_void, u64, u64),
}

/// Called at every load, several times per process, so it is cheap and keeps nothing.
#[unsafe(no_mangle)]
pub extern "C" fn init() -> c_int {
    guard("init", || {
        prepare();
        ready::at_load();
        SUCCESS
    })
}

/// Called before an unload.
#[unsafe(no_mangle)]
pub extern "C" fn fini() -> c_int {
    guard("fini", || {
        shadow::at_end();
        refresh::stop();
        SUCCESS
    })
}

/// slurmd: plan a step.
///
/// # Safety
/// Called by slurmd with its own request and a place for a text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn task_p_slurmd_launch_request(
    request: *mut c_void,
    node_id: u32,
    err_msg: *mut *mut c_char,
) -> c_int {
    guard_or(
        "task_p_slurmd_launch_request",
        // SAFETY: slurmd's promise, passed on.
        || unsafe { launch::hook(request, node_id, err_msg) },
        // SAFETY: the same.
        || unsafe { launch::after_panic(request) },
    )
}

/// slurmd: plan a batch script.
///
/// # Safety
/// Called by slurmd with its own request.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn task_p_slurmd_batch_request(request: *mut c_void) -> c_int {
    // SAFETY: slurmd's promise, passed on.
    guard("task_p_slurmd_batch_request", || unsafe {
        batch::hook(request)
    })
}

/// slurmstepd, before the tasks are forked: read the masks back.
///
/// # Safety
/// Called by slurmstepd with its own record.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn task_p_pre_setuid(record: *mut c_void) -> c_int {
    // SAFETY: slurmstepd's promise, passed on.
    guard("task_p_pre_setuid", || unsafe {
        read_handover::pre_setuid(record)
    })
}

/// slurmstepd of a job's extern step, for a process that it has adopted.
#[unsafe(no_mangle)]
pub extern "C" fn task_p_add_pid(pid: pid_t) -> c_int {
    guard("task_p_add_pid", || {
        adopted::adopted(pid);
        SUCCESS
    })
}

/// slurmstepd, when a task has ended.
///
/// # Safety
/// Called by slurmstepd with its own records of the step and of the task.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn task_p_post_term(_record: *mut c_void, task: *mut c_void) -> c_int {
    // SAFETY: slurmstepd's promise, passed on.
    guard("task_p_post_term", || unsafe { bind_task::ended(task) })
}

/// slurmstepd, when the step's tasks have ended and before it reports that: its cores are free.
#[unsafe(no_mangle)]
pub extern "C" fn task_p_post_step(_record: *mut c_void) -> c_int {
    guard("task_p_post_step", || {
        STATE.release();
        node_facts::step_has_ended();
        SUCCESS
    })
}

/// slurmstepd of 22.05, for each task, in the parent: bind it.
///
/// # Safety
/// Called by slurmstepd with its own record.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn task_p_set_affinity(record: *mut c_void, local_id: u32) -> c_int {
    // SAFETY: slurmstepd's promise, passed on.
    guard("task_p_set_affinity", || unsafe {
        bind_task::hook(record, local_id)
    })
}

/// slurmstepd of later lines, for each task, in the parent: bind it.
///
/// # Safety
/// Called by slurmstepd with its own record.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn task_p_pre_launch_priv(
    record: *mut c_void,
    local_id: u32,
    _global_id: u32,
) -> c_int {
    // SAFETY: slurmstepd's promise, passed on.
    guard("task_p_pre_launch_priv", || unsafe {
        bind_task::hook(record, local_id)
    })
}

/// The task itself, between fork and exec, as the user: a refused task stops here;
/// others fill in their variables and set their memory policy.
///
/// # Safety
/// Called by slurmstepd's child with slurmstepd's record.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn task_p_pre_launch(record: *mut c_void) -> c_int {
    guard_in_child("task_p_pre_launch", || {
        // SAFETY: slurmstepd's promise, passed on.
        unsafe { in_task::pre_launch(record) }
    })
}
