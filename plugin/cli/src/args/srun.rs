//! srun's options in `berth plan`: clap's definitions, made from the table of options, and srun's
//! reading of the values. Options that do not concern CPUs are accepted and ignored.

use std::ops::Deref;
use std::sync::OnceLock;

use berth_srun::options::{Command as Program, Found, Row, Takes, long, of, short};
use berth_srun::reading::{Refused, Setting, read};
use berth_srun::{Asked, Release, line::Trouble};
use clap::builder::StringValueParser;
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches};

use super::offered::offered;
use super::values;
use crate::say;

/// srun's reading of the options.
#[derive(Clone, Debug)]
pub(crate) struct SrunOptions(pub Asked);

impl Deref for SrunOptions {
    type Target = Asked;

    fn deref(&self) -> &Asked {
        &self.0
    }
}

/// An option that is shown: its name, its value's name, its help, and whether -h shows it too.
type Shown = (&'static str, &'static str, &'static str, bool);

const SHOWN: &[Shown] = &[
    (
        "ntasks",
        "N",
        "Tasks of the step [default: as srun counts them, else 1]",
        true,
    ),
    (
        "ntasks-per-node",
        "N",
        "Tasks on each node: the exact number, or the limit beside -n",
        true,
    ),
    (
        "nodes",
        "N",
        "Nodes, all like the machine [default: those of -w, else 1]",
        true,
    ),
    (
        "nodelist",
        "LIST",
        "Names of the nodes: n[1-4],m7, or a file of them",
        true,
    ),
    (
        "exact",
        "",
        "Give the step only the cores it needs; --cores says which they are",
        false,
    ),
    (
        "exclusive",
        "WHO",
        "The nodes are for the step alone, as a plan assumes",
        false,
    ),
    (
        "overlap",
        "",
        "The step shares its CPUs with others, which changes no plan",
        false,
    ),
    (
        "whole",
        "",
        "The step gets all that the job has on its nodes, as a plan assumes",
        false,
    ),
    (
        "cpus-per-task",
        "N",
        "CPUs for each task [default: 1]",
        true,
    ),
    (
        "cpu-bind",
        "BIND",
        "threads, cores, sockets, none, map_cpu:LIST, …",
        true,
    ),
    (
        "mem-bind",
        "BIND",
        "local, rank, map_mem:LIST, …; prefer beside one of them",
        true,
    ),
    (
        "distribution",
        "DIST",
        "NODES[:SOCKETS[:CORES]]: block, cyclic, fcyclic, *, …",
        true,
    ),
    (
        "extra-node-info",
        "S[:C[:T]]",
        "What the node must have; also chooses the level",
        true,
    ),
    (
        "sockets-per-node",
        "N",
        "Sockets the node must have, as the first part of -B",
        false,
    ),
    (
        "cores-per-socket",
        "N",
        "Cores the sockets must have, as the second part of -B",
        false,
    ),
    (
        "threads-per-core",
        "N",
        "The most hardware threads of a core to use",
        true,
    ),
    ("ntasks-per-core", "N", "The most tasks on a core", false),
    (
        "ntasks-per-socket",
        "N",
        "The most tasks on a socket",
        false,
    ),
    (
        "hint",
        "HINT",
        "compute_bound, memory_bound, multithread, nomultithread",
        true,
    ),
    ("overcommit", "", "Allow more tasks than CPUs", true),
    (
        "core-spec",
        "N",
        "Cores left to the system; --cores then says which are the step's",
        false,
    ),
    (
        "thread-spec",
        "N",
        "Hardware threads left to the system",
        false,
    ),
];

/// The options that berth or clap has itself.
const NOT_OURS: &[&str] = &["binding", "help", "usage", "version"];

fn shown(name: &str) -> Option<&'static Shown> {
    SHOWN.iter().find(|shown| shown.0 == name)
}

/// The rows that `berth plan` takes, those that are shown first and in their order.
fn rows() -> &'static [&'static Row] {
    static ROWS: OnceLock<Vec<&Row>> = OnceLock::new();
    ROWS.get_or_init(|| {
        let all = of(Program::Srun, None).filter(|row| !NOT_OURS.contains(&row.name()));
        let place = |row: &&Row| SHOWN.iter().position(|shown| shown.0 == row.typed());
        let mut rows: Vec<_> = all.collect();
        rows.sort_by_key(|row| place(row).unwrap_or(usize::MAX));
        rows
    })
}

fn argument(row: &'static Row) -> Arg {
    let mut arg = Arg::new(row.typed())
        .long(row.typed())
        .help_heading("Request");
    if let Some(letter) = row.short() {
        arg = arg.short(letter);
    }
    match shown(row.typed()) {
        Some((_, value, help, in_short)) => {
            arg = arg.help(*help).hide_short_help(!in_short);
            if !value.is_empty() {
                arg = arg.value_name(*value);
            }
            arg = described(arg, row.typed(), help);
        }
        None => arg = arg.hide(true),
    }
    match row.takes() {
        // It is no flag of clap, because that would have a value in every parse.
        Takes::Nothing => arg
            .action(ArgAction::Append)
            .num_args(0)
            .default_missing_value(""),
        // It takes any word, as getopt does.
        Takes::Value => arg.action(ArgAction::Append).allow_hyphen_values(true),
        Takes::Attached => arg
            .action(ArgAction::Append)
            .num_args(0..=1)
            .require_equals(true)
            .default_missing_value(""),
    }
}

/// What `--help`, the man page and completions say beyond the summary.
fn described(mut arg: Arg, name: &str, help: &str) -> Arg {
    let values = values::of(name);
    let mut text = values::description(name).unwrap_or(help).to_string();
    if !values.is_empty() {
        text += "\n\nValues:";
        for value in values {
            text += &format!("\n  {}{}: {}", value.word, value.rest, value.meaning);
        }
        let parser = offered(StringValueParser::new(), values);
        arg = arg.value_parser(parser).hide_possible_values(true);
    }
    arg.long_help(text)
}

/// The options of srun that `berth plan` takes without using them.
pub(crate) fn ignored() -> impl Iterator<Item = String> {
    let unused = |row: &&&Row| shown(row.typed()).is_none() && row.typed() == row.name();
    let rows = rows().iter().filter(unused);
    rows.map(|row| format!("--{}", row.typed()))
}

impl Args for SrunOptions {
    fn augment_args(command: Command) -> Command {
        command.args(rows().iter().map(|row| argument(row)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for SrunOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let release = matches.get_one("slurm").copied().unwrap_or(Release::NEWEST);
        let typed = typed(matches);
        let unknown = Trouble::Unknown;
        let settings = typed.iter().map(|(_, row, value)| {
            let known = matches!(long(Program::Srun, Some(release), row.typed()), Found::Option(found) if found.typed() == row.typed());
            Setting {
                trouble: (!known).then_some(&unknown),
                ..Setting::new(row.name(), *value)
            }
        });
        // No option names the file that this variable names.
        let file = std::env::var(berth_srun::options::HOST_FILE).ok();
        let file = file.as_deref().map(|file| {
            Setting::new(berth_srun::options::HOST_FILE, Some(file)).from_environment()
        });
        let asked = read(file.into_iter().chain(settings), release).map_err(|why| usage(&why))?;
        one_number(&asked)?;
        Ok(Self(asked))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// srun takes a range of nodes; a plan is for one number of them.
fn one_number(asked: &Asked) -> Result<(), Error> {
    let Some(range) = asked.nodes else {
        return Ok(());
    };
    let count = || format!("a job has from 1 to {MOST_NODES} nodes");
    let why = match range.most {
        Some(most) if most == range.least && most <= MOST_NODES => return Ok(()),
        Some(most) if most == range.least => count(),
        None if range.least == 0 => count(),
        _ => "it leaves the number of nodes to slurmctld, but a plan needs one number: give it"
            .into(),
    };
    Err(said(ErrorKind::ValueValidation, format!("-N: {why}")))
}

/// A word in the form in which clap reads it as getopt does: `-m=block` has the value
/// `=block`, and `-K0` is an option with an attached value.
pub(crate) fn as_getopt(word: &str) -> Vec<String> {
    let split = || {
        let mut letters = word.strip_prefix('-')?.chars();
        let row = short(Program::Srun, None, letters.next()?)?;
        let rest = Some(letters.as_str()).filter(|rest| !rest.is_empty())?;
        match row.takes() {
            Takes::Value if rest.starts_with('=') => {
                Some(vec![format!("--{}", row.typed()), rest.to_string()])
            }
            Takes::Attached => Some(vec![format!("--{}={rest}", row.typed())]),
            _ => None,
        }
    };
    split().unwrap_or_else(|| vec![word.to_string()])
}

/// The options in the order in which they were typed, because srun reads them in that order.
pub(super) fn typed(matches: &ArgMatches) -> Vec<(usize, &'static Row, Option<&str>)> {
    let mut all = Vec::new();
    for id in matches.ids() {
        let Some(row) = rows().iter().find(|row| row.typed() == id.as_str()) else {
            continue;
        };
        let places = matches.indices_of(row.typed()).into_iter().flatten();
        let values = matches.get_many::<String>(row.typed());
        for (at, value) in places.zip(values.into_iter().flatten()) {
            let value = Some(value.as_str()).filter(|_| row.takes() != Takes::Nothing);
            all.push((at, *row, value));
        }
    }
    all.sort_by_key(|(at, ..)| *at);
    all
}

/// slurmctld's own limit.
const MOST_NODES: u32 = 65533;
/// Longer values are cut in messages.
const MOST_SHOWN: usize = 80;

/// srun's refusal in clap's form.
fn usage(why: &Refused) -> Error {
    match why.wrong_value() {
        Some((name, value)) => {
            let mut cut: String = value.chars().take(MOST_SHOWN).collect();
            if cut.len() < value.len() {
                cut.push('…');
            }
            let value_name = shown(name).map_or("VALUE", |shown| shown.1);
            let text = format!(
                "invalid value '{}' for '--{name} <{value_name}>': {}",
                say::one_line(&cut),
                why.why()
            );
            said(ErrorKind::ValueValidation, text)
        }
        None => said(ErrorKind::ArgumentConflict, why.to_string()),
    }
}

/// An error as clap shows its own, with the usage of this subcommand.
fn said(kind: ErrorKind, text: String) -> Error {
    let mut command = Command::new("berth plan").override_usage("berth plan [OPTIONS]");
    Error::raw(kind, text).format(&mut command)
}
