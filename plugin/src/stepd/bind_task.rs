//! slurmstepd after a task was forked, in the parent, as root: it sets the mask in the kernel,
//! reads it back and reports it; after the last task it writes the step's line into the log.

use std::ffi::c_void;

use berth_host::cgroup::Fence;
use berth_host::online::OnlineCpus;
use berth_placement::CpuSet;
use berth_placement::request::cpuset::Keyword;
use libc::c_int;
use slurm_sys::views::TaskInfo;
use slurm_sys::{SUCCESS, StepRecord};

use crate::site::node;
use crate::site::settings::{self, Notes};
use crate::site::slurm_log::VERBOSE;
use crate::site::standing::{self, Abi};
use crate::stepd::fence::Fences;
use crate::stepd::job_stderr::{self, Place};
use crate::stepd::ledger_entry::LedgerEntry;
use crate::stepd::own_node::own_cpus;
use crate::stepd::quarantine;
use crate::stepd::running_step::{Intent, RunningStep};
use crate::stepd::state::STATE;

/// Slurm fails the step only for a negative result.
const FAILED: c_int = -1;
/// Masks beyond this length are cut in the log.
const LOGGED_MASKS: usize = 2000;
/// Why a job keeps its CPUs when it is resumed.
const NO_SERVICE: &str = "a resumed job goes on with the CPUs that it had, whatever RESUME_OPTION says: berth node does not \
                          run on this node";
const NO_LEAVES: &str = "a resumed job goes on with the CPUs that it had, whatever RESUME_OPTION says: its tasks have no \
                         cgroups of their own in cgroup v2, or there are too many for berth node to move";
/// Deviations beyond this number are only counted.
const SHOWN_DEVIATIONS: usize = 4;

/// The running Slurm and its record of the step.
#[derive(Clone, Copy)]
struct SlurmStep<'a> {
    slurm: Abi,
    record: &'a StepRecord<'a>,
}

/// `task_p_set_affinity` (22.05) and `task_p_pre_launch_priv` (later lines).
///
/// # Safety
/// The pointer is the one that slurmstepd passed to the running hook.
pub(crate) unsafe fn hook(raw: *mut c_void, local_id: u32) -> c_int {
    let Some(slurm) = standing::working() else {
        return SUCCESS;
    };
    // SAFETY: slurmstepd owns the record and keeps it until the hook returns.
    let record = unsafe { StepRecord::from_raw(raw, slurm.layout, slurm.symbols) };
    let Some(record) = record else {
        return SUCCESS;
    };
    let mut step = STATE.step();
    let (code, messages) = match (step.as_mut(), record.task(local_id)) {
        (Some(step), Some(task)) => {
            let of_slurm = SlurmStep {
                slurm,
                record: &record,
            };
            let code = forked(step, local_id, task, of_slurm);
            (code, std::mem::take(&mut step.messages))
        }
        _ => (SUCCESS, Vec::new()),
    };
    drop(step);
    // Threads that others wait for lock the step, and nobody knows how long the user's file takes.
    for text in messages {
        job_stderr::to_user(&text);
    }
    code
}

fn forked(step: &mut RunningStep, local_id: u32, task: TaskInfo, of_slurm: SlurmStep<'_>) -> c_int {
    let SlurmStep { slurm, record } = of_slurm;
    if STATE.is_refused() {
        let place = Place {
            local_id,
            node_id: record.nodeid(),
            node_name: &step.node_name,
        };
        if let Some(text) = job_stderr::not_started(place, step.program(), &step.note) {
            report_error(step, &text);
        }
        return SUCCESS;
    }
    let code = bind(step, local_id, task, of_slurm);
    if code == SUCCESS && step.is_nice {
        nice(step, task);
    }
    if local_id + 1 >= step.node_tasks {
        quarantine::end();
        started(step, record);
        close(step);
        if let Some(entry) = step.ledger_entries.first() {
            entry.publish(Some(slurm));
        }
    }
    code
}

/// The last task was forked: the ledger names the first one, and the tasks' cgroups.
fn started(step: &mut RunningStep, record: &StepRecord<'_>) {
    let Some(first) = record.task(0) else {
        return;
    };
    let leaves = step.fences.as_mut().map(Fences::take_leaves);
    let leaves = leaves.unwrap_or_default();
    for entry in &mut step.ledger_entries {
        entry.started(first.pid, &leaves);
    }
    STATE.started(first.pid);
}

/// The note about a job's `RESUME_OPTION` that has no effect here.
fn resume_note(step: &RunningStep) -> Option<&'static str> {
    let fences = step.fences.as_ref()?;
    let requests = &fences.cpuset()?.requested;
    if !requests.contains(Keyword::ResumeOption.word()) {
        return None;
    }
    let entries = &step.ledger_entries;
    match entries.iter().any(LedgerEntry::has_service) {
        false => Some(NO_SERVICE),
        true if !entries.iter().any(LedgerEntry::has_leaves) => Some(NO_LEAVES),
        true => None,
    }
}

/// `task_p_post_term`.
///
/// # Safety
/// The pointer is the one to the task's record that slurmstepd passed to the running hook.
pub(crate) unsafe fn ended(raw: *mut c_void) -> c_int {
    let task = standing::working().and_then(|slurm| {
        // SAFETY: slurmstepd owns the record and keeps it until the hook returns.
        unsafe { TaskInfo::from_raw(raw, slurm.layout) }
    });
    if let Some(task) = task {
        STATE.task_ended(task.gtid);
    }
    SUCCESS
}

fn bind(step: &mut RunningStep, local_id: u32, task: TaskInfo, of_slurm: SlurmStep<'_>) -> c_int {
    let wanted = match &step.intent {
        Intent::Bind(sets) => sets.get(local_id as usize).cloned(),
        Intent::Own(own) => Some(own.clone()).filter(|own| !own.is_empty()),
        Intent::Leave => None,
    };
    let Some(wanted) = wanted else {
        show(step, task, of_slurm, &granted(task), false);
        return SUCCESS;
    };
    if node::is_pretended() {
        let result = set(task, &wanted);
        return pretend(step, task, of_slurm, &wanted, result.is_ok());
    }
    let result = match confine_and_set(step, task, of_slurm, &wanted) {
        Ok(()) => {
            compare(step, task, &wanted);
            Ok(())
        }
        // task/affinity fails such a task too; on all of the step's cores it would
        // have the threads that the job specialised away.
        Err(why) if !wanted.is_empty() => retry(step, task, of_slurm, why),
        Err(why) => Err(why),
    };
    match result {
        Ok(()) => {
            step.applied += 1;
            show(step, task, of_slurm, &wanted, false);
            SUCCESS
        }
        Err(why) => {
            show(step, task, of_slurm, &granted(task), true);
            report_error(step, &format!("task {} is not started: {why}", task.gtid));
            step.deviations.push(format!("task {}: {why}", task.gtid));
            FAILED
        }
    }
}

/// Lets tasks of pools go before this one.
fn nice(step: &RunningStep, task: TaskInfo) {
    if let Err(why) = berth_host::affinity::set_nicest(task.pid) {
        log::debug!("{}: task {}: {why}", step.name, task.gtid);
    }
}

/// If hwloc was told to show another machine instead of this one, masks are shown, not
/// applied: the kernel may not be able to follow, and the step runs anyway.
fn pretend(
    step: &mut RunningStep,
    task: TaskInfo,
    of_slurm: SlurmStep<'_>,
    wanted: &CpuSet,
    is_set: bool,
) -> c_int {
    show(step, task, of_slurm, wanted, !is_set);
    if is_set && granted(task) == *wanted {
        step.applied += 1;
    } else if step.deviations.is_empty() {
        let why =
            "this node pretends to be another machine (HWLOC_…): masks are shown, not applied";
        step.deviations.push(why.into());
    }
    SUCCESS
}

/// If the kernel takes none of a mask's CPUs (offline, or excluded by a
/// cgroup), the task gets the step's own CPUs, and the log reports it.
fn retry(
    step: &mut RunningStep,
    task: TaskInfo,
    of_slurm: SlurmStep<'_>,
    why: String,
) -> Result<(), String> {
    let SlurmStep { slurm, record } = of_slurm;
    let own = own_cpus(slurm, record);
    if own.is_empty() {
        return Err(why);
    }
    confine_and_set(step, task, of_slurm, &own).map_err(|_| why.clone())?;
    compare(step, task, &own);
    step.deviations.push(format!(
        "task {}: {why}; bound to the step's CPUs {own}",
        task.gtid
    ));
    Ok(())
}

/// The affinity comes after the fence.
fn confine_and_set(
    step: &mut RunningStep,
    task: TaskInfo,
    SlurmStep { record, .. }: SlurmStep<'_>,
    cpus: &CpuSet,
) -> Result<(), String> {
    if let Some(fences) = &mut step.fences {
        let local_id = u32::try_from(task.id).unwrap_or_default();
        let memory = STATE.memory.get();
        let mems = memory.and_then(|memory| memory.strict_nodes(local_id));
        fences.around(task, &Fence { cpus, mems }, Some(record));
    }
    set(task, cpus)
}

fn set(task: TaskInfo, cpus: &CpuSet) -> Result<(), String> {
    berth_host::set_affinity(task.pid, cpus).map_err(|why| why.to_string())
}

fn granted(task: TaskInfo) -> CpuSet {
    berth_host::affinity_of(task.pid).unwrap_or_default()
}

/// Compares the kernel's mask with the one that was set. The kernel leaves out of a set what is
/// offline or outside the task's cgroup: with ConstrainCores=yes slurmd's cgroups have only the
/// CPUs that slurmd counts.
fn compare(step: &mut RunningStep, task: TaskInfo, wanted: &CpuSet) {
    match berth_host::affinity_of(task.pid) {
        Ok(now) if now == *wanted => {}
        Ok(now) if now.is_subset(wanted) && is_online(&wanted.difference(&now)) => {
            step.outside_cgroup.insert_all(&wanted.difference(&now));
        }
        Ok(now) => step.deviations.push(format!(
            "task {}: asked CPUs {wanted}, the kernel gives {now}",
            task.gtid
        )),
        Err(why) => step.deviations.push(format!("task {}: {why}", task.gtid)),
    }
}

fn is_online(cpus: &CpuSet) -> bool {
    let text = OnlineCpus::open().and_then(|online| online.read());
    let online = text.ok().and_then(|text| CpuSet::from_list(&text).ok());
    online.is_some_and(|online| cpus.is_subset(&online))
}

fn show(
    step: &mut RunningStep,
    task: TaskInfo,
    SlurmStep { record, .. }: SlurmStep<'_>,
    mask: &CpuSet,
    failed: bool,
) {
    if let Some(words) = &step.report {
        let node_name = record.node_name().unwrap_or_default();
        step.messages
            .push(words.line(&node_name, task, mask, failed));
    }
}

/// The step's one line, and the notes to the user.
fn close(step: &mut RunningStep) {
    let deviations = some_of(&step.deviations);
    let fences = step.fences.as_ref().map(Fences::note).unwrap_or_default();
    let resume = resume_note(step).unwrap_or_default();
    let texts = [&step.note, &deviations, &fences, resume].map(|text: &str| text);
    let texts: Vec<_> = texts.into_iter().filter(|text| !text.is_empty()).collect();
    if !texts.is_empty() {
        note(step, &texts.join("; "));
    }
    let mut masks: String = step.masks.chars().take(LOGGED_MASKS).collect();
    if masks.is_empty() {
        masks.push_str("none");
    }
    if !step.memory.is_empty() {
        masks.push_str(" memory=");
        masks.extend(step.memory.chars().take(LOGGED_MASKS));
    }
    log::log!(
        target: VERBOSE,
        log::Level::Info,
        "{} tasks={} cores={} request={:?} rule={} masks={} bound={}/{} deviations={:?}{}{}",
        step.name,
        step.node_tasks,
        step.cores,
        step.request,
        step.rule,
        masks,
        step.applied,
        step.node_tasks,
        if deviations.is_empty() { "none" } else { &deviations },
        if step.outside_cgroup.is_empty() {
            String::new()
        } else {
            format!(" outside-cgroup={}", step.outside_cgroup)
        },
        match &step.fences {
            Some(fences) => format!(" confined={}/{}", fences.made, step.node_tasks),
            None => String::new(),
        },
    );
}

/// Deviations on one line; of many only the first few are shown.
fn some_of(deviations: &[String]) -> String {
    let shown: Vec<_> = deviations.iter().take(SHOWN_DEVIATIONS).cloned().collect();
    let left = deviations.len() - shown.len();
    let more = if left > 0 {
        format!("; and {left} more")
    } else {
        String::new()
    };
    shown.join("; ") + &more
}

/// An error for the user and the administrator.
fn report_error(step: &mut RunningStep, text: &str) {
    log::error!("{text}");
    step.messages.push(format!("berth: error: {text}\n"));
}

fn note(step: &mut RunningStep, text: &str) {
    let notes = settings::current().notes;
    if notes != Notes::Off {
        log::info!("{}: note: {text}", step.name);
    }
    if notes == Notes::User && step.shows_notes {
        step.messages.push(format!("berth: note: {text}\n"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_for_the_user_are_kept_while_the_step_is_locked() {
        let mut step = RunningStep {
            shows_notes: true,
            ..RunningStep::default()
        };
        report_error(&mut step, "task 0 is not started");
        note(&mut step, "a cpuset");
        let messages = [
            "berth: error: task 0 is not started\n",
            "berth: note: a cpuset\n",
        ];
        assert_eq!(step.messages, messages);
    }
}
