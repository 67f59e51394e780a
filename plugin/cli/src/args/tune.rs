//! The options of `berth tune`: its own, and those of `berth plan` that say where a line runs.

use std::path::PathBuf;

use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches};
use serde::{Deserialize, Serialize};

use berth_answer::args::PlanArgs;
use berth_answer::tune::Goal;

use super::{StatusFormat, number};

const AFTER: &str = "Examples:
  berth tune --dry-run 'srun -n 4 -c 4 ./app'                   compare the plans alone
  berth tune 'srun -n 4 -c 4 ./app'                             inside a job: run and compare
  berth tune --metric 'GFLOPS: ([0-9.]+)' --higher 'srun -n 4 ./app'
  berth tune --only '--cpu-bind=cores' --only '--binding=auto' 'srun -n 4 ./app'
  berth tune -- sbatch -N 1 -n 4 -t 1:00:00 -- 'srun -n 4 ./app'
Ctrl-C ends it with the table of what is known; --resume goes on.
Exit code: 0 there is a table, 1 no line ran, 2 a wrong option or unreadable input.";

/// The headings of the options of `berth plan` that say where a line runs.
const PLACE: [&str; 3] = ["Machine", "Cluster", "Rules"];

/// The options of `berth tune`.
#[derive(Clone, Debug)]
pub(crate) struct TuneArgs(pub TuneRequest);

/// The arguments of a measurement. Its folder keeps those on which its runs depend.
#[derive(Args, Clone, Debug, Serialize, Deserialize)]
pub(crate) struct TuneRequest {
    #[arg(skip = 1_u32)]
    pub berth_tune: u32,
    /// A line of srun, or: -- sbatch OPTIONS -- 'srun …', which makes its own job
    #[arg(value_name = "LINE", required_unless_present = "resume")]
    pub line: Option<String>,
    /// Options of `berth plan`, as words.
    #[arg(skip)]
    pub place: Vec<String>,
    /// Decides about the order of the runs.
    #[arg(skip)]
    pub seed: u64,
    /// Compare these options too (may be repeated)
    #[arg(long, value_name = "OPTIONS", allow_hyphen_values = true)]
    pub also: Vec<String>,
    /// Compare these options with today's line, and no others (may be repeated)
    #[arg(long, value_name = "OPTIONS", allow_hyphen_values = true)]
    pub only: Vec<String>,
    /// The kind of program, for the order of the plans: mpi, openmp, memory or gpu
    #[arg(
        long = "for",
        value_name = "KIND",
        default_value = "mpi",
        hide_possible_values = true
    )]
    pub goal: Goal,
    /// Show the lines and the figures of their plans; run nothing
    #[arg(long)]
    #[serde(skip)]
    pub dry_run: bool,
    /// Compare the number that this regular expression finds last in the output, not the wall time
    #[arg(long, value_name = "PATTERN", allow_hyphen_values = true)]
    pub metric: Option<String>,
    /// A larger number is better
    #[arg(long, requires = "metric")]
    pub higher: bool,
    /// The most rounds; fewer if the differences are clear before
    #[arg(long, value_name = "N", default_value_t = 24, value_parser = clap::value_parser!(u32).range(1..=1000))]
    #[serde(skip)]
    pub repeat: u32,
    /// Runs of each line before the first round, which do not count
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(0..=100))]
    pub warmup: u32,
    /// Minutes that it may take; a job's own end goes first
    #[arg(long, value_name = "MINUTES", default_value_t = 30.0, value_parser = positive)]
    #[serde(skip)]
    pub limit: f64,
    /// Seconds after which a run counts as hanging [default: ten times the longest run, at least 60]
    #[arg(long, value_name = "SECONDS", value_parser = positive)]
    #[serde(skip)]
    pub timeout: Option<f64>,
    /// New folder for the output of the runs [default: berth-tune-JOB]
    #[arg(long, value_name = "DIR", conflicts_with = "resume")]
    #[serde(skip)]
    pub folder: Option<PathBuf>,
    /// Go on with the runs of this folder
    #[arg(long, value_name = "DIR", conflicts_with_all = ["line", "also", "only", "dry_run", "metric", "warmup"])]
    #[serde(skip)]
    pub resume: Option<PathBuf>,
    /// table, or json for scripts
    #[arg(
        long,
        value_name = "FORMAT",
        default_value = "table",
        hide_possible_values = true
    )]
    #[serde(skip)]
    pub format: StatusFormat,
}

fn positive(text: &str) -> Result<f64, &'static str> {
    number(text, 0.001..=1e6).ok_or("a number above 0 is expected")
}

/// The options of `berth plan` that say where a line runs.
fn place() -> impl Iterator<Item = Arg> {
    let all = PlanArgs::augment_args(Command::new("place"));
    let is_place = |arg: &Arg| PLACE.contains(&arg.get_help_heading().unwrap_or_default());
    let place = all.get_arguments().filter(|arg| is_place(arg));
    place.cloned().collect::<Vec<_>>().into_iter()
}

impl Args for TuneArgs {
    fn augment_args(command: Command) -> Command {
        let place = place().map(|arg| arg.hide_short_help(true).display_order(100));
        TuneRequest::augment_args(command)
            .args(place)
            .after_help(AFTER)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for TuneArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut words = Vec::new();
        for arg in place() {
            let id = arg.get_id().as_str();
            let name = arg.get_long().unwrap_or_default();
            if matches.value_source(id) != Some(ValueSource::CommandLine) {
                continue;
            }
            if matches!(arg.get_action(), ArgAction::SetTrue) {
                words.push(format!("--{name}"));
                continue;
            }
            let values = matches.get_raw(id).into_iter().flatten();
            words.extend(values.map(|value| format!("--{name}={}", value.to_string_lossy())));
        }
        Ok(Self(TuneRequest {
            place: words,
            ..TuneRequest::from_arg_matches(matches)?
        }))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
