//! `berth completions SHELL`: from the same definitions as --help.

use std::io::Write;
use std::process::ExitCode;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::args::{Cli, CompletionArgs};
use crate::{Failure, say};

/// What bash needs for values such as `--cpu-bind=map_cpu:`.
const BASH: &str = include_str!("completions.bash");

/// Prints them.
///
/// # Errors
/// An output that cannot be written.
pub(crate) fn run(args: &CompletionArgs) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "berth", &mut script);
    let mut out = say::output();
    out.write_all(&script)?;
    if args.shell == Shell::Bash {
        out.write_all(BASH.as_bytes())?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}
