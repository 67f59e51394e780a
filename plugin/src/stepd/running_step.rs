//! slurmstepd's knowledge of its step, from before the first fork until its tasks have ended.
//! [`crate::stepd::read_handover`] fills it in, or [`crate::stepd::spank_plan`] if there is no task plugin of
//! ours.

use berth_host::cgroup::JobFolders;
use berth_host::metrics::Count;
use berth_placement::CpuSet;

use crate::step::handover::Outcome;
use crate::stepd::fence::Fences;
use crate::stepd::ledger_entry::LedgerEntry;
use crate::stepd::report;

/// slurmstepd's knowledge of its step from `pre_setuid` on. By default its tasks are left as they are: it has no plan, no
/// fence and no place in the ledger.
#[derive(Default)]
pub(crate) struct RunningStep {
    /// `step=12.0`, for the log.
    pub name: String,
    /// NodeName of this slurmd.
    pub node_name: String,
    pub is_batch: bool,
    pub intent: Intent,
    /// The decision of slurmd, or of slurmstepd at the ledger afterwards.
    pub outcome: Outcome,
    /// Whether slurmstepd has refused it: slurmd counts what it refuses itself.
    pub is_refused_here: bool,
    /// The step's cores, as Slurm numbers them.
    pub cores: String,
    /// The kind in the verbose report, such as "MASK", with the level's suffix.
    pub report: Option<report::Words>,
    /// The plan's note to the user; the first report takes it.
    pub note: String,
    pub request: String,
    pub rule: String,
    pub masks: String,
    /// Node masks, if memory is bound.
    pub memory: String,
    /// Whether notes may go to the job's stderr: only on the first node, and not for a batch script.
    pub shows_notes: bool,
    pub node_tasks: u32,
    pub applied: u32,
    pub deviations: Vec<String>,
    /// CPUs of the masks that the tasks' cgroup does not allow: the kernel has left them out.
    pub outside_cgroup: CpuSet,
    /// The step's entries in the ledger: of a `--binding` that chose its cores, and of its cpuset.
    pub ledger_entries: Vec<LedgerEntry>,
    /// The fences of its tasks, if they are to be confined.
    pub fences: Option<Fences>,
    /// Whether its job is in a pool, if its partition or account puts it there.
    pub pool: Option<bool>,
    /// Where the kernel counts what its tasks wait for, if its job is outside of the node's pools.
    pub beside_pools: Option<JobFolders>,
    /// Whether its tasks are nice beside those of the node's pools.
    pub is_nice: bool,
    /// Texts for the job's stderr, which are written when the step is locked no more.
    pub messages: Vec<String>,
}

/// The intent for the tasks.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) enum Intent {
    /// One set for each local task.
    Bind(Vec<CpuSet>),
    /// Nothing is bound, by decision.
    #[default]
    Leave,
    /// Nothing of the message can be trusted: every task gets the step's own CPUs. If Slurm's record
    /// does not give them, this is empty, and SPANK gives them ([`crate::stepd::own_node`]).
    Own(CpuSet),
}

impl RunningStep {
    /// The user's word for its tasks.
    pub(crate) fn program(&self) -> &'static str {
        match self.is_batch {
            true => "the script",
            false => "the task",
        }
    }

    /// The numbers that it adds to the node's metrics when it has ended.
    pub(crate) fn counts(&self) -> Vec<(Count, u64)> {
        if self.is_refused_here {
            return vec![(Count::Refused, 1)];
        }
        let tasks = u64::from(self.node_tasks);
        let applied = u64::from(self.applied).min(tasks);
        let has_failed = self.outcome == Outcome::Failed;
        let is_bound = matches!(self.intent, Intent::Bind(_)) && !has_failed;
        let bound = if is_bound { applied } else { 0 };
        let fences = self.fences.as_ref();
        let waited = self.beside_pools.as_ref().and_then(JobFolders::all_waited);
        vec![
            (Count::Launches, 1),
            (Count::Bound, bound),
            (Count::Unbound, tasks - bound),
            (Count::Differences, self.deviations.len() as u64),
            (Count::BindingFailed, if has_failed { tasks } else { 0 }),
            (
                Count::Confined,
                fences.map_or(0, |fences| fences.made.into()),
            ),
            (
                Count::NotConfined,
                fences.map_or(0, |fences| fences.missed.into()),
            ),
            (Count::InPool, u64::from(self.pool == Some(true))),
            (Count::PoolFull, u64::from(self.pool == Some(false))),
            (Count::OthersWaited, waited.unwrap_or_default()),
        ]
    }
}

/// The facts of a step that SPANK's hooks alone serve.
#[derive(Default)]
pub(crate) struct Alone {
    /// For the log.
    pub name: String,
    /// For the user, once stderr is the job's.
    pub note: String,
    pub shows_notes: bool,
    /// Each task's CPUs; none if the job binds itself, or if no cores could be given.
    pub tasks: Vec<CpuSet>,
    pub ledger_entry: Option<LedgerEntry>,
    /// The tasks' fences, if they are confined.
    pub fences: Option<Fences>,
    /// Why the tasks must not start.
    pub refused: Option<String>,
    pub applied: usize,
    pub wanted: usize,
}

/// The processes of slurmstepd that `quarantine=` holds.
#[derive(Debug, Default)]
pub(crate) struct Quarantine {
    /// The job's first core.
    pub core: CpuSet,
    /// The CPUs that slurmstepd's first thread had before; `None` if nothing is held.
    pub before: Option<CpuSet>,
    /// slurmstepd's number, which a hook cannot ask for: `ContainSpank` runs some in a child that shares
    /// the memory.
    pub stepd: libc::pid_t,
}

impl Quarantine {
    /// Nothing is held.
    pub(crate) const fn new() -> Self {
        Self {
            core: CpuSet::new(),
            before: None,
            stepd: 0,
        }
    }
}

/// The CPUs of the processes that a job's extern step adopts.
#[derive(Debug)]
pub(crate) struct Adopts {
    /// The job.
    pub job: u32,
    /// The CPUs of each of its cores, in Slurm's order.
    pub cores: Vec<CpuSet>,
    /// `quarantine=extern`: they get the first core alone.
    pub first_only: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_with_a_fence_and_without_one_are_counted_apart() {
        let mut fences = Fences::default();
        (fences.made, fences.missed) = (3, 1);
        let session = RunningStep {
            fences: Some(fences),
            node_tasks: 4,
            ..RunningStep::default()
        };
        let counts = session.counts();
        for expected in [(Count::Confined, 3), (Count::NotConfined, 1)] {
            assert!(counts.contains(&expected), "{expected:?}: {counts:?}");
        }
    }
}
