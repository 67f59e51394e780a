//! What can be typed: clap's definitions, from which --help and the man pages come.
//! Option names and values are srun's wherever srun has one.

use std::path::PathBuf;

use berth_placement::{Binding, CpuBind, CpuSet, Distribution, MemBind, Numbering};
use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::ranges::Bind;
use crate::srun_options::{ExtraNodeInfo, Hint};

/// See where Slurm tasks would run, without a cluster.
#[derive(Debug, Parser)]
#[command(name = "berth", version, about, args_override_self = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show which CPUs each task of a step would get
    Plan(Box<PlanArgs>),
    /// Find this node's hardware and write it down for slurmd
    Discover(DiscoverArgs),
    /// Show which steps are bound to which cores of this node
    Status(StatusArgs),
    /// Write the man pages
    #[command(hide = true)]
    Man(ManArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// Folder to write them to
    pub dir: PathBuf,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  berth discover                              print this node's machine description
  berth discover --output machine.json        write it to a file")]
pub(crate) struct DiscoverArgs {
    /// live, an hwloc XML file, or a synthetic string such as "pack:2 core:4 pu:2"
    #[arg(long, value_name = "M", default_value = "live")]
    pub machine: String,
    /// Machine file to write; without it the description goes to stdout
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  berth status                    who is bound where (root), or how full the node is
  berth status --job 4711         this job's cores in small letters
  berth status --format json      the same for a script")]
pub(crate) struct StatusArgs {
    /// NodeName in slurm.conf [default: every one of this host]
    #[arg(long, value_name = "NAME")]
    pub node: Option<String>,
    /// Steps of this job only
    #[arg(long, value_name = "ID")]
    pub job: Option<u32>,
    /// The state_dir= of plugstack.conf
    #[arg(long, value_name = "DIR", default_value = berth_host::state::DEFAULT_BASE)]
    pub state_dir: PathBuf,
    /// What counts as a socket (slurmd: package, unless SlurmdParameters says otherwise)
    #[arg(long, value_name = "KIND", default_value = "package")]
    pub socket: Socket,
    /// table, or json for scripts
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub format: StatusFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum StatusFormat {
    Table,
    Json,
}

/// The request, in srun's spelling, and the machine it is tried on.
#[derive(Clone, Debug, Args)]
#[command(
    args_override_self = true,
    after_help = "Examples:
  berth plan -n 4 -c 2 --cpu-bind=cores
  berth plan --machine \"pack:4 core:2 pu:1\" -n 8 -B 4:2 -m block:cyclic
  berth plan --machine node.xml -n 2 --binding=linear:2 --format masks"
)]
pub(crate) struct PlanArgs {
    /// live, an hwloc XML file, or a synthetic string such as "pack:2 core:4 pu:2"
    #[arg(
        long,
        value_name = "M",
        default_value = "live",
        help_heading = "Machine"
    )]
    pub machine: String,
    /// How a synthetic machine numbers its CPUs: block, cyclic, threads-last
    #[arg(long, value_name = "ORDER", help_heading = "Machine")]
    pub numbering: Option<Numbering>,
    /// What counts as a socket (slurmd: package, unless SlurmdParameters says otherwise)
    #[arg(
        long,
        value_name = "KIND",
        default_value = "package",
        help_heading = "Machine"
    )]
    pub socket: Socket,
    /// Cores the step owns, by Slurm's core number [default: all]
    #[arg(long, value_name = "LIST", value_parser = CpuSet::from_list, conflicts_with = "cpus", help_heading = "Machine")]
    pub cores: Option<CpuSet>,
    /// CPUs the step owns, by kernel number [default: all allowed]
    #[arg(long, value_name = "LIST", value_parser = CpuSet::from_list, help_heading = "Machine")]
    pub cpus: Option<CpuSet>,
    /// Cores other steps are bound to, by Slurm's core number, for --binding
    #[arg(long, value_name = "LIST", value_parser = CpuSet::from_list, help_heading = "Machine")]
    pub occupied: Option<CpuSet>,

    /// Tasks on this node [default: --ntasks-per-node, else 1]
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65535), help_heading = "Request")]
    pub ntasks: Option<u32>,
    /// Tasks on each node: here as many, or at most as many as -n
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65535), help_heading = "Request")]
    pub ntasks_per_node: Option<u32>,
    /// Nodes: one, as a plan is of one node
    #[arg(short = 'N', long, value_name = "N", value_parser = one_node, help_heading = "Request")]
    pub nodes: Option<u32>,
    /// Give the step only the cores it needs; --cores says which they are
    #[arg(long, help_heading = "Request")]
    pub exact: bool,
    /// CPUs per task
    #[arg(short = 'c', long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=65535), help_heading = "Request")]
    pub cpus_per_task: u32,
    /// threads, cores, sockets, ldoms, none, map_cpu:LIST, mask_cpu:LIST, …
    #[arg(
        long,
        alias = "cpu_bind",
        value_name = "BIND",
        help_heading = "Request"
    )]
    pub cpu_bind: Option<Bind<CpuBind>>,
    /// local, rank, map_mem:LIST, mask_mem:LIST, none; prefer beside one of them
    #[arg(
        long,
        alias = "mem_bind",
        value_name = "BIND",
        help_heading = "Request"
    )]
    pub mem_bind: Option<Bind<MemBind>>,
    /// NODES[:SOCKETS[:CORES]]: block, cyclic, fcyclic, plane=N, arbitrary, *
    #[arg(short = 'm', long, value_name = "DIST", help_heading = "Request")]
    pub distribution: Option<Distribution>,
    /// SOCKETS[:CORES[:THREADS]] the node must have; also chooses the level
    #[arg(short = 'B', long, value_name = "S[:C[:T]]", help_heading = "Request")]
    pub extra_node_info: Option<ExtraNodeInfo>,
    /// Sockets the node must have, as the first part of -B
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65535), conflicts_with = "extra_node_info", help_heading = "Request")]
    pub sockets_per_node: Option<u32>,
    /// Cores a socket the node must have, as the second part of -B
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65535), conflicts_with = "extra_node_info", help_heading = "Request")]
    pub cores_per_socket: Option<u32>,
    /// Use at most so many hardware threads of a core
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65535), help_heading = "Request")]
    pub threads_per_core: Option<u32>,
    /// At most so many tasks a core
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65535), help_heading = "Request")]
    pub ntasks_per_core: Option<u32>,
    /// At most so many tasks a socket
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65535), help_heading = "Request")]
    pub ntasks_per_socket: Option<u32>,
    /// What the program is like; srun turns it into other options
    #[arg(long, value_name = "HINT", help_heading = "Request")]
    pub hint: Option<Hint>,
    /// Allow more tasks than CPUs
    #[arg(short = 'O', long, help_heading = "Request")]
    pub overcommit: bool,
    /// Cores left to the system; --cores says which are the step's then
    #[arg(
        short = 'S',
        long,
        value_name = "N",
        conflicts_with = "thread_spec",
        help_heading = "Request"
    )]
    pub core_spec: Option<u32>,
    /// Hardware threads left to the system
    #[arg(long, value_name = "N", help_heading = "Request")]
    pub thread_spec: Option<u32>,
    /// Grid Engine's core binding: linear:AMOUNT[:SOCKET,CORE], striding:AMOUNT:STEP[:SOCKET,CORE],
    /// explicit:SOCKET,CORE[:…] or none, after [set:|env:|pe:][task:|host:][strict:]
    #[arg(
        long,
        alias = "berth-binding",
        value_name = "B",
        help_heading = "Request"
    )]
    pub binding: Option<Binding>,

    /// A --binding that cannot be had: run unbound, or refuse
    #[arg(
        long,
        value_name = "WHAT",
        default_value = "unbound",
        help_heading = "Rules"
    )]
    pub binding_fail: BindingFail,
    /// Whose behaviour
    #[arg(
        long,
        value_name = "WHOSE",
        default_value = "berth",
        help_heading = "Rules"
    )]
    pub compat: CompatArg,

    /// TaskPluginParam=autobind=: the level where none is asked and none fits
    #[arg(long, value_name = "LEVEL", help_heading = "Rules")]
    pub autobind: Option<Autobind>,
    /// CpuBind= of node or partition: taken where the request has no --cpu-bind of its own
    #[arg(long, value_name = "LEVEL", help_heading = "Rules")]
    pub default_cpu_bind: Option<CpuBind>,
    /// SelectTypeParameters=CR_CORE_DEFAULT_DIST_BLOCK: sockets in blocks where -m does not say
    #[arg(long, help_heading = "Rules")]
    pub block_by_default: bool,

    /// Where to differ from task/affinity: all, none, or +NAME,-NAME…
    #[arg(
        long,
        value_name = "FIXES",
        allow_hyphen_values = true,
        help_heading = "Rules"
    )]
    pub fixes: Option<String>,

    /// table, masks (as in the launch message), cpus (one list a task) [default: table; with --batch masks]
    #[arg(long, value_name = "FORMAT", help_heading = "Output")]
    pub format: Option<Format>,
    /// One request a line, one answer a line; - is stdin
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub batch: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Table,
    Masks,
    Cpus,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Socket {
    Package,
    Numa,
    L3,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Autobind {
    Threads,
    Cores,
    Sockets,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum BindingFail {
    Unbound,
    Refuse,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CompatArg {
    Berth,
    Affinity,
}

/// `-N` in srun's spelling, of which only one node can be planned.
fn one_node(text: &str) -> Result<u32, String> {
    match text {
        "1" | "1-1" => Ok(1),
        _ => Err(format!(
            "{text} nodes are asked for; a plan is of one node; leave -N out and give this node's \
             share of the tasks with -n"
        )),
    }
}

impl PlanArgs {
    /// Tasks on this node.
    pub(crate) fn tasks(&self) -> u32 {
        self.ntasks.or(self.ntasks_per_node).unwrap_or(1)
    }

    /// `--cpu-bind`, where given.
    pub(crate) fn bind(&self) -> Option<&CpuBind> {
        self.cpu_bind.as_ref().map(|bind| &bind.value)
    }
}
