//! `berth env`: facts about a job's resources as statements for a shell, for prologs, epilogs and
//! scripts. Everything is found out before anything is printed: without an answer stdout stays empty.

mod facts;
mod form;
mod gather;
mod job_cache;
mod json;
#[cfg(test)]
mod quote_tests;
mod statements;
mod which;

use std::io::Write;
use std::process::ExitCode;

use crate::Failure;
use crate::args::{EnvArgs, EnvFormat};
use crate::say;

/// Runs the subcommand.
///
/// # Errors
/// slurmctld gave no answer, or the job has nothing where it was looked for.
pub(crate) fn run(args: &EnvArgs) -> Result<ExitCode, Failure> {
    let job = which::job(args);
    let facts = gather::facts(args, job)?;
    let host = which::host(args, &facts)?;
    let text = match args.format {
        EnvFormat::Json => json::text(args.mode(), &facts, host)?,
        _ => form::text(args.format, &statements::of(args.mode(), &facts, host)),
    };
    if text.contains('\u{fffd}') {
        say::note("bytes that are no UTF-8 text are printed as U+FFFD");
    }
    let mut out = say::output();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}
