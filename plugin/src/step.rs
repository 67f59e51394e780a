//! slurmstepd before the tasks are forked: the masks read back from the step
//! record, one for each local task. Nothing is planned here.

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use berth_placement::binding::Instance;
use berth_placement::{Binding, Chosen, CpuSet, Mode};
use libc::c_int;
use slurm_sys::views::StepKind;
use slurm_sys::{SlurmdConf, StepRecord};

use crate::guard::SUCCESS;
use crate::held::Account;
use crate::launch::{ENV_BOUND, ENV_NOTE, ENV_REQUEST, ENV_RULE, is_off, join, name};
use crate::settings;
use crate::standing::{self, Slurmish};
use crate::task_env::{self, ENV_CHOSEN};
use crate::{batch, convert, counting, node, pe_files, report, task_memory};

/// What slurmstepd knows of its step from `pre_setuid` on.
pub(crate) struct Step {
    /// `step=12.0`, for the log.
    pub name: String,
    /// NodeName of this slurmd.
    pub node_name: String,
    pub intent: Intent,
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
    /// slurmd could not plan: bind to the step's cores by the public way.
    Unplanned,
}

static STEP: Mutex<Option<Step>> = Mutex::new(None);
/// Read between fork and exec: the script must not start.
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
        && let Some(step) = read(slurm, &record)
    {
        if let Intent::Bind(sets) = &step.intent {
            fill_cpu_sets(&mut record, sets);
        }
        *lock() = Some(step);
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

fn read(slurm: Slurmish, record: &StepRecord<'_>) -> Option<Step> {
    let id = record.step_id();
    let node_name = record.node_name().unwrap_or_default();
    if id.kind == StepKind::Extern || is_off(&settings::current(), &node_name) {
        return None;
    }
    let env = |name: &str| record.env_get(name).unwrap_or_default();
    let refused = id.kind == StepKind::Batch && env(ENV_BOUND) == batch::REFUSED;
    REFUSED.store(refused, Ordering::Relaxed);
    let bits = record.cpu_bind_type();
    let masks = record.cpu_bind().unwrap_or_default();
    let intent = if refused {
        Intent::Leave
    } else {
        intent(slurm, record, bits, &masks)
    };
    let chosen = env(ENV_CHOSEN);
    let (account, late) = match chosen.is_empty() {
        true => (None, None),
        false => Account::confirm(record, id, &node_name, &planned_cpus(&intent)),
    };
    if id.kind != StepKind::Interactive {
        task_env::prepare(entries(slurm, record, &intent, &chosen));
    }
    let note = match intent {
        Intent::Unplanned => task_memory::unplanned(slurm, record).into(),
        _ => join(&[], [env(ENV_NOTE), late.unwrap_or_default()]),
    };
    Some(Step {
        name: name(id),
        node_name,
        intent,
        cores: record.step_alloc_cores().unwrap_or_default(),
        report: report::words(bits, slurm.layout),
        note,
        request: env(ENV_REQUEST),
        rule: env(ENV_RULE),
        masks,
        memory: match id.kind {
            StepKind::Regular => task_memory::prepare(slurm, record),
            _ => String::new(),
        },
        speaks: record.nodeid() == 0
            && id.kind != StepKind::Batch
            && !report::is_hushed(record.env_get(report::ENV_NOTES).as_deref()),
        node_tasks: record.node_tasks(),
        applied: 0,
        deviations: Vec::new(),
        account,
    })
}

/// The CPUs that the step's tasks are about to be bound to.
fn planned_cpus(intent: &Intent) -> CpuSet {
    let mut all = CpuSet::new();
    if let Intent::Bind(sets) = intent {
        sets.iter().for_each(|set| all.insert_all(set));
    }
    all
}

/// What each task finds in its environment.
fn entries(
    slurm: Slurmish,
    record: &StepRecord<'_>,
    intent: &Intent,
    chosen: &str,
) -> Vec<task_env::Entries> {
    // SAFETY: the layout is the running release's, and the view ends here.
    let conf = unsafe { SlurmdConf::current(slurm.layout, slurm.symbols) };
    let conf = conf.filter(|conf| node::sane(conf).is_ok());
    let map = conf.as_ref().and_then(SlurmdConf::block_map);
    let map = map.unwrap_or_default();
    let stride = conf.map_or(1, |conf| node::stride(slurm, &conf));
    let cores = task_env::Cores::of(&map, stride);
    let binding = told_binding(record, chosen);
    if let Some((binding, chosen)) = &binding
        && binding.instance == Instance::Pe
    {
        pe_files::ask(chosen, &record.node_name().unwrap_or_default());
    }
    let given = |name: &str| record.env_get(name).is_some();
    let of_task = |id: usize| {
        let mut entries = match intent {
            Intent::Bind(sets) => sets.get(id).map(|cpus| cores.bound(cpus)),
            Intent::Leave | Intent::Unplanned => None,
        }
        .unwrap_or_else(task_env::unbound);
        entries.extend(match &binding {
            Some((binding, chosen)) => task_env::chosen(binding, chosen, id, given),
            None => vec![(ENV_CHOSEN, String::new())],
        });
        entries
    };
    (0..record.node_tasks() as usize).map(of_task).collect()
}

/// What slurmd's plan chose, beside what was asked.
fn told_binding(record: &StepRecord<'_>, chosen: &str) -> Option<(Binding, Chosen)> {
    let chosen = chosen.parse().ok()?;
    let rule = record.env_get(ENV_RULE)?;
    let binding = rule.strip_prefix("binding:")?.parse().ok()?;
    Some((binding, chosen))
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
    for (name, value) in task_env::of_task(ids.localid as usize) {
        // A task without them runs all the same.
        let _ = record.env_set(name, value);
    }
}

/// The step has ended.
pub(crate) fn release() {
    let account = lock().as_mut().and_then(|step| step.account.take());
    if let Some(account) = account {
        account.release(standing::working());
    }
    if let Some(step) = lock().as_ref() {
        counting::ended(step);
    }
}

fn intent(slurm: Slurmish, record: &StepRecord<'_>, bits: u32, text: &str) -> Intent {
    let list = match convert::mode(bits, Some(text), slurm.layout) {
        Ok(Some(Mode::MaskCpu(list))) => list,
        Ok(Some(Mode::MapCpu(list))) => list
            .into_iter()
            .map(|cpu| std::iter::once(cpu).collect())
            .collect(),
        Ok(Some(Mode::Free)) => return Intent::Leave,
        Ok(_) => return Intent::Unplanned,
        Err(why) => {
            log::error!("{why}");
            return Intent::Unplanned;
        }
    };
    // A shorter list wraps.
    Intent::Bind(
        list.into_iter()
            .cycle()
            .take(record.node_tasks() as usize)
            .collect(),
    )
}

/// CPUs of the step's cores, by slurmd's map: what is tried where the kernel refuses a mask.
pub(crate) fn own_cpus(slurm: Slurmish, record: &StepRecord<'_>) -> CpuSet {
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
