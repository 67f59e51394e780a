//! The options of `berth advise`: those of `berth plan` that say what is requested and where, and what
//! the advice is for. What berth advise tries by itself is no option of it.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args, Command, Error, FromArgMatches};

use berth_answer::advise::Goal;
use berth_answer::args::{Format, PlanArgs};

use super::usage;

/// The request, the machine, and what the advice is for.
#[derive(Clone, Debug)]
pub(crate) struct AdviseArgs {
    pub plan: PlanArgs,
    pub goal: Goal,
    /// Lines to show.
    pub lines: usize,
}

const AFTER: &str = "Examples:
  berth advise -n 4 -c 4
  berth advise -n 4 --for memory --machine node.xml --cores all
  berth advise -n 8 --for gpu --machine tests/machines/eas-tioga.xml --cores all
  berth advise -n 16 --cluster slurm.conf --format json
Each line was planned as berth plan does it. Options of the request stay on every line.
A line is shown if it is best in the first point in which the lines differ, if no other line is at least
as good in every point and better in one, and if, behind the best line, its tasks do not share cores
while others stay idle. --for gpu always shows the best line with --near=gpu.
Exit code: 0 there is a line that runs, 1 there is none, 2 a wrong option or unreadable input.";

#[derive(Args)]
struct Own {
    /// What kind of program the lines are for: mpi, openmp, memory or gpu
    #[arg(
        long = "for",
        value_name = "KIND",
        default_value = "mpi",
        hide_possible_values = true,
        help_heading = "Advice"
    )]
    goal: Goal,
    /// The most lines to show
    #[arg(
        long,
        value_name = "N",
        default_value_t = 4,
        value_parser = clap::value_parser!(u8).range(1..=50),
        help_heading = "Advice"
    )]
    lines: u8,
}

/// Options of `berth plan` that choose what berth advise tries.
const TRIED: &[&str] = &[
    "cpu-bind", "binding", "map-by", "rank-by", "bind-to", "near",
];
/// Options of `berth plan` that show one plan.
const SHOWING: &[&str] = &["line", "explain", "score", "width", "color", "batch"];

impl Args for AdviseArgs {
    fn augment_args(command: Command) -> Command {
        let command = Own::augment_args(PlanArgs::augment_args(command));
        command.mut_args(adapted).after_help(AFTER)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

/// An option of `berth plan` as berth advise has it.
fn adapted(arg: Arg) -> Arg {
    let id = arg.get_id().as_str();
    if TRIED.contains(&id) || SHOWING.contains(&id) {
        return arg.hide(true);
    }
    if id != "format" {
        return arg;
    }
    let words = PossibleValuesParser::new(["table", "json"]);
    let format = |word: String| match word.as_str() {
        "json" => Format::Json,
        _ => Format::Table,
    };
    arg.help("table, or json for scripts [default: table]")
        .value_parser(words.map(format))
}

impl FromArgMatches for AdviseArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let is_typed = |id: &&&str| matches.value_source(id) == Some(ValueSource::CommandLine);
        if let Some(id) = TRIED.iter().find(is_typed) {
            return Err(usage(&format!(
                "--{} is what berth advise tries by itself; leave it out, or ask berth plan for the \
                 plan of this one request",
                id
            )));
        }
        match SHOWING.iter().find(is_typed) {
            Some(&"line") => {
                return Err(usage(
                    "berth advise takes options, and no whole line: give those that stay on the line, \
                     as in berth advise -n 8 -c 4",
                ));
            }
            Some(id) => {
                return Err(usage(&format!(
                    "--{id} is an option of berth plan; berth advise has --format table and json"
                )));
            }
            None => {}
        }
        let own = Own::from_arg_matches(matches)?;
        Ok(Self {
            plan: PlanArgs::from_arg_matches(matches)?,
            goal: own.goal,
            lines: own.lines.into(),
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
