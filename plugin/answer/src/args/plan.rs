//! The options of `berth plan`: srun's, with its names and values, and the machine to try them on.
#![allow(
    rustdoc::broken_intra_doc_links,
    reason = "clap prints these comments as help, and their brackets are no links"
)]

use std::ops::{Deref, DerefMut};
use std::path::PathBuf;
use std::str::FromStr;

use berth_placement::{
    CpuBind, CpuSet, CpusetFail, Fixes, Level, Numbering, SocketKind, TextError,
};
use berth_srun::options::{Own, values as listed};
use berth_srun::{OwnRequest, Release};
use clap::{Arg, Args, ColorChoice, ValueEnum};

use crate::args::argument::RequestOptions;
use crate::args::srun::{quoted, word};
use crate::args::values::{offered, one_of, socket};
use crate::args::{SiteNodes, release, values};
use crate::world::LIVE;

/// The options that `-h` shows too, beside those of the request.
const IN_SHORT: [&str; 8] = [
    "machine", "cores", "cpus", "compat", "slurm", "format", "explain", "batch",
];

/// Shows an option that is not the request's by `--help` alone, unless it is one of the most used ones.
fn shown_in_short(arg: Arg) -> Arg {
    let is_requests = matches!(arg.get_help_heading(), None | Some("Request"));
    let is_used = IN_SHORT.contains(&arg.get_id().as_str());
    match is_requests || is_used {
        true => arg,
        false => arg.hide_short_help(true),
    }
}

/// The request, in srun's spelling, and the machine it is tried on.
#[derive(Clone, Debug, Args)]
#[command(
    args_override_self = true,
    mut_args(shown_in_short),
    after_help = "Examples:
  berth plan -n 4 -c 2 --cpu-bind=cores
  berth plan 'srun -p long -t 1:00:00 -n8 -c4 ./app > out'
  berth plan job.sh
  berth plan --machine node.xml -N 4 -n 32 --cpu-bind=cores -m cyclic:block
  berth plan --machine node.xml -n 2 -c 4 --binding=linear:2 --format tree --explain
Without --cores or --cpus: inside a job the job's cores, elsewhere slurmctld's choice.
Exit code: 0 the step or job with its steps would run, 1 it would not, 2 a wrong option or input."
)]
pub struct PlanArgs {
    /// A line of srun, sbatch or salloc, or a batch script; options beside it override it
    #[arg(value_name = "LINE")]
    pub line: Option<String>,
    /// How a synthetic machine numbers its CPUs: block, cyclic, threads-last
    #[arg(
        hide_possible_values = true,
        long,
        value_name = "ORDER",
        value_parser = offered(Numbering::from_str, listed(values::NUMBERING)),
        help_heading = "Machine"
    )]
    pub numbering: Option<Numbering>,
    /// What counts as a socket [default: what slurmd here or SlurmdParameters of the --cluster calls one, else package]
    #[arg(long, value_name = "KIND", value_parser = socket(), help_heading = "Machine")]
    pub socket: Option<SocketKind>,
    /// Cores that the step owns, by Slurm's core number, or all
    #[arg(long, value_name = "LIST", value_parser = OwnedCores::read, conflicts_with = "cpus", help_heading = "Machine")]
    pub cores: Option<OwnedCores>,
    /// CPUs that the step owns, by kernel number
    #[arg(long, value_name = "LIST", value_parser = CpuSet::from_list, help_heading = "Machine")]
    pub cpus: Option<CpuSet>,
    /// Inside a step: plan on this step's own cores, not on all of its job's
    #[arg(long, conflicts_with_all = ["cores", "cpus"], help_heading = "Machine")]
    pub step: bool,
    /// CPUs= of slurm.conf, if it does not count hardware threads
    #[arg(long, value_name = "N", help_heading = "Machine")]
    pub config_cpus: Option<u32>,
    /// Cores that other steps are bound to, by Slurm's core number, for --binding
    #[arg(long, value_name = "LIST", value_parser = CpuSet::from_list, help_heading = "Machine")]
    pub occupied: Option<CpuSet>,
    /// Cores on which jobs of pools run, by Slurm's core number, for --binding
    #[arg(long, value_name = "LIST", value_parser = CpuSet::from_list, help_heading = "Machine")]
    pub pool_cores: Option<CpuSet>,

    /// CPUs that the site keeps free, by kernel number; slurmctld may choose them all the same
    #[arg(long, value_name = "LIST", value_parser = CpuSet::from_list, help_heading = "Machine")]
    pub reserved: Option<CpuSet>,

    /// The options of the request.
    #[command(flatten)]
    pub request: RequestOptions,
    /// live, an hwloc XML file, a known node (lumi-g), or "pack:2 core:4 pu:2"
    #[arg(
        long,
        display_order = 0,
        value_name = "M",
        default_value = LIVE,
        help_heading = "Machine"
    )]
    pub machine: String,
    /// The cluster to ask: its slurm.conf, or live for the one that scontrol reaches
    #[arg(long, value_name = "FILE", help_heading = "Cluster")]
    pub cluster: Option<String>,
    /// The line of the job, as 'salloc -n8 -c2'; the request is a step inside it
    #[arg(long, value_name = "LINE", help_heading = "Cluster")]
    pub job: Option<String>,
    /// Nodes of the site's jobs: exclusive or shared [default: BERTH_SITE, else shared]; the slurm.conf of --cluster wins
    #[arg(
        hide_possible_values = true,
        long,
        value_name = "NODES",
        help_heading = "Cluster"
    )]
    pub site: Option<SiteNodes>,
    /// SelectTypeParameters of an assumed node, or linear [default: CR_Core]
    #[arg(
        long,
        value_name = "WORDS",
        conflicts_with = "cluster",
        help_heading = "Cluster"
    )]
    pub select: Option<String>,
    /// Whether a cpuset gets the best CPUs, or the first free ones [default: as here, else on]
    #[arg(
        long,
        value_name = "on|off",
        value_parser = one_of(values::ON_OFF, [true, false]),
        hide_possible_values = true,
        help_heading = "Rules"
    )]
    pub cpuset_best: Option<bool>,
    /// What a cpuset that cannot be had leads to: refuse or unbound [default: as here, else refuse]
    #[arg(long, value_name = "WHAT", value_parser = CpusetFail::from_str, help_heading = "Rules")]
    pub cpuset_fail: Option<CpusetFail>,
    /// What a --binding that cannot be served leads to: run unbound, or refuse
    #[arg(long, value_name = "WHAT", value_parser = one_of(values::BINDING_FAIL, [false, true]), help_heading = "Rules")]
    pub binding_fail: Option<bool>,
    /// berth's masks or task/affinity's [default: as here]
    #[arg(
        hide_possible_values = true,
        long,
        value_name = "berth|affinity",
        value_parser = one_of(values::COMPAT, [Fixes::ALL, Fixes::NONE]),
        help_heading = "Rules"
    )]
    pub compat: Option<Fixes>,

    /// Slurm's release line [default: as here, else the newest]
    #[arg(
        long,
        hide_possible_values = true,
        value_name = "LINE",
        value_parser = release(),
        help_heading = "Rules"
    )]
    pub slurm: Option<Release>,
    /// TaskPluginParam=autobind=: the level to use if none is requested and none fits
    #[arg(long, value_name = "LEVEL", value_parser = one_of(values::AUTOBIND, values::LEVELS), help_heading = "Rules")]
    pub autobind: Option<Autobind>,
    /// CpuBind= of node or partition: used if the request has no --cpu-bind of its own
    #[arg(
        long,
        value_name = "LEVEL",
        hide_possible_values = true,
        value_parser = offered(site_bind, values::of("cpu-bind")),
        help_heading = "Rules"
    )]
    pub default_cpu_bind: Option<CpuBind>,
    /// SelectTypeParameters=CR_CORE_DEFAULT_DIST_BLOCK: block over sockets if -m names no order
    #[arg(long, help_heading = "Rules")]
    pub block_by_default: bool,

    /// ConstrainCores=yes in cgroup.conf: a step keeps to the CPUs that slurmd counts [live: as slurmd says]
    #[arg(long, help_heading = "Rules")]
    pub constrain_cores: bool,

    /// SlurmdParameters=allow_ecores: slurmd counts efficiency cores too [live: as slurmd says]
    #[arg(long, help_heading = "Rules")]
    pub allow_ecores: bool,

    /// Where to differ from task/affinity: all, none, or +NAME,-NAME…
    #[arg(
        long,
        hide_possible_values = true,
        value_name = "FIXES",
        value_parser = offered(clap::builder::StringValueParser::new(), listed(values::FIXES)),
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
    /// Show the masks in the table also where its lines become too long
    #[arg(long, help_heading = "Output")]
    pub masks: bool,
    /// Show for each task why it is there, and what would change it
    #[arg(long, help_heading = "Output")]
    pub explain: bool,
    /// Show the plan's figures: tasks that span objects, cores shared or idle, tasks on each NUMA node
    #[arg(long, help_heading = "Output")]
    pub score: bool,
    /// Columns that a picture may have [default: the terminal's]
    #[arg(long, value_name = "N", help_heading = "Output")]
    pub width: Option<usize>,
    /// Colours of a picture
    #[arg(
        long,
        value_name = "WHEN",
        default_value = "auto",
        help_heading = "Output"
    )]
    pub color: ColorChoice,
    /// Read one request per line, print one answer per line; - is stdin
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub batch: Option<PathBuf>,

    /// A line sets these variables, NAME=VALUE, before its srun.
    #[arg(skip)]
    pub line_variables: Vec<String>,
    /// srun's options that place the tasks as the mpirun of the line does.
    #[arg(skip)]
    pub for_mpirun: Option<String>,
    /// The whole line is that of a job, and starts no step.
    #[arg(skip)]
    pub only_job: bool,
}

impl Deref for PlanArgs {
    type Target = OwnRequest;

    fn deref(&self) -> &OwnRequest {
        &self.request.own
    }
}

impl DerefMut for PlanArgs {
    fn deref_mut(&mut self) -> &mut OwnRequest {
        &mut self.request.own
    }
}

impl PlanArgs {
    /// The options of the request as they are typed, srun's and berth's own.
    pub(crate) fn words(&self) -> Vec<String> {
        let own = |own: Own| Some(format!("--{}={}", own.name, quoted(&self.text(own)?)));
        let own = Own::ALL.into_iter().filter_map(own);
        self.request.slurms.iter().map(word).chain(own).collect()
    }
}

/// How an answer is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
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

/// `TaskPluginParam=autobind=`.
type Autobind = Option<Level>;

/// `CpuBind=` of slurm.conf.
///
/// # Errors
/// A text that slurm.conf does not take there.
pub(crate) fn site_bind(text: &str) -> Result<CpuBind, TextError> {
    berth_srun::spelling::cpu_bind(text, Release::NEWEST)
}

/// `--cores`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OwnedCores {
    /// `all`
    All,
    /// Slurm's core numbers.
    Listed(CpuSet),
}

impl OwnedCores {
    pub(super) fn read(text: &str) -> Result<Self, TextError> {
        match text {
            "all" => Ok(Self::All),
            list => CpuSet::from_list(list).map(Self::Listed),
        }
    }
}
