//! `berth completions SHELL`: from the same definitions as --help.

use std::io::Write;
use std::process::ExitCode;

use clap::CommandFactory;

use crate::Failure;
use crate::args::{Cli, CompletionArgs};
use crate::say;

/// Prints them.
///
/// # Errors
/// An output that cannot be written.
pub(crate) fn run(args: &CompletionArgs) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "berth", &mut script);
    let mut out = say::output();
    out.write_all(&script)?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}
