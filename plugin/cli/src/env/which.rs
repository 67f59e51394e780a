//! Which job and which host the facts are about.

use clap::CommandFactory;
use clap::error::ErrorKind;

use super::facts::{Facts, Host};
use crate::Failure;
use crate::args::{Cli, EnvArgs, JobName};
use crate::here;

/// The job: the one that the option names, else the one in which this process runs. The kernel's cgroup
/// is believed first; in a prolog and an epilog slurmd's variable tells it. Outside of a job this ends
/// the program with a usage error.
pub(super) fn job(args: &EnvArgs) -> JobName {
    if let Some(named) = args.jobid {
        return named;
    }
    let confined = here::job::confined().map(|found| found.job);
    let found = confined.or_else(here::job::hinted);
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
pub(super) fn host<'a>(args: &EnvArgs, facts: &'a Facts) -> Result<Option<&'a Host>, Failure> {
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
