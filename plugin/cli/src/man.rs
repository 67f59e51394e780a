//! `berth man DIR`: the man pages, from the same definitions as --help.

use std::fs;
use std::process::ExitCode;

use clap::CommandFactory;

use crate::Failure;
use crate::args::{Cli, ManArgs};

/// Writes `berth.1` and a page for each subcommand.
///
/// # Errors
/// A folder that cannot be written to.
pub(crate) fn run(args: &ManArgs) -> Result<ExitCode, Failure> {
    fs::create_dir_all(&args.dir).map_err(|why| format!("{}: {why}", args.dir.display()))?;
    clap_mangen::generate_to(Cli::command(), &args.dir)?;
    Ok(ExitCode::SUCCESS)
}
