//! `berth env`: facts about a job's resources as statements for a shell, for prologs, epilogs and
//! scripts. Everything is found out before anything is printed: without an answer stdout stays empty.

mod gather;
mod job_cache;
#[cfg(test)]
mod quote_tests;
mod statements;

use std::io::Write;
use std::process::ExitCode;

use clap::CommandFactory;
use clap::error::ErrorKind;

use crate::args::{Cli, EnvArgs, EnvFormat, JobName};
use crate::{Failure, say, world};
use gather::{Facts, Host};

/// Runs the subcommand.
///
/// # Errors
/// slurmctld gave no answer, or the job has nothing where it was looked for.
pub(crate) fn run(args: &EnvArgs) -> Result<ExitCode, Failure> {
    let job = job(args);
    let facts = gather::facts(args, job)?;
    let host = host(args, &facts)?;
    let text = match args.format {
        EnvFormat::Json => statements::json(args.mode(), &facts, host)?,
        _ => statements::in_shell(args.format, &statements::of(args.mode(), &facts, host)),
    };
    if text.contains('\u{fffd}') {
        say::note("bytes that are no UTF-8 text are printed as U+FFFD");
    }
    let mut out = say::output();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// The job: the one that the option names, else the one in which this process runs. The kernel's cgroup
/// is believed first; in a prolog and an epilog slurmd's variable tells it. Outside of a job this ends
/// the program with a usage error.
fn job(args: &EnvArgs) -> JobName {
    if let Some(named) = args.jobid {
        return named;
    }
    let confined = world::job::confined().map(|found| found.job);
    let found = confined.or_else(world::job::hinted);
    found.map(JobName::Job).unwrap_or_else(|| {
        let why = "berth env runs in no job here; run it in a job, or name a job with --jobid";
        let mut command = Cli::command();
        command.build();
        let sub = command.find_subcommand_mut("env");
        let command = sub.expect("berth env is a subcommand");
        command
            .error(ErrorKind::MissingRequiredArgument, why)
            .exit()
    })
}

/// The only host whose values are wanted, if the options say so.
///
/// # Errors
/// The job has nothing there.
fn host<'a>(args: &EnvArgs, facts: &'a Facts) -> Result<Option<&'a Host>, Failure> {
    let name = match (&args.host, args.only) {
        (Some(name), _) => name,
        (None, true) => &facts.here,
        (None, false) => return Ok(None),
    };
    let found = facts.hosts.iter().find(|host| host.name == *name);
    let names = || {
        let names = facts.hosts.iter().map(|host| host.name.as_str());
        names.collect::<Vec<_>>().join(",")
    };
    let found = found.ok_or_else(|| {
        format!(
            "job {} has nothing on host {name}; its hosts are {}",
            facts.job.id,
            names()
        )
    })?;
    Ok(Some(found))
}
