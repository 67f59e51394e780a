//! slurmstepd's step: what it knows of it from `pre_setuid` on, until its tasks have ended.
//! [`crate::stepd::read`] fills it in.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use berth_host::counters::Counters;
use berth_placement::CpuSet;

use crate::message::handover::Outcome;
use crate::site::{counters, standing};
use crate::stepd::account::Account;
use crate::stepd::report;

/// What slurmstepd knows of its step from `pre_setuid` on.
pub(crate) struct Session {
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
    /// CPUs of the masks that the tasks' cgroup does not allow: the kernel has left them out.
    pub outside_cgroup: CpuSet,
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
    /// are not known from Slurm's record, none are here, and SPANK's serve ([`crate::stepd::unplanned`]).
    Own(CpuSet),
}

impl Session {
    /// What its tasks are to a user.
    pub(crate) fn program(&self) -> &'static str {
        match self.is_batch {
            true => "the script",
            false => "the task",
        }
    }

    /// What it adds to the node's counts when it has ended.
    fn counts(&self) -> Counters {
        let tasks = u64::from(self.node_tasks);
        let applied = u64::from(self.applied).min(tasks);
        let has_failed = self.outcome == Outcome::Failed;
        let is_bound = matches!(self.intent, Intent::Bind(_)) && !has_failed;
        let bound = if is_bound { applied } else { 0 };
        Counters {
            launches: 1,
            bound,
            unbound: tasks - bound,
            differences: self.deviations.len() as u64,
            binding_failed: if has_failed { tasks } else { 0 },
            ..Counters::default()
        }
    }
}

/// slurmstepd's one state.
static STEP: Mutex<Option<Session>> = Mutex::new(None);
/// Read between fork and exec: the tasks must not start.
static REFUSED: AtomicBool = AtomicBool::new(false);

/// The step, if `pre_setuid` saw one. Never called between fork and exec.
pub(crate) fn lock() -> MutexGuard<'static, Option<Session>> {
    STEP.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Its tasks are about to be forked.
pub(crate) fn begin(step: Session) {
    REFUSED.store(step.outcome == Outcome::Refused, Ordering::Relaxed);
    *lock() = Some(step);
}

/// Whether the task must not start; safe between fork and exec.
pub(crate) fn is_refused() -> bool {
    REFUSED.load(Ordering::Relaxed)
}

/// The step has ended.
pub(crate) fn release() {
    let account = lock().as_mut().and_then(|step| step.account.take());
    if let Some(account) = account {
        account.release(standing::working());
    }
    // slurmd has counted those that the switch-off file left alone.
    if let Some(step) = lock().as_ref().filter(|step| step.outcome != Outcome::Off) {
        counters::add(&step.node_name, &step.counts());
    }
}
