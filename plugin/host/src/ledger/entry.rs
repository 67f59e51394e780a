//! An entry of the ledger: what one step has on this node. Its text is one line of JSON, which names each value; a value
//! that this release does not know is ignored, and one that is missing has its usual meaning.

use std::path::PathBuf;

use berth_placement::CpuSet;
use serde::{Deserialize, Serialize};

use super::process::{Process, Task};

/// The kind of step that is bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Started by srun, alone on its CPUs.
    #[default]
    Regular,
    /// Started by `srun --overlap`.
    Overlap,
    /// A batch script.
    Batch,
}

/// A cpuset that the step's tasks are placed in: whose it is, and whom it keeps off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Cpuset {
    /// No other job's wish takes its CPUs.
    pub exclusive: bool,
    /// Every step of the job is in it, not only the one that made it.
    pub of_job: bool,
    /// It wants the memory of its NUMA nodes for itself.
    pub memory: bool,
}

/// The number of a step on one node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct StepKey {
    /// Job.
    pub job: u32,
    /// Step, or Slurm's number of a batch script.
    pub step: u32,
    /// Component of a heterogeneous step, or Slurm's number for none.
    pub component: u32,
}

/// A step's binding, its place in a cpuset, or its job's place in a pool. A step can have several entries.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Entry {
    /// The step.
    pub step: StepKey,
    /// Its kind.
    pub kind: Kind,
    /// If it is no binding of the step, but a cpuset.
    pub cpuset: Option<Cpuset>,
    /// If it is no binding of the step either, but the place of its job in a pool: the CPUs are the job's, and
    /// the request is the pool's name.
    pub pool: bool,
    /// Tasks on this node.
    pub tasks: u32,
    /// Nanoseconds between the boot and the decision.
    pub made: u64,
    /// Its slurmstepd. The table of the release before has entries without one.
    pub stepd: Option<Process>,
    /// Its first task; none until the last one has started.
    pub task: Option<Task>,
    /// The tasks that have a cgroup of Slurm's own, if the step is in a cpuset: what a service moves.
    pub leaves: Vec<TaskCgroup>,
    /// Its user.
    pub uid: u32,
    /// The `--binding`, the `--cpuset`, or the pool's name.
    pub request: String,
    /// The CPUs that its job owns, if it is a cpuset.
    pub job_cpus: CpuSet,
    /// A cpuset's generation: how often it was chosen anew since the job began.
    pub generation: u32,
    /// Whether the service keeps its tasks frozen until its job has CPUs: those of this entry do not count as taken.
    pub waits: bool,
    /// The CPUs that a cpuset had before some of them went offline; none if it has them.
    pub home: Option<CpuSet>,
    /// The cgroup of the step; none where Slurm makes none.
    pub cgroup: Option<PathBuf>,
    /// The CPUs of its cores.
    pub cpus: CpuSet,
    /// The file that it was read from; none in the table of the release before.
    #[serde(skip)]
    pub file: Option<PathBuf>,
}

/// A task in a cgroup of Slurm's own, `…/step_N/user/task_N`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TaskCgroup {
    /// The name of the cgroup.
    pub name: String,
    /// The mask that berth gave the task.
    pub cpus: CpuSet,
    /// The CPUs that were written into the cgroup.
    pub fence: CpuSet,
    /// Whether a `--mem-bind` binds its memory, which then stays where it is.
    pub has_own_memory: bool,
}

impl Entry {
    /// Whether it is a cpuset of all steps of a job.
    pub(super) fn is_cpuset_of(&self, job: u32) -> bool {
        self.cpuset.is_some_and(|cpuset| cpuset.of_job) && self.step.job == job
    }

    /// Whether it is a cpuset of another job that wants its memory nodes for itself.
    pub(super) fn wants_memory(&self, job: u32) -> bool {
        self.cpuset.is_some_and(|cpuset| cpuset.memory) && self.step.job != job
    }

    /// The name of its file: `JOB.STEP`, then the component of a heterogeneous job, then what it is if it is no binding.
    pub(super) fn file_name(&self) -> String {
        let StepKey {
            job,
            step,
            component,
        } = self.step;
        let component = match component {
            u32::MAX => String::new(),
            component => format!(".{component}"),
        };
        let what = match (self.pool, self.cpuset) {
            (true, _) => ".pool",
            (false, Some(_)) => ".cpuset",
            (false, None) => "",
        };
        format!("{job}.{step}{component}{what}")
    }
}
