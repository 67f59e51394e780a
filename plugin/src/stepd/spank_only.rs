//! `--binding` without `TaskPlugin=task/berth`: beside any task plugin, from SPANK's hooks alone.
//! The step's cores come from SPANK (`S_STEP_ALLOC_CORES`), the hardware from the machine file,
//! and slurmstepd itself plans and writes the ledger. A site can try it without any other change.

use std::ffi::c_char;
use std::ptr;

use berth_host::cgroup::Fence;
use slurm_spank::SpankHandle;
use slurm_spank::spank_sys::{ESPANK_SUCCESS, spank_get_item, spank_item_S_JOB_ENV, spank_t};
use slurm_sys::views::{TaskEnvironment, TaskInfo};

use crate::site::{node, standing};
use crate::step::words::join;
use crate::stepd::job_env::Spank;
use crate::stepd::job_stderr::{self, Place};
use crate::stepd::state::STATE;
use crate::stepd::{quarantine, spank_plan};

/// In the parent, as root, before the first fork: plans the step if no task plugin of ours
/// does.
pub(crate) fn prepare(spank: &Spank<'_>) {
    if standing::working().is_some() {
        return;
    }
    let Some(mut found) = spank_plan::bound(spank) else {
        quarantine::decided(false);
        return;
    };
    quarantine::decided(!found.tasks.is_empty());
    if let Some(why) = found.refused.take() {
        let place = Place {
            local_id: 0,
            node_id: spank.job_nodeid().unwrap_or(0),
            node_name: &node::name_in_stepd().unwrap_or_default(),
        };
        let text = job_stderr::not_started(place, "the task", &why).unwrap_or_default();
        let _ = STATE.refusal.set(format!("berth: error: {text}\n"));
    }
    *STATE.alone() = Some(found);
}

/// In the parent, for each task, after the task plugins.
pub(crate) fn post_fork(spank: &SpankHandle<'_>) {
    let mut step = STATE.alone();
    let Some(bound) = step.as_mut() else { return };
    let (Ok(pid), Ok(id)) = (spank.task_pid(), spank.task_id()) else {
        return;
    };
    if let Some(entry) = bound.ledger_entry.as_mut().filter(|_| id == 0) {
        entry.started(pid, &[]);
    }
    if let Some(cpus) = bound.tasks.get(id as usize) {
        if let Some(fences) = &mut bound.fences {
            // The number in the step only names the fence.
            let gtid = spank.task_global_id().unwrap_or(id as u32);
            fences.around(
                TaskInfo { id, gtid, pid },
                &Fence { cpus, mems: None },
                None,
            );
        }
        match berth_host::set_affinity(pid, cpus) {
            Ok(()) => bound.applied += 1,
            Err(why) => log::error!("{}: task {id} is not bound: {why}", bound.name),
        }
    }
    if id as usize + 1 == bound.wanted {
        quarantine::end();
        let confined = bound.fences.as_ref().map(|fences| {
            let note = std::mem::take(&mut bound.note);
            bound.note = join(&[], [note, fences.note()]);
            format!(" confined={}/{}", fences.made, bound.wanted)
        });
        log::info!(
            "{} bound={}/{}{} note={:?}",
            bound.name,
            bound.applied,
            bound.wanted,
            confined.unwrap_or_default(),
            bound.note
        );
        let is_told = bound.shows_notes && !bound.note.is_empty();
        let note = is_told.then(|| format!("berth: note: {}\n", bound.note));
        if let Some(entry) = &bound.ledger_entry {
            entry.publish(standing::unjudged());
        }
        // Nobody knows how long the user's file takes.
        drop(step);
        note.iter().for_each(|text| job_stderr::to_user(text));
    }
}

/// In the task, between fork and exec: writes its entries, or ends the task.
///
/// # Safety
/// Called in the task.
pub(crate) unsafe fn in_task(spank: &Spank<'_>) {
    if standing::working().is_some() {
        // `pre_launch` has put them in.
        return;
    }
    if let Some(text) = STATE.refusal.get() {
        // The line is written once for the node.
        if !spank.task_id().is_ok_and(|id| id > 0) {
            job_stderr::from_task(text);
        }
        // SAFETY: ends this process, which is the task and not yet its program; nothing of
        // slurmstepd's is run on the way.
        unsafe { libc::_exit(1) };
    }
    // SAFETY: in the task; its environment is nobody else's until it becomes its program.
    let Some(mut own) = (unsafe { environment(spank.raw()) }) else {
        return;
    };
    if let (Some(entries), Ok(id)) = (STATE.entries.get(), spank.task_id()) {
        entries.fill(id as usize, |name, value| own.fill(name, value));
    }
}

/// The array of the task's environment, not a copy of it.
///
/// # Safety
/// Called in the task, with the handle that Slurm passed to the running hook; what is given back
/// does not outlive the hook.
unsafe fn environment(raw: spank_t) -> Option<TaskEnvironment> {
    let mut entries: *mut *mut c_char = ptr::null_mut();
    // SAFETY: the caller's handle; the item is of this type (spank.h).
    let code = unsafe { spank_get_item(raw, spank_item_S_JOB_ENV, &raw mut entries) };
    // SAFETY: slurmstepd's array for this task (`_spank_get_item`, `exec_task`).
    let own = unsafe { TaskEnvironment::from_raw(entries.cast_const()) };
    own.filter(|_| code == ESPANK_SUCCESS)
}

/// In the parent: a task has ended.
pub(crate) fn task_ended(spank: &SpankHandle<'_>) {
    if let Some(fences) = STATE.alone().as_mut().and_then(|step| step.fences.as_mut())
        && let Ok(id) = spank.task_global_id()
    {
        fences.ended(id);
    }
}

/// The step has ended.
pub(crate) fn release() {
    let (entry, fences) = match STATE.alone().as_mut() {
        Some(step) => (step.ledger_entry.take(), step.fences.take()),
        None => (None, None),
    };
    if let Some(mut fences) = fences {
        fences.clear();
    }
    if let Some(entry) = entry {
        entry.release(standing::unjudged());
    }
}
