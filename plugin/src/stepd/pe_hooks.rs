//! `--binding=pe:` at Slurm's hooks: the files are requested when the step is read, prepared before
//! the first fork, and written by the node's first task.
//!
//! The task writes in SPANK's `task_init`. In every release line that hook runs in the child, after
//! it has joined the job's namespace (`_pre_task_child_privileged`), has become the user
//! (`_become_user`) and was released by slurmstepd, so that its cgroup holds already; it
//! comes after the task plugins' `pre_launch`, and unlike that one it is called without
//! `TaskPlugin=task/berth` too. Nobody removes the files: after the step no process of the
//! user's is left to do it, and root must not touch a directory that a user can change.

use berth_placement::Chosen;
use slurm_spank::SpankHandle;

use crate::stepd::job_env::Spank;
use crate::stepd::state::STATE;
use crate::stepd::{job_stderr, pe_files};

/// In slurmstepd, before the user's hook.
pub(crate) fn ask(chosen: &Chosen, node_name: &str) {
    match pe_files::request(chosen, node_name) {
        // Slurm prepares a step once; a second call would request the same.
        Ok(request) => drop(STATE.files_request.set(request)),
        Err(why) => {
            log::error!("--binding=pe: the host file and the rank file are not written: {why}")
        }
    }
}

/// SPANK's `user_init`: in slurmstepd, before the first fork. No file is touched here.
pub(crate) fn user_init(spank: &Spank<'_>) {
    let Some(request) = STATE.files_request.get() else {
        return;
    };
    match pe_files::prepare(spank, request) {
        // Slurm calls user_init once; what a second call would prepare is the same.
        Ok(prepared) => drop(STATE.files.set(prepared)),
        Err(why) => {
            let text =
                format!("--binding=pe: the host file and the rank file are not written: {why}");
            log::error!("{text}");
            // Slurm has joined stderr to the job's before it calls user_init.
            job_stderr::to_user(&format!("berth: error: {text}\n"));
        }
    }
}

/// In the task, between fork and exec: the first one writes, the others wait for it.
pub(crate) fn in_task(spank: &SpankHandle<'_>) {
    let Some(prepared) = STATE.files.get() else {
        return;
    };
    match spank.task_id() {
        Ok(0) => prepared.write(),
        Ok(_) => prepared.wait(),
        Err(_) => {}
    }
}
