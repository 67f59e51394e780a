//! The options of `berth plan`: srun's, with its names and values, and the machine to try them on.
#![allow(
    rustdoc::broken_intra_doc_links,
    reason = "clap prints these comments as help, and their brackets are no links"
)]

use std::path::PathBuf;
use std::str::FromStr;

use berth_placement::{Binding, CpuBind, CpuSet, Numbering};
use berth_srun::Release;
use clap::{Args, ColorChoice, ValueEnum};

use crate::args::offered::offered;
use crate::args::srun::SrunOptions;
use crate::args::typed::Typed;
use crate::args::values;
use crate::args::{Socket, release};

/// The request, in srun's spelling, and the machine it is tried on.
#[derive(Clone, Debug, Args)]
#[command(
    args_override_self = true,
    after_help = "Examples:
  berth plan -n 4 -c 2 --cpu-bind=cores
  berth plan --machine \"pack:4 core:2 pu:1\" -n 8 -B 4:2 -m block:cyclic
  berth plan --machine node.xml -N 4 -n 32 --cpu-bind=cores -m cyclic:block
  berth plan --machine node.xml -n 2 --binding=linear:2 --format tree --explain
Exit code: 0 the step would run, 1 it would be refused, 2 a wrong option."
)]
pub(crate) struct PlanArgs {
    /// live, an hwloc XML file, or a synthetic string: "pack:2 core:4 pu:2"
    #[arg(
        long,
        value_name = "M",
        default_value = "live",
        help_heading = "Machine"
    )]
    pub machine: String,
    /// How a synthetic machine numbers its CPUs: block, cyclic, threads-last
    #[arg(
        hide_short_help = true,
        hide_possible_values = true,
        long,
        value_name = "ORDER",
        value_parser = offered(Numbering::from_str, values::NUMBERING),
        help_heading = "Machine"
    )]
    pub numbering: Option<Numbering>,
    /// What counts as a socket (slurmd: package, unless SlurmdParameters names another)
    #[arg(
        hide_short_help = true,
        long,
        value_name = "KIND",
        default_value = "package",
        help_heading = "Machine"
    )]
    pub socket: Socket,
    /// Cores that the step owns, by Slurm's core number [default: all]
    #[arg(long, value_name = "LIST", value_parser = CpuSet::from_list, conflicts_with = "cpus", help_heading = "Machine")]
    pub cores: Option<CpuSet>,
    /// CPUs that the step owns, by kernel number [default: all allowed]
    #[arg(long, value_name = "LIST", value_parser = CpuSet::from_list, help_heading = "Machine")]
    pub cpus: Option<CpuSet>,
    /// CPUs= of slurm.conf, if it does not count hardware threads
    #[arg(
        hide_short_help = true,
        long,
        value_name = "N",
        help_heading = "Machine"
    )]
    pub config_cpus: Option<u32>,
    /// Cores that other steps are bound to, by Slurm's core number, for --binding
    #[arg(hide_short_help = true, long, value_name = "LIST", value_parser = CpuSet::from_list, help_heading = "Machine")]
    pub occupied: Option<CpuSet>,

    /// srun's own options.
    #[command(flatten)]
    pub srun: SrunOptions,
    /// The same as they were typed.
    #[command(flatten)]
    pub typed: Typed,
    /// Grid Engine's core binding: linear:AMOUNT[:SOCKET,CORE], striding:AMOUNT:STEP[:SOCKET,CORE],
    /// explicit:SOCKET,CORE[:…] or none, after [set:|env:|pe:][task:|host:][strict:]
    #[arg(
        long,
        alias = "berth-binding",
        hide_possible_values = true,
        value_name = "B",
        value_parser = offered(Binding::from_str, values::BINDING),
        help_heading = "Request"
    )]
    pub binding: Option<Binding>,

    /// What a --binding that cannot be served leads to: run unbound, or refuse
    #[arg(
        hide_short_help = true,
        long,
        value_name = "WHAT",
        default_value = "unbound",
        help_heading = "Rules"
    )]
    pub binding_fail: BindingFail,
    /// Whose masks: those of berth with its fixes, or those of task/affinity
    #[arg(
        long,
        value_name = "WHOSE",
        default_value = "berth",
        help_heading = "Rules"
    )]
    pub compat: CompatArg,

    /// Release line of Slurm whose srun reads the options
    #[arg(
        long,
        hide_possible_values = true,
        value_name = "LINE",
        value_parser = release(),
        default_value_t = Release::NEWEST,
        help_heading = "Rules"
    )]
    pub slurm: Release,
    /// TaskPluginParam=autobind=: the level to use if none is requested and none fits
    #[arg(
        hide_short_help = true,
        long,
        value_name = "LEVEL",
        help_heading = "Rules"
    )]
    pub autobind: Option<Autobind>,
    /// CpuBind= of node or partition: used if the request has no --cpu-bind of its own
    #[arg(
        hide_short_help = true,
        long,
        value_name = "LEVEL",
        hide_possible_values = true,
        value_parser = offered(site_bind, values::CPU_BIND),
        help_heading = "Rules"
    )]
    pub default_cpu_bind: Option<CpuBind>,
    /// SelectTypeParameters=CR_CORE_DEFAULT_DIST_BLOCK: block over sockets if -m names no order
    #[arg(hide_short_help = true, long, help_heading = "Rules")]
    pub block_by_default: bool,

    /// ConstrainCores=yes in cgroup.conf: a step keeps to the CPUs that slurmd counts [live: as slurmd says]
    #[arg(hide_short_help = true, long, help_heading = "Rules")]
    pub constrain_cores: bool,

    /// SlurmdParameters=allow_ecores: slurmd counts efficiency cores too [live: as slurmd says]
    #[arg(hide_short_help = true, long, help_heading = "Rules")]
    pub allow_ecores: bool,

    /// Where to differ from task/affinity: all, none, or +NAME,-NAME…
    #[arg(
        hide_short_help = true,
        long,
        hide_possible_values = true,
        value_name = "FIXES",
        value_parser = offered(clap::builder::StringValueParser::new(), values::FIXES),
        allow_hyphen_values = true,
        help_heading = "Rules"
    )]
    pub fixes: Option<String>,

    /// table, masks, cpus, json, tree, svg, brackets, rankfile [default: table]
    #[arg(
        hide_possible_values = true,
        long,
        value_name = "FORMAT",
        help_heading = "Output"
    )]
    pub format: Option<Format>,
    /// Show for each task why it is there, and what would change it
    #[arg(long, help_heading = "Output")]
    pub explain: bool,
    /// Columns that a picture may have [default: the terminal's]
    #[arg(
        hide_short_help = true,
        long,
        value_name = "N",
        help_heading = "Output"
    )]
    pub width: Option<usize>,
    /// Colours of a picture
    #[arg(
        hide_short_help = true,
        long,
        value_name = "WHEN",
        default_value = "auto",
        help_heading = "Output"
    )]
    pub color: ColorChoice,
    /// Read one request per line, print one answer per line; - is stdin
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub batch: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// One row per task, for people
    Table,
    /// The masks as in the launch message, one line per node
    Masks,
    /// One list of CPUs per task, by kernel number
    Cpus,
    /// For scripts; its schema has a version
    Json,
    /// The machine as boxes, with task numbers in its CPUs
    Tree,
    /// The same as a picture for documents and tickets
    Svg,
    /// One line per task, as Open MPI draws it: [BB/..][../..]
    Brackets,
    /// Open MPI's rank file
    Rankfile,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Autobind {
    /// Hardware threads
    Threads,
    /// Whole cores
    Cores,
    /// Whole sockets
    Sockets,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum BindingFail {
    /// The step runs, on all its CPUs, with a note
    Unbound,
    /// The step is refused
    Refuse,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CompatArg {
    /// With every named fix
    Berth,
    /// As task/affinity does it, also where it is wrong
    Affinity,
}

/// `CpuBind=` of slurm.conf.
fn site_bind(text: &str) -> Result<CpuBind, berth_placement::TextError> {
    berth_srun::spelling::cpu_bind(text, Release::NEWEST)
}
