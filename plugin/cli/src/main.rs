//! The command `berth`: what would I get, what do I have, and why? Each subcommand has a file.
//! Exit codes: 0 the step would run, 1 it would be refused or something failed, 2 usage or an input that
//! cannot be read.
#![forbid(unsafe_code)]

mod args;
mod check;
mod child;
mod discover;
mod doctor;
mod env;
mod man;
mod node;
mod plan;
mod report;
mod say;
mod site_files;
mod slurmd;
mod status;
mod topo;
mod tune;
mod world;

use std::ffi::OsString;
use std::io;
use std::process::ExitCode;

use berth_answer::args::{as_getopt, shortened};
use berth_answer::lines::NoAnswer;
use berth_discover::DiscoverError;
use clap::Parser;

use crate::args::{Cli, Command, typed_command, usage};

pub(crate) use berth_answer::{Failure, Unreadable};

// A failure: its text goes to stderr. The exit code is 2 for an input that cannot be read, else 1.

/// The exit code of a wrong usage.
const USAGE: u8 = 2;

/// The exit code of a command that has found something wrong, or nothing.
pub(crate) fn exit_code(is_wrong: bool) -> ExitCode {
    ExitCode::from(u8::from(is_wrong))
}

/// Whether the failure is an input's.
pub(crate) fn is_unreadable(why: &(dyn std::error::Error + 'static)) -> bool {
    let of_machine = why.downcast_ref::<DiscoverError>();
    let is_failed = matches!(why.downcast_ref(), Some(NoAnswer::Failed(_)));
    is_failed || why.is::<Unreadable>() || of_machine.is_some_and(DiscoverError::is_input)
}

fn main() -> ExitCode {
    berth_host::spawn::begin_as_child();
    let cli = Cli::try_parse_from(words()).unwrap_or_else(|why| shortened(why).exit());
    say::use_ascii(cli.ascii);
    let done = match &cli.command {
        Command::Plan(args) => plan::run(args),
        Command::Tune(args) => tune::run(args),
        Command::Topo(args) => topo::run(args),
        Command::Status(args) => status::run(args),
        Command::Check(args) => check::run(args),
        Command::Report(args) => report::run(args),
        Command::Env(args) => env::run(args),
        Command::Doctor(args) => doctor::run(args),
        Command::Node(args) => node::run(args),
        Command::Reload(args) => site_files::run(args),
        Command::Discover(args) => discover::run(args),
        Command::Completions(args) => man::completions(args),
        Command::Man(args) => man::run(args),
    };
    match done {
        Ok(code) => code,
        // The reader has closed the pipe, as `| head` does, and needs no more.
        Err(why) if is_closed_pipe(&*why) => ExitCode::SUCCESS,
        Err(why) => match why.downcast_ref() {
            Some(NoAnswer::Usage(why)) => usage(why).exit(),
            Some(NoAnswer::Refused(why)) => {
                say::refused(why);
                ExitCode::FAILURE
            }
            _ => {
                say::failed(&why.to_string());
                ExitCode::from(if is_unreadable(&*why) { USAGE } else { 1 })
            }
        },
    }
}

/// The words that were typed; those of `berth plan` are options of srun, or end in its whole line, as those of `berth
/// tune` do.
fn words() -> Vec<OsString> {
    let mut words: Vec<_> = std::env::args_os().collect();
    let command = typed_command().unwrap_or_default();
    if command != "plan" && command != "tune" {
        return words;
    }
    let line = berth_answer::reader::line_in(&mut words);
    if command == "tune" {
        return words.into_iter().chain(line).collect();
    }
    let split = |word: OsString| match word.to_str() {
        Some(text) => as_getopt(text).into_iter().map(OsString::from).collect(),
        None => vec![word],
    };
    let options = words.into_iter().flat_map(split);
    options.chain(line).collect()
}

fn is_closed_pipe(why: &(dyn std::error::Error + 'static)) -> bool {
    let io = why.downcast_ref::<io::Error>().map(io::Error::kind);
    let json = why.downcast_ref::<serde_json::Error>();
    io.or_else(|| json.and_then(serde_json::Error::io_error_kind))
        == Some(io::ErrorKind::BrokenPipe)
}
