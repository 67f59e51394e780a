//! slurmctld's answer: the nodes, cores and CPUs of a job or a step, or why there are none.
//! Pure data without words; the command words it.

use crate::controller::select::cluster::{ClusterError, CoreSet, Memory};

/// The answer to a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobAnswer {
    /// It would start on idle nodes.
    Granted(JobGrant),
    /// It would be accepted and wait.
    Waits(Wait),
    /// It would be refused.
    Refused(JobRefusal),
    /// The model does not know.
    NotModelled(Gap),
}

/// The allocation of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobGrant {
    /// Its nodes, in slurm.conf's order.
    pub nodes: Vec<GrantedNode>,
    /// Whether other nodes could hold it as well, so that slurmctld may choose others.
    pub nodes_assumed: bool,
    /// The number of tasks in its record: `-n`, or what follows from the other options.
    pub tasks: u32,
    /// Facts of the job's record that its steps depend on.
    pub record: JobRecord,
}

/// One node of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrantedNode {
    /// Its position in [`super::Cluster::nodes`].
    pub node: usize,
    /// The job's cores on it.
    pub cores: CoreSet,
    /// The CPUs that slurmctld counts for the job there (`NumCPUs` sums them).
    pub cpus: u32,
}

/// The job's facts on which a step depends, beside nodes and cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobRecord {
    /// The number of tasks that the job's variables name (`SLURM_NTASKS`), if they do.
    pub tasks_given: Option<u32>,
    /// CPUs of a task, if given.
    pub cpus_per_task: Option<u32>,
    /// The job's threads of a core, if given or hinted.
    pub threads_per_core: Option<u32>,
    /// The job's tasks of a node, if given.
    pub tasks_per_node: Option<u32>,
    /// The job's tasks of a core, where they are limited.
    pub tasks_per_core: Option<u32>,
    /// Whether the job has whole nodes.
    pub whole_nodes: bool,
    /// `-O`.
    pub overcommit: bool,
    /// The job asks for this memory; 0 stands for all memory of a node.
    pub memory: Memory,
}

/// Why a job waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// slurmctld keeps it, but finds no room for it (`Resources`).
    Resources,
    /// It asks for more than the partition has (`PartitionConfig`): it never starts.
    PartitionConfig,
}

/// Why a job is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobRefusal {
    /// `Requested node configuration is not available`.
    NodeConfiguration,
    /// More nodes or CPUs than the partition has, where the release line refuses that.
    PartitionConfig,
    /// A node of `-w` or `-x` that the cluster does not have.
    UnknownNode(String),
    /// A node of `-w` also stands in `-x`.
    WantedAndExcluded,
    /// `-w` has more nodes than `-N` allows.
    NodeCount,
    /// The submitting command takes no such line.
    Client(ClientRefusal),
}

/// Why the submitting command refuses a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientRefusal {
    /// `-N` has a least above its most.
    NodeRange,
    /// More `--ntasks-per-core` of the job than threads of a core that its step names (from 23.02 on).
    TasksPerCore,
    /// A number that is 0.
    Zero,
    /// Planes that leave a node without a task.
    Planes,
}

/// A thing that the model does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gap {
    /// A cluster with impossible numbers.
    Cluster(ClusterError),
    /// `-m arbitrary`.
    Arbitrary,
    /// `--spread-job` over several nodes in 26.05: it deals the tasks out while it chooses the nodes.
    SpreadJob,
    /// A step with `-O` whose tasks share cores: the answer changes from call to call.
    OvercommittedStep,
    /// `-x` of a step inside a job.
    StepExcludes,
    /// A step that kills slurmctld 22.05: it takes two nodes for one task.
    KillsSlurmctld,
}

/// The answer to a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepAnswer {
    /// It would start now.
    Granted(StepGrant),
    /// It would wait for other steps of the job.
    Waits,
    /// It would be refused.
    Refused(StepRefusal),
    /// The model does not know.
    NotModelled(Gap),
}

/// The allocation of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepGrant {
    /// Its nodes, in the job's order.
    pub nodes: Vec<StepNode>,
    /// Its tasks in all.
    pub tasks: u32,
}

/// One node of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepNode {
    /// Its position in [`super::Cluster::nodes`].
    pub node: usize,
    /// The step's cores on it.
    pub cores: CoreSet,
    /// Its tasks there.
    pub tasks: u32,
}

/// Why a step is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepRefusal {
    /// `More processors requested than permitted`.
    TooManyCpus,
    /// `Requested node configuration is not available`.
    NodeConfiguration,
    /// `Task count specification invalid`.
    TaskCount,
    /// More threads of a core than the job or its nodes have.
    ThreadsPerCore,
    /// More nodes than the job has.
    TooManyNodes,
    /// srun takes no such line.
    Client(ClientRefusal),
}
