//! The facts of a cluster: its nodes, one partition, and how slurmctld is configured to select.
//! In: facts of slurm.conf. Pure data; [`Cluster::check`] bounds all sizes.

use crate::sets::cpuset::Set;
use crate::sets::limits::{MAX_CLUSTER_CORES, MAX_CLUSTER_NODES, MAX_CPUS};

/// Nodes of one partition in slurm.conf's order, with all that decides what a job gets of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cluster {
    /// The nodes in the order of slurm.conf; answers name them by their position here.
    pub nodes: Vec<ClusterNode>,
    /// `SelectType` and `SelectTypeParameters`.
    pub select: Select,
    /// The release line of slurmctld and of the submitting command.
    pub line: SlurmLine,
    /// The partition that the job goes to. All nodes are in it.
    pub partition: Partition,
}

/// The release lines whose rules the model has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(non_camel_case_types, reason = "the names are numbers with a dot")]
pub enum SlurmLine {
    /// 22.05.
    V22_05,
    /// 24.11.
    V24_11,
    /// 26.05.
    V26_05,
}

/// One idle node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterNode {
    /// `NodeName`.
    pub name: String,
    /// `Sockets`, at least 1.
    pub sockets: u32,
    /// `CoresPerSocket`, at least 1.
    pub cores_per_socket: u32,
    /// `ThreadsPerCore`, at least 1.
    pub threads_per_core: u32,
    /// `CPUs`: sockets × cores, or × threads too.
    pub cpus: u32,
    /// `CoreSpecCount` or `CpuSpecList`.
    pub specialised: Specialised,
    /// `Weight`; slurm.conf's default is 1.
    pub weight: u32,
    /// `RealMemory` less `MemSpecLimit`, in MiB; slurm.conf's default is 1.
    pub memory: u64,
    /// The most tasks that its GPUs allow (`--gpus-per-task`), where they are known.
    pub most_tasks: Option<u32>,
}

/// Cores of one node as slurmctld numbers them: socket × cores of a socket + core.
pub type CoreSet = Set<u32>;

/// Cores of a node that jobs do not get.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Specialised {
    /// None.
    #[default]
    None,
    /// `CoreSpecCount`: the number of cores; slurmctld chooses them.
    Count(u32),
    /// `CpuSpecList`: the cores of its CPUs.
    Cores(CoreSet),
}

/// `SelectType` with its parameters; by default `select/cons_tres` with `CR_Core`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Select {
    /// The unit that is handed out.
    pub unit: Unit,
    /// Whether memory is handed out too (`CR_…_Memory`).
    pub memory: bool,
    /// `CR_ONE_TASK_PER_CORE`.
    pub one_task_per_core: bool,
    /// `CR_CORE_DEFAULT_DIST_BLOCK`.
    pub block_by_default: bool,
    /// `CR_Pack_Nodes`.
    pub pack_nodes: bool,
    /// `AllowSpecResourcesUsage`; without it `--core-spec` is ignored.
    pub allow_spec_usage: bool,
    /// `SchedulerParameters=spec_cores_first`: the lowest cores are specialised.
    pub spec_cores_first: bool,
}

/// The unit that slurmctld hands out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unit {
    /// `CR_Core`: cores.
    #[default]
    Core,
    /// `CR_Socket`: sockets.
    Socket,
    /// `CR_CPU`: cores are still never shared, but CPUs are counted.
    Cpu,
    /// `select/linear`: whole nodes.
    Node,
}

/// The facts of a partition that decide what a job gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Partition {
    /// `OverSubscribe=EXCLUSIVE`: every job has whole nodes.
    pub whole_nodes: bool,
    /// `MinNodes`; slurm.conf's default is 0.
    pub min_nodes: u32,
    /// `MaxNodes`.
    pub max_nodes: Option<u32>,
    /// `MaxCPUsPerNode`.
    pub max_cpus_per_node: Option<u32>,
    /// `DefMemPerCPU` or `DefMemPerNode` of the partition or of the cluster.
    pub default_memory: Option<Memory>,
}

/// An amount of memory in MiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// `--mem`; 0 is all memory of the node.
    PerNode(u64),
    /// `--mem-per-cpu`.
    PerCpu(u64),
}

/// A number of the cluster that cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClusterError {
    /// There is no node.
    NoNodes,
    /// There are more nodes, or cores in all, than the model takes ([`MAX_CLUSTER_NODES`],
    /// [`MAX_CLUSTER_CORES`]).
    TooLarge,
    /// A count of the node at this position is 0, or it has more CPUs than [`MAX_CPUS`].
    Shape(usize),
    /// `CPUs` of the node at this position is neither its cores nor its hardware threads.
    Cpus(usize),
}

impl Cluster {
    /// Checks every count that sizes depend on. [`super::job()`] does this first.
    ///
    /// # Errors
    /// The first number that cannot be.
    pub fn check(&self) -> Result<(), ClusterError> {
        if self.nodes.is_empty() {
            return Err(ClusterError::NoNodes);
        }
        if self.nodes.len() > MAX_CLUSTER_NODES {
            return Err(ClusterError::TooLarge);
        }
        let mut cores = 0;
        for (at, node) in self.nodes.iter().enumerate() {
            let threads = node.checked_threads().ok_or(ClusterError::Shape(at))?;
            if node.cpus != node.cores() && node.cpus != threads {
                return Err(ClusterError::Cpus(at));
            }
            cores += u64::from(node.cores());
        }
        match cores > MAX_CLUSTER_CORES {
            true => Err(ClusterError::TooLarge),
            false => Ok(()),
        }
    }
}

impl ClusterNode {
    /// An idle node of this shape whose `CPUs` are its hardware threads.
    #[must_use]
    pub fn idle(name: &str, sockets: u32, cores_per_socket: u32, threads_per_core: u32) -> Self {
        Self {
            name: name.into(),
            sockets,
            cores_per_socket,
            threads_per_core,
            cpus: sockets
                .saturating_mul(cores_per_socket)
                .saturating_mul(threads_per_core),
            specialised: Specialised::None,
            weight: 1,
            memory: 1,
            most_tasks: None,
        }
    }

    /// Cores of the node.
    #[must_use]
    pub fn cores(&self) -> u32 {
        self.sockets.saturating_mul(self.cores_per_socket)
    }

    /// CPUs that slurmctld counts for a core: 1 where `CPUs` are the cores, else `ThreadsPerCore`.
    /// Source: the `tpc` of a node's record.
    #[must_use]
    pub fn cpus_per_core(&self) -> u32 {
        match self.cpus == self.cores() {
            true => 1,
            false => self.threads_per_core,
        }
    }

    fn checked_threads(&self) -> Option<u32> {
        let cores = self.sockets.checked_mul(self.cores_per_socket)?;
        let threads = cores.checked_mul(self.threads_per_core)?;
        (threads > 0 && threads <= MAX_CPUS).then_some(threads)
    }
}
