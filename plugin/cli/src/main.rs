//! The command `berth`: what would I get, and why? One subcommand a file.
//! Exit codes: 0 the step would run, 1 it would be refused or something failed, 2 usage.

mod args;
mod batch;
mod discover;
mod man;
mod plan;
mod ranges;
mod request;
mod srun_options;
mod status;
mod table;

use std::process::ExitCode;

use clap::Parser;

use crate::args::{Cli, Command};

/// A failure that is not a usage error: its text goes to stderr, exit code 1.
pub(crate) type Failure = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let done = match &cli.command {
        Command::Plan(args) => plan::run(args),
        Command::Discover(args) => discover::run(args),
        Command::Status(args) => status::run(args),
        Command::Man(args) => man::run(args),
    };
    match done {
        Ok(code) => code,
        Err(why) => {
            eprintln!("berth: {why}");
            ExitCode::FAILURE
        }
    }
}
