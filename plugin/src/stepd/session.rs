//! slurmstepd's step: what it knows of it from `pre_setuid` on, until its tasks have ended.
//! [`crate::stepd::read`] fills it in.

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use berth_placement::CpuSet;
use libc::c_int;
use slurm_sys::{SlurmdConf, StepRecord};

use crate::hooks::guard::SUCCESS;
use crate::message::handover::Outcome;
use crate::site::standing::{self, Abi};
use crate::site::{counters, node};
use crate::stepd::account::Account;
use crate::stepd::{read, report, task_env};

/// What slurmstepd knows of its step from `pre_setuid` on.
pub(crate) struct Step {
    /// `step=12.0`, for the log.
    pub name: String,
    /// NodeName of this slurmd.
    pub node_name: String,
    pub is_batch: bool,
    pub intent: Intent,
    /// What slurmd, or the ledger afterwards, made of the request.
    pub outcome: Outcome,
    /// The step's cores, as Slurm numbers them.
    pub cores: String,
    /// The kind in the verbose report, such as "MASK", with the level's suffix.
    pub report: Option<report::Words>,
    /// For the user, from the plan; taken by the first report.
    pub note: String,
    pub request: String,
    pub rule: String,
    pub masks: String,
    /// Node masks, where memory is bound.
    pub memory: String,
    /// Whether notes may go to the job's stderr: the first node, no batch script.
    pub speaks: bool,
    pub node_tasks: u32,
    pub applied: u32,
    pub deviations: Vec<String>,
    /// The step's entry in the ledger, where a `--binding` chose its cores.
    pub account: Option<Account>,
}

/// What is to be done with the tasks.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Intent {
    /// One set for each local task.
    Bind(Vec<CpuSet>),
    /// Nothing, and that was decided.
    Leave,
    /// Nothing of the message can be believed: every task gets the step's own CPUs. Where those
    /// are not known from Slurm's record, none are here, and the public way serves.
    Own(CpuSet),
}

impl Step {
    /// What its tasks are to a user.
    pub(crate) fn program(&self) -> &'static str {
        match self.is_batch {
            true => "the script",
            false => "the task",
        }
    }
}

static STEP: Mutex<Option<Step>> = Mutex::new(None);
/// Read between fork and exec: the tasks must not start.
static REFUSED: AtomicBool = AtomicBool::new(false);

/// The step, if `pre_setuid` saw one. Never called between fork and exec.
pub(crate) fn lock() -> MutexGuard<'static, Option<Step>> {
    STEP.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether the task must not start; safe between fork and exec.
pub(crate) fn is_refused() -> bool {
    REFUSED.load(Ordering::Relaxed)
}

/// `task_p_pre_setuid`.
///
/// # Safety
/// The pointer is the one that slurmstepd passed to the running hook.
pub(crate) unsafe fn pre_setuid(raw: *mut c_void) -> c_int {
    let Some(slurm) = standing::working() else {
        return SUCCESS;
    };
    // SAFETY: slurmstepd owns the record and keeps it until the hook returns.
    if let Some(mut record) = unsafe { StepRecord::from_raw(raw, slurm.layout, slurm.symbols) }
        && let Some(step) = read::step(slurm, &mut record)
    {
        if let Intent::Bind(sets) = &step.intent {
            fill_cpu_sets(&mut record, sets);
        }
        REFUSED.store(step.outcome == Outcome::Refused, Ordering::Relaxed);
        let believed = !matches!(step.intent, Intent::Own(_));
        *lock() = Some(step);
        if !believed {
            // The record still has the message's masks: whose frequency they would change is not
            // the user's to say.
            return SUCCESS;
        }
    }
    // SAFETY: the record that slurmstepd passed to this hook.
    if let Err(why) = unsafe { slurm.symbols.validate_cpu_freq(raw) } {
        log::debug!("{why}");
    }
    SUCCESS
}

/// Since 23.02 the binding of GPUs reads each task's set from the record.
fn fill_cpu_sets(record: &mut StepRecord<'_>, sets: &[CpuSet]) {
    for (index, set) in (0..record.node_tasks()).zip(sets) {
        if let Err(why) = record.set_task_cpu_set(index, &set.to_words()) {
            log::error!("{why}");
            return;
        }
    }
}

/// In the task, between fork and exec: its own entries, prepared before.
///
/// # Safety
/// The pointer is the one that slurmstepd's child passed to the running hook.
pub(crate) unsafe fn tell_task(raw: *mut c_void) {
    let Some(slurm) = standing::working() else {
        return;
    };
    // SAFETY: slurmstepd's child owns its copy of the record until it becomes the program.
    let record = unsafe { StepRecord::from_raw(raw, slurm.layout, slurm.symbols) };
    let Some(mut record) = record else { return };
    let Some(ids) = record.child_ids() else {
        return;
    };
    let own = task_env::of_task(ids.localid as usize);
    for (name, room) in task_env::rooms() {
        let value = own.iter().find(|(known, _)| known == name);
        // A task without them runs all the same.
        let _ = record.env_fill(name, value.map_or("", |(_, value)| value), *room);
    }
}

/// The step has ended.
pub(crate) fn release() {
    let account = lock().as_mut().and_then(|step| step.account.take());
    if let Some(account) = account {
        account.release(standing::working());
    }
    // slurmd has counted those that the switch-off file left alone.
    if let Some(step) = lock().as_ref().filter(|step| step.outcome != Outcome::Off) {
        counters::ended(step);
    }
}

/// CPUs of the step's cores, by slurmd's map: what is tried where the kernel refuses a mask.
pub(crate) fn own_cpus(slurm: Abi, record: &StepRecord<'_>) -> CpuSet {
    // SAFETY: the layout is the running release's, and the view ends here.
    let conf = unsafe { SlurmdConf::current(slurm.layout, slurm.symbols) };
    let Some(conf) = conf.filter(|conf| node::sane(conf).is_ok()) else {
        return CpuSet::new();
    };
    let map = conf.block_map().unwrap_or_default();
    let cores = record.step_alloc_cores().unwrap_or_default();
    let threads = u32::from(conf.threads()).max(1);
    let stride = node::stride(slurm, &conf);
    let Ok(cores) = CpuSet::from_list(&cores) else {
        return CpuSet::new();
    };
    let slots = cores
        .iter()
        .flat_map(|core| (0..threads).map(move |thread| core.0 * stride + thread));
    slots
        .filter_map(|slot| map.get(slot as usize % map.len().max(1)))
        .map(|cpu| berth_placement::CpuId(u32::from(*cpu)))
        .collect()
}
