//! The arguments of `berth env`; its short options are those of Grid Engine sites' `sge-rsrc`.

use clap::{Args, ValueEnum};
use derive_more::Display;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  eval \"$(berth env)\"                        in a bash script: arrays with one value per host
  eval \"$(berth env --only --format sh)\"     in sh: the values of this host
  eval \"`berth env --format csh`\"            in csh: numbered names
  berth env --mode prolog --only             in a prolog, see slurm-conf-examples/env
  berth env --jobid 12_3 --format json       a task of an array, for other programs
Exit code: 0 the statements were printed, 1 nothing was printed because slurmctld did not answer or
the job has nothing there, 2 a wrong option or no job.")]
pub(crate) struct EnvArgs {
    /// Names of the variables, and where the facts come from
    #[arg(short, long, value_name = "MODE", default_value = "userenv")]
    pub mode: EnvMode,
    /// The same as --mode prolog
    #[arg(short, long, conflicts_with_all = ["mode", "epilog"])]
    pub prolog: bool,
    /// The same as --mode epilog
    #[arg(short, long, conflicts_with = "mode")]
    pub epilog: bool,
    /// Print this host's values only, not arrays
    #[arg(short, long, conflicts_with = "host")]
    pub only: bool,
    /// Print the values of this host only, not arrays
    #[arg(short = 'H', long, value_name = "NAME")]
    pub host: Option<String>,
    /// The job: 12, 12_3 (task of an array) or 12+1 (component) [default: the one this runs in]
    #[arg(short, long, value_name = "ID", value_parser = job_name)]
    pub jobid: Option<JobName>,
    /// Form of the output
    #[arg(long, value_name = "FORMAT", default_value = "bash")]
    pub format: EnvFormat,
}

impl EnvArgs {
    /// The mode, by whichever option gives it.
    pub(crate) fn mode(&self) -> EnvMode {
        match () {
            () if self.prolog => EnvMode::Prolog,
            () if self.epilog => EnvMode::Epilog,
            () => self.mode,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum EnvMode {
    /// BERTH_PROLOG_*, and lines for the log; asks slurmctld and keeps its answer
    Prolog,
    /// BERTH_EPILOG_*, from what the prolog and slurmstepd have kept
    Epilog,
    /// BERTH_RESOURCE_*
    Userenv,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum EnvFormat {
    /// Arrays, or scalars with --only and --host
    Bash,
    /// Numbered names, such as BERTH_RESOURCE_CPUS_0
    Sh,
    /// The same for csh and tcsh
    Csh,
    /// For other programs
    Json,
    /// The lines that Slurm reads from a TaskProlog
    Taskprolog,
}

/// A job as Slurm writes it.
#[derive(Clone, Copy, Debug, Display, PartialEq, Eq)]
pub(crate) enum JobName {
    /// `12`
    Job(u32),
    /// `12_3`
    #[display("{_0}_{_1}")]
    Task(u32, u32),
    /// `12+1`
    #[display("{_0}+{_1}")]
    Component(u32, u32),
}

fn job_name(text: &str) -> Result<JobName, String> {
    let number = |text: &str| {
        let digits = text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse::<u32>().ok().filter(|_| digits)
    };
    let pair = |sign| {
        let (one, two) = text.split_once(sign)?;
        Some((number(one)?, number(two)?))
    };
    let found = number(text).map(JobName::Job);
    let found = found.or_else(|| pair('_').map(|(array, task)| JobName::Task(array, task)));
    let found = found.or_else(|| pair('+').map(|(job, part)| JobName::Component(job, part)));
    found.ok_or_else(|| "a job's number is expected, such as 12, 12_3 or 12+1".into())
}

#[cfg(test)]
mod tests {
    use super::{JobName, job_name};

    #[test]
    fn jobs_are_named_as_slurm_does() {
        for (text, job) in [
            ("12", JobName::Job(12)),
            ("12_3", JobName::Task(12, 3)),
            ("12+1", JobName::Component(12, 1)),
        ] {
            assert_eq!(job_name(text), Ok(job));
            assert_eq!(job.to_string(), text);
        }
        for text in [
            "",
            "+12",
            "-1",
            "12_",
            "_3",
            "12_3_4",
            "12.0",
            "1 2",
            "99999999999",
            "12;x",
        ] {
            assert!(job_name(text).is_err(), "{text}");
        }
    }
}
