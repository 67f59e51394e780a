//! The command line: clap's definitions, from which --help, the man pages and the shells'
//! completions come.

mod env;
mod tune;

use std::ffi::OsString;
use std::ops::RangeInclusive;
use std::path::PathBuf;

use berth_placement::SocketKind;
use berth_srun::Release;
use clap::{Args, ColorChoice, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use berth_answer::args::{PlanArgs, SiteNodes, release, socket};
use berth_answer::text;
use clap::error::ErrorKind;

pub(crate) use env::{EnvArgs, EnvFormat, EnvMode, JobName};
pub(crate) use tune::{TuneArgs, TuneRequest};

/// Show where Slurm tasks would run, without a cluster, and where they run.
#[derive(Debug, Parser)]
#[command(name = "berth", version, about, args_override_self = true)]
pub(crate) struct Cli {
    /// Draw and write in ASCII alone, as with LC_ALL=C
    #[arg(long, global = true, hide_short_help = true, help_heading = "Output")]
    pub ascii: bool,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show which CPUs each task of a step would get
    Plan(Box<PlanArgs>),
    /// Run a program with the lines that make sense for it, and show which is the fastest
    Tune(Box<TuneArgs>),
    /// Show a node's sockets, cores and CPUs
    Topo(TopoArgs),
    /// Show which steps are bound to which cores of this node
    Status(StatusArgs),
    /// Show the traps in an srun line or a batch script
    Check(CheckArgs),
    /// Show what each task of a step really has; each task runs it
    Report(ReportArgs),
    /// Print facts about a job's resources as statements for a shell
    Env(EnvArgs),
    /// Check that berth works on this node, for health checks and tickets
    Doctor(DoctorArgs),
    /// Have slurmd read the site's files of cpusets and pools again, at its next launch
    Reload(ReloadArgs),
    /// Serve this host: move the cpusets of resumed jobs, and mend bindings after CPUs were offline
    Node(NodeArgs),
    /// Find this node's hardware and describe it for slurmd
    Discover(DiscoverArgs),
    /// Print a shell's completions
    Completions(CompletionArgs),
    /// Write the man pages
    #[command(hide = true)]
    Man(ManArgs),
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  berth node                                 serve this host until SIGTERM; the unit berth-node.service runs it
  berth node --metrics /var/lib/prometheus/node-exporter
  berth node --release                       let tasks go on that a killed service has frozen
Exit code: 0 ended by a signal, 1 it cannot serve, 2 a wrong option.")]
pub(crate) struct NodeArgs {
    /// Let tasks go on that a killed service has frozen, and end
    #[arg(long, conflicts_with = "metrics")]
    pub release: bool,
    /// Folder for berth.prom, the metrics as node_exporter's textfile collector takes them, every 15 s
    #[arg(long, value_name = "DIR")]
    pub metrics: Option<PathBuf>,
    /// State directory: state_dir= of plugstack.conf [default: that of the slurmd that runs here]
    #[arg(long, value_name = "DIR")]
    pub state_dir: Option<PathBuf>,
    /// Write every file and mask that is changed to stderr
    #[arg(long)]
    pub verbose: bool,
    /// A folder that looks like a mount of cgroups, for a trial without the kernel's
    #[arg(long, value_name = "DIR", hide = true)]
    pub cgroups: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// Folder to write them to
    pub dir: PathBuf,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  berth completions bash > /etc/bash_completion.d/berth
  berth completions zsh > \"${fpath[1]}/_berth\"")]
pub(crate) struct CompletionArgs {
    /// The shell that they are for
    pub shell: Shell,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  berth discover                              print this node's machine description
  berth discover --output machine.json        write it to a file")]
pub(crate) struct DiscoverArgs {
    /// live, an hwloc XML file, a synthetic string such as "pack:2 core:4 pu:2", or a known machine such as lumi-g
    #[arg(long, value_name = "M", default_value = "live")]
    pub machine: String,
    /// Machine file to write; without it the description goes to stdout
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Where to look for devices: sysfs and the PCI bus, the vendors' drivers too, or nowhere
    #[arg(long, value_name = "WHERE", default_value = "sysfs")]
    pub devices: Devices,
    /// Print this host's devices for the command that waits for them
    #[arg(long, hide = true)]
    pub probe: bool,
}

/// Where to look for devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Devices {
    /// The kernel and the PCI bus
    Sysfs,
    /// The vendors' drivers too; they can hang, and wake sleeping devices
    Vendor,
    /// Nowhere
    Off,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  berth topo                          this node: counts, topology string, one row per core
  berth topo --format tree            the same as boxes
  berth topo --machine node.xml --format svg > node.svg")]
pub(crate) struct TopoArgs {
    /// live, an hwloc XML file, a synthetic string such as "pack:2 core:4 pu:2", or a known machine such as lumi-g
    #[arg(long, value_name = "M", default_value = "live")]
    pub machine: String,
    /// What counts as a socket (slurmd: package, unless SlurmdParameters names another)
    #[arg(long, value_name = "KIND", default_value = "package", value_parser = socket())]
    pub socket: SocketKind,
    /// Form of the output
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub format: TopoFormat,
    /// Columns that a picture may have [default: the terminal's]
    #[arg(long, value_name = "N")]
    pub width: Option<usize>,
    /// Colours of a picture
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub color: ColorChoice,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TopoFormat {
    /// Counts, and one row per core
    Table,
    /// Grid Engine's topology string
    String,
    /// The machine as boxes, with CPU numbers
    Tree,
    /// The same as a picture
    Svg,
    /// For scripts
    Json,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  berth doctor                    one line per check, for each slurmd of this host
  berth doctor --quiet            only what is wrong, for a health check
  berth doctor --quiet --strict   the same, and notes fail too
Exit code: 0 nothing is wrong, 1 something is wrong, 2 a wrong option.")]
pub(crate) struct DoctorArgs {
    /// NodeName in slurm.conf [default: every node of this host]
    #[arg(long, value_name = "NAME")]
    pub node: Option<String>,
    /// State directory: state_dir= of plugstack.conf [default: that of the slurmd that runs here]
    #[arg(long, value_name = "DIR")]
    pub state_dir: Option<PathBuf>,
    /// Print only what is wrong or needs attention
    #[arg(short, long)]
    pub quiet: bool,
    /// Exit with 1 for notes too: unknown settings, a switch-off file, differences read back, …
    #[arg(long)]
    pub strict: bool,
    /// Exit with 1 only where tasks of this node are not placed at all: because of its slurmd, its task plugin, its
    /// key or its state directory
    #[arg(long, conflicts_with = "strict")]
    pub placement: bool,
    /// table, or json for scripts
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub format: StatusFormat,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  berth reload                    for each slurmd of this host (root)
Exit code: 0 slurmd was asked, 1 a file is wrong, and what was in force stays, 2 a wrong option.")]
pub(crate) struct ReloadArgs {
    /// NodeName in slurm.conf [default: every node of this host]
    #[arg(long, value_name = "NAME")]
    pub node: Option<String>,
    /// State directory: state_dir= of plugstack.conf [default: that of the slurmd that runs here]
    #[arg(long, value_name = "DIR")]
    pub state_dir: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  berth status                    steps and their cores (root), or how full the node is
  berth status --job 4711         this job's cores in small letters
  berth status --watch            repeats every two seconds
  berth status --cpusets -l       free CPUs, each NUMA node's, and static cpusets
  berth status --pools            pools, and what their jobs own and get (root)
  berth status --metrics          what was counted since the boot, for Prometheus
  berth status --format json      the same for a script")]
pub(crate) struct StatusArgs {
    /// NodeName in slurm.conf [default: every node of this host]
    #[arg(long, value_name = "NAME")]
    pub node: Option<String>,
    /// Steps of this job only
    #[arg(long, value_name = "ID")]
    pub job: Option<u32>,
    /// Room for cpusets, in the columns of LSF's brlainfo: CPUs that are online, not reserved and no job's
    #[arg(long, conflicts_with = "job")]
    pub cpusets: bool,
    /// With --cpusets: which CPUs are free, how many on each NUMA node, and the static cpusets
    #[arg(short, long, requires = "cpusets")]
    pub long: bool,
    /// The site's pools, their weights, what their jobs own and get, and how much the other jobs wait
    #[arg(long, conflicts_with_all = ["job", "cpusets"])]
    pub pools: bool,
    /// What was counted since the boot, in Prometheus' text format
    #[arg(long, conflicts_with_all = ["job", "cpusets", "pools", "format"])]
    pub metrics: bool,
    /// State directory: state_dir= of plugstack.conf [default: that of the slurmd that runs here]
    #[arg(long, value_name = "DIR")]
    pub state_dir: Option<PathBuf>,
    /// What counts as a socket (slurmd: package, unless SlurmdParameters names another)
    #[arg(long, value_name = "KIND", default_value = "package", value_parser = socket())]
    pub socket: SocketKind,
    /// table, or json for scripts
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub format: StatusFormat,
    /// Repeat after this number of seconds, until interrupted
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "2", value_parser = clap::value_parser!(u64).range(1..=86400))]
    pub watch: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum StatusFormat {
    /// For people
    #[default]
    Table,
    /// For scripts
    Json,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  berth check 'srun -n4 --hint=nomultithread --cpu-bind=cores ./app'
  berth check 'sbatch -N2 -n8 --ntasks-per-node=8 job.sh'
  berth check job.sh                             a batch script for Slurm, Grid Engine or LSF
  berth check --machine node.xml job.sh          also whether it fits these nodes
  berth check --cluster slurm.conf job.sh        whether it fits the partition that it names
  berth check --format script job.sh > new.sh    the script with its corrections
Exit code: 0 no trap or only hints, 1 a trap, 2 a wrong option or file, or nothing to check.")]
pub(crate) struct CheckArgs {
    /// A line of srun, sbatch or salloc in quotes, a batch script, or - for stdin
    #[arg(value_name = "LINE|FILE", required = true, num_args = 1.., trailing_var_arg = true)]
    pub line: Vec<String>,
    /// The node it is for: live, an hwloc XML file, a synthetic string, or a known machine such as lumi-g
    #[arg(long, value_name = "M")]
    pub machine: Option<String>,
    /// The cluster that it is for: its slurm.conf, or live for the one that scontrol reaches
    #[arg(long, value_name = "FILE")]
    pub cluster: Option<String>,
    /// The job has its nodes alone, as with --exclusive on its own line
    #[arg(long)]
    pub exclusive: bool,
    /// Nodes of the site's jobs: exclusive or shared [default: BERTH_SITE, else shared]; the slurm.conf of --cluster wins
    #[arg(long, hide_possible_values = true, value_name = "NODES")]
    pub site: Option<SiteNodes>,
    /// The release line of Slurm it is for, such as 24.11 [default: as here, else the newest]
    #[arg(long, value_name = "LINE", value_parser = release(), hide_possible_values = true)]
    pub slurm: Option<Release>,
    /// table, json for scripts, or script: the text itself with its corrections
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub format: CheckFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CheckFormat {
    /// Each trap with its reason, then the corrected line
    Table,
    /// For scripts
    Json,
    /// The line or script with its corrections; every other byte is as it was
    Script,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  srun -N2 -n8 --cpu-bind=cores berth report       one block per node, one row per task
  srun -n4 -c2 berth report --after 2 -- ./app     runs ./app and shows its threads after 2 s
  mpirun -n 4 berth report                         works without Slurm too
  srun … berth report --format json | berth report --merge -     one table of the whole step")]
pub(crate) struct ReportArgs {
    /// table, or json with one line per task
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub format: StatusFormat,
    /// Seconds to wait for the other tasks of the node
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    pub wait: u64,
    /// Seconds that the program has to start its threads
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0, value_parser = seconds)]
    pub after: f64,
    /// Exit with 1 if a task does not have what was planned
    #[arg(long)]
    pub check: bool,
    /// Read blocks in JSON and show the whole step in task order; - is stdin
    #[arg(long, value_name = "FILE", conflicts_with = "program")]
    pub merge: Option<PathBuf>,
    /// What counts as a socket (slurmd: package, unless SlurmdParameters names another)
    #[arg(long, value_name = "KIND", default_value = "package", value_parser = socket())]
    pub socket: SocketKind,
    /// A program to run and to report on
    #[arg(last = true, value_name = "PROGRAM")]
    pub program: Vec<String>,
}

fn seconds(text: &str) -> Result<f64, &'static str> {
    let why = "a number of seconds from 0 to 86400 is expected";
    number(text, 0.0..=86400.0).ok_or(why)
}

fn number(text: &str, range: RangeInclusive<f64>) -> Option<f64> {
    let number = text.parse().ok();
    number.filter(|number| range.contains(number))
}

/// The subcommand that was typed.
pub(crate) fn typed_command() -> Option<OsString> {
    let mut words = std::env::args_os().skip(1);
    words.find(|word| !word.to_string_lossy().starts_with('-'))
}

/// A line that is wrong, as clap shows it, with the usage of the subcommand that was typed.
pub(crate) fn usage(why: &str) -> clap::Error {
    let is_tune = typed_command().is_some_and(|word| word == "tune");
    let name = if is_tune { "berth tune" } else { "berth plan" };
    let mut command = clap::Command::new(name).override_usage(format!("{name} [OPTIONS]"));
    clap::Error::raw(ErrorKind::InvalidValue, text::short(why)).format(&mut command)
}
