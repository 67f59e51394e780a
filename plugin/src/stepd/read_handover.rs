//! slurmstepd before the tasks are forked: slurmd's handover and masks, read from the step record.
//! It trusts only data with slurmd's mark; without it the tasks keep to the step's own CPUs.
//! A wish that slurmd has left open is decided here ([`crate::stepd::decision`]).

use std::ffi::c_void;

use berth_placement::sets::limits::LIST_BYTES;
use berth_placement::{CpuSet, Fixes, SetMemory};
use libc::c_int;
use slurm_sys::views::StepKind;
use slurm_sys::{SUCCESS, StepId, StepRecord};

use crate::site::settings;
use crate::site::standing::{self, Abi};
use crate::step::handover::{Handover, Outcome};
use crate::step::names;
use crate::step::own_options::Texts;
use crate::step::seal::{self, StepIdentity};
use crate::step::words::{name, switched_off_note};
use crate::stepd::decision::{self, add_note};
use crate::stepd::fence::Fences;
use crate::stepd::own_node::{self, own_cpus};
use crate::stepd::pool::{self, Entered};
use crate::stepd::running_step::{Intent, RunningStep};
use crate::stepd::state::STATE;
use crate::stepd::{export_env, intent, node_facts, quarantine, report, task_memory, unplanned};

/// `task_p_pre_setuid`.
///
/// # Safety
/// The pointer is the one that slurmstepd passed to the running hook.
pub(crate) unsafe fn pre_setuid(raw: *mut c_void) -> c_int {
    let Some(slurm) = standing::working() else {
        return SUCCESS;
    };
    // SAFETY: slurmstepd owns the record and keeps it until the hook returns.
    let record = unsafe { StepRecord::from_raw(raw, slurm.layout, slurm.symbols) };
    if let Some(record) = record.as_ref().filter(|_| !is_off()) {
        node_facts::leave(record);
    }
    let Some((mut record, step)) = record.and_then(|mut record| {
        let step = read_step(slurm, &mut record)?;
        Some((record, step))
    }) else {
        quarantine::decided(false);
        return SUCCESS;
    };
    if let Intent::Bind(sets) = &step.intent {
        fill_cpu_sets(&mut record, sets);
    }
    quarantine::decided(!matches!(step.intent, Intent::Leave));
    let has_our_masks = has_our_masks(&step);
    STATE.begin(step);
    if has_our_masks {
        // SAFETY: the record that slurmstepd passed to this hook.
        if let Err(why) = unsafe { slurm.symbols.validate_cpu_freq(raw) } {
            log::debug!("{why}");
        }
    }
    SUCCESS
}

/// Whether the record's masks are slurmd's. Otherwise they are the client's own, and Slurm's function for the frequency of
/// their CPUs neither checks them (`cpu_freq_cpuset_validate`, which takes a negative number of a list for an index) nor
/// asks whose CPUs they are.
fn has_our_masks(step: &RunningStep) -> bool {
    let is_ours = match step.outcome {
        Outcome::Bound | Outcome::Unbound | Outcome::Failed => true,
        Outcome::Refused | Outcome::Off => false,
    };
    is_ours && !matches!(step.intent, Intent::Own(_))
}

fn is_off() -> bool {
    standing::is_off(&settings::current())
}

/// Since 23.02 Slurm's binding of GPUs reads each task's set from the record.
fn fill_cpu_sets(record: &mut StepRecord<'_>, sets: &[CpuSet]) {
    for (index, set) in (0..record.node_tasks()).zip(sets) {
        if let Err(why) = record.set_task_cpu_set(index, &set.to_words()) {
            log::error!("{why}");
            return;
        }
    }
}

/// The step, unless berth has nothing to do with it.
fn read_step(slurm: Abi, record: &mut StepRecord<'_>) -> Option<RunningStep> {
    let id = record.step_id();
    let node_name = record.node_name().unwrap_or_default();
    if id.kind == StepKind::Extern {
        return None;
    }
    if is_off() {
        return switched_off(record, node_name);
    }
    let handover = handover_of(record, &node_name);
    let is_read = handover.is_ok();
    let mut handover = handover.unwrap_or_else(|_| without_handover(slurm, record, &node_name));
    // A job for which its pool is full is planned as a normal one.
    let entered = admit(record, &mut handover, &node_name);
    let was_refused = handover.outcome == Outcome::Refused;
    let ledger_entries = decision::of(slurm, record, &mut handover, &node_name);
    let masks = masks(record, is_read);
    let is_quiet =
        is_read && handover.cpuset.is_none() && entered.pool.is_none() && is_as_affinity();
    let (intent, cut) = match handover.outcome {
        Outcome::Refused => (Intent::Leave, None),
        _ if !is_read => (Intent::Own(handover.own.clone()), None),
        _ => intent::intent(slurm, record, &mut handover, &masks),
    };
    stands_in(slurm, record, (&mut handover, is_read));
    export_env::export(slurm, record, &intent, &mut handover);
    let memory = memory_masks(slurm, record, &handover);
    Some(RunningStep {
        name: name(id),
        outcome: handover.outcome,
        fences: fences(id, &handover),
        is_batch: id.kind == StepKind::Batch,
        intent,
        is_refused_here: handover.outcome == Outcome::Refused && !was_refused,
        cores: record.step_alloc_cores().unwrap_or_default(),
        report: report::words(record.cpu_bind_type(), slurm.layout),
        note: handover.note,
        request: handover.request,
        rule: handover.rule,
        masks,
        memory,
        shows_notes: shows_notes(record) && !is_quiet,
        node_tasks: record.node_tasks(),
        deviations: cut.into_iter().collect(),
        ledger_entries,
        pool: entered.pool,
        beside_pools: entered.beside,
        is_nice: entered.is_nice,
        node_name,
        ..RunningStep::default()
    })
}

/// The message's masks, if they can be trusted.
fn masks(record: &StepRecord<'_>, is_read: bool) -> String {
    let masks = record.cpu_bind(LIST_BYTES).ok().flatten();
    masks.filter(|_| is_read).unwrap_or_default()
}

/// Gives the step its place in its job's pool.
fn admit(record: &StepRecord<'_>, handover: &mut Handover, node_name: &str) -> Entered {
    let mut entered = pool::enter(record, handover, node_name);
    add_note(handover, entered.note.take());
    STATE.join_pool(entered.membership.take());
    entered
}

/// Note, rule and fence of a step without a handover: the site's settings hold there.
fn stands_in(slurm: Abi, record: &StepRecord<'_>, (handover, is_read): (&mut Handover, bool)) {
    if is_read {
        return;
    }
    handover.note = unplanned::note(slurm, record);
    handover.rule = "unplanned:own-cpus".into();
    handover.confine = settings::current().confine.confines(None);
}

/// The handover of a step that has none.
fn without_handover(slurm: Abi, record: &StepRecord<'_>, node_name: &str) -> Handover {
    Handover {
        own: own_cpus(slurm, record),
        pool: pool::of_node(node_name),
        ..Handover::default()
    }
}

/// slurmd's handover, or what stands for it.
fn handover_of(record: &StepRecord<'_>, node_name: &str) -> Result<Handover, String> {
    let handover = sealed_handover(record, node_name).or_else(|why| crowded(record).ok_or(why));
    handover.inspect_err(|why| {
        log::error!(
            "{}: slurmstepd cannot trust slurmd's plan: {why}; the step's tasks keep to the step's \
             own CPUs, without placement; see the lines of this step in slurmd's log",
            name(record.step_id())
        );
    })
}

/// The fences of its tasks: around their own CPUs, or around the step's cpuset.
fn fences(id: StepId, handover: &Handover) -> Option<Fences> {
    let confines = handover.confine || handover.cpuset.is_some();
    confines.then(|| Fences::new(id, handover.cpuset.clone(), handover.confine))
}

/// Prepares the tasks' memory policy; gives their masks, if memory is bound.
fn memory_masks(slurm: Abi, record: &StepRecord<'_>, handover: &Handover) -> String {
    if !matches!(record.step_id().kind, StepKind::Regular | StepKind::Batch) {
        return String::new();
    }
    let cpuset = handover.cpuset.as_ref();
    let preferred = cpuset.filter(|cpuset| cpuset.memory == SetMemory::Preferred);
    let preferred = preferred.map(|cpuset| &cpuset.mems);
    match task_memory::prepare(slurm, record, handover.memory.as_ref(), preferred) {
        Some((prepared, masks)) => {
            // Slurm calls pre_setuid once; what a second call would prepare is the same.
            let _ = STATE.memory.set(prepared);
            masks
        }
        None => String::new(),
    }
}

/// A step shows its notes once, on its first node; a batch script shows none.
fn shows_notes(record: &StepRecord<'_>) -> bool {
    record.nodeid() == 0
        && record.step_id().kind != StepKind::Batch
        && !report::are_notes_off(report::switch(record).as_deref())
}

/// Whether the step prints only what task/affinity prints: that is so under `compat=affinity` without any of berth's
/// own options. Its notes are in the log.
fn is_as_affinity() -> bool {
    settings::current().fixes == Fixes::NONE && STATE.options() == Texts::default()
}

/// The administrator's file exists: nothing is applied, and a note goes to a user who requested a
/// binding.
fn switched_off(record: &mut StepRecord<'_>, node_name: String) -> Option<RunningStep> {
    if let Err(why) = record.env().change(&names::instead(&[])) {
        log::error!("{why}");
    }
    let is_regular = record.step_id().kind == StepKind::Regular;
    let requested = is_regular.then(|| STATE.options())?;
    let note = switched_off_note(&requested)?;
    Some(RunningStep {
        name: name(record.step_id()),
        node_name,
        outcome: Outcome::Off,
        cores: record.step_alloc_cores().unwrap_or_default(),
        note,
        shows_notes: shows_notes(record),
        node_tasks: record.node_tasks(),
        ..RunningStep::default()
    })
}

/// slurmd's handover, if slurmd has marked it for this very step.
fn sealed_handover(record: &StepRecord<'_>, node_name: &str) -> Result<Handover, String> {
    let text = record.env().get(names::HANDOVER, seal::MOST);
    let text = text.ok_or("there is no handover")?;
    let identity = StepIdentity {
        node_name,
        step: record.step_id(),
        uid: record.uid(),
    };
    let key = STATE
        .key
        .get_or_init(|| own_node::key(node_name))
        .as_ref()?;
    seal::opened(&text, &identity, key).map_err(|why| format!("there is a handover, but {why}"))
}

/// The refusal of a step with more variables than slurmd reads. slurmd refuses such steps itself, but it has no other
/// place for the refusal of a script than the variables.
fn crowded(record: &StepRecord<'_>) -> Option<Handover> {
    let why = record.env().is_within_bounds().err()?;
    Some(Handover {
        outcome: Outcome::Refused,
        note: why.to_string(),
        ..Handover::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use slurm_sys::{Layout, Symbols};
    use std::ptr;

    #[test]
    fn frequencies_are_for_masks_of_slurmd_s_alone() {
        let unbound = |outcome| RunningStep {
            outcome,
            ..RunningStep::default()
        };
        for (outcome, ours) in [
            (Outcome::Bound, true),
            (Outcome::Unbound, true),
            (Outcome::Failed, true),
            (Outcome::Refused, false),
            (Outcome::Off, false),
        ] {
            assert_eq!(has_our_masks(&unbound(outcome)), ours, "{outcome:?}");
        }
        let untrusted = RunningStep {
            intent: Intent::Own(CpuSet::new()),
            ..unbound(Outcome::Unbound)
        };
        assert!(!has_our_masks(&untrusted));
    }

    #[test]
    fn a_script_with_too_many_variables_is_refused_without_a_handover() {
        let layout = Layout::all().last().unwrap();
        for (count, is_refused) in [(1 << 16, false), ((1 << 16) + 1, true)] {
            let mut env = vec![c"A=x".as_ptr(); count];
            env.push(ptr::null());
            let mut record = vec![ptr::null::<c_void>(); 1024];
            let place = record.as_mut_ptr().cast::<u8>();
            // SAFETY: the field lies inside the record, which has room for any release's.
            unsafe {
                let at = place.add(layout.step.env.offset());
                at.cast::<*const c_void>()
                    .write_unaligned(env.as_ptr().cast());
            }
            // SAFETY: the test keeps the record longer than the view.
            let view = unsafe { StepRecord::from_raw(place.cast(), layout, Symbols::get()) };
            let found = crowded(&view.unwrap());
            let found_note = found.map(|found| (found.outcome == Outcome::Refused, found.note));
            let text = "this launch has more than 65536 environment variables; start it with fewer";
            assert_eq!(found_note, is_refused.then(|| (true, text.to_owned())));
        }
    }
}
