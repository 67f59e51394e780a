//! One line's options as they were given, with what a hint makes of them. What srun, salloc, sbatch and
//! slurmctld make of them else is the model's own work. Pure data.

use crate::controller::select::cluster::Memory;
use crate::request::CoreSpec;
use crate::request::distribution::Distribution;

/// The command that submits a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Client {
    /// `srun` outside a job: a job and its first step.
    Srun,
    /// `salloc`.
    Salloc,
    /// `sbatch`.
    Sbatch,
}

/// The options of a line of srun, salloc or sbatch that decide nodes and cores. Options that were
/// not given are `None` or `false`; every number is what the user wrote.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineOptions {
    /// `-N`.
    pub nodes: Option<NodeRange>,
    /// `--use-min-nodes`.
    pub use_min_nodes: bool,
    /// `-w`, its names expanded, in their order; a name may stand more than once.
    pub node_names: Vec<String>,
    /// `-x`, its names expanded.
    pub excluded_names: Vec<String>,
    /// `-n`.
    pub tasks: Option<u32>,
    /// `-c`.
    pub cpus_per_task: Option<u32>,
    /// `--ntasks-per-node`.
    pub tasks_per_node: Option<u32>,
    /// `--ntasks-per-socket`.
    pub tasks_per_socket: Option<u32>,
    /// `--ntasks-per-core`.
    pub tasks_per_core: Option<u32>,
    /// `--sockets-per-node`, or the first part of `-B`.
    pub sockets_per_node: Option<u32>,
    /// `--cores-per-socket`, or the second part of `-B`.
    pub cores_per_socket: Option<u32>,
    /// `--threads-per-core`, or the third part of `-B`.
    pub threads_per_core: Option<u32>,
    /// Whether `-B` is given.
    pub node_info: bool,
    /// Whether a `--hint` counts, which has set the shape of the node.
    pub hinted: bool,
    /// `--mincpus`.
    pub min_cpus: Option<u32>,
    /// `-O`.
    pub overcommit: bool,
    /// `--exclusive` or `-s`, the one that stands last.
    pub sharing: Sharing,
    /// `--contiguous`.
    pub contiguous: bool,
    /// `--spread-job`.
    pub spread: bool,
    /// `--core-spec` or `--thread-spec`.
    pub core_spec: CoreSpec,
    /// `-m`; a level that was not given is unknown or `None`, and `*` is what srun makes of it.
    pub distribution: Distribution,
    /// `--mem` or `--mem-per-cpu`.
    pub memory: Option<Memory>,
    /// `--exact`; only srun has it. Also an `--exclusive` that a later `-s` took back.
    pub exact: bool,
    /// `--overlap`; only srun has it.
    pub overlap: bool,
    /// `--whole`; only srun has it.
    pub whole: bool,
}

/// `-N`: one number is both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeRange {
    /// The least.
    pub least: u32,
    /// The most; `None` for `-N a-` or where no most was given.
    pub most: Option<u32>,
}

/// Whether the job shares its nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sharing {
    /// Neither option is given.
    #[default]
    Default,
    /// `--exclusive`, with no value or `=exclusive`.
    Exclusive,
    /// `--exclusive=user`.
    ExclusiveUser,
    /// `--exclusive=mcs`.
    ExclusiveMcs,
    /// `-s`, `--oversubscribe`.
    Oversubscribe,
}
