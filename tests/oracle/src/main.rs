//! `berth-oracle`: our object's hooks beside those of the distribution's task/affinity, on launches that are made at
//! random.

#[cfg(not(address_sanitizer))]
mod allocator;

use std::path::PathBuf;
use std::process::ExitCode;

use berth_oracle::comparison::Comparison;
use berth_oracle::messages::{KINDS, Messages};
use berth_oracle::run::Run;
use berth_oracle::{by_fix, calls, object};
use clap::Parser;

/// Nothing to do this with here; automake's number for a test that was not run.
const NOT_HERE: u8 = 77;

/// Prove what our hooks do on launches that are made at random
#[derive(Parser)]
#[command(
    version,
    after_help = "Examples:
  berth-oracle compare --requests 20000 --seed 1              compare
  berth-oracle compare --requests 20000 --seed 1 --first 7    only its request 7, which is shown

Environment: BERTH_OBJECT and BERTH_COMMAND name the built object and command."
)]
enum Command {
    /// Compare the launch hook with the distribution's task/affinity
    Compare {
        /// Compare berth's default, fix by fix, instead of compat=affinity
        #[arg(long)]
        by_fix: bool,
        #[command(flatten)]
        run: Run,
    },
    /// Send whole messages such as no client sends through both hooks of slurmd, which may take 64 MB
    Messages(Run),
    /// Follow the launch hook's system calls
    Calls {
        /// The calls that it may make
        list: PathBuf,
        // The process that is followed.
        #[arg(long, hide = true, requires = "settings")]
        folder: Option<PathBuf>,
        #[arg(long, hide = true, default_value = "")]
        settings: String,
    },
}

fn main() -> ExitCode {
    let command = Command::parse();
    if let Err(why) = object::slurm().and_then(|_| object::genuine()) {
        eprintln!("berth-oracle: {why}");
        return ExitCode::from(NOT_HERE);
    }
    match prove(&command) {
        Ok(is_right) => ExitCode::from(u8::from(!is_right)),
        Err(why) => {
            eprintln!("berth-oracle: {why}");
            ExitCode::from(2)
        }
    }
}

/// Whether nothing is wrong.
fn prove(command: &Command) -> Result<bool, String> {
    let layout = object::slurm()?.layout;
    match command {
        Command::Compare { by_fix, run } => {
            let by_fix = *by_fix;
            let Some(report) = run.prove(&Comparison { by_fix, layout })? else {
                return Ok(true);
            };
            let missing = match by_fix {
                true => by_fix::missing(&report),
                false => Vec::new(),
            };
            missing.iter().for_each(|why| println!("  wrong: {why}"));
            Ok(report.wrong() == 0 && missing.is_empty())
        }
        Command::Messages(run) => {
            let Some(report) = run.prove(&Messages(layout))? else {
                return Ok(true);
            };
            let missing: Vec<_> = KINDS.iter().filter(|kind| report.of(kind) == 0).collect();
            missing
                .iter()
                .for_each(|kind| println!("  wrong: no {kind}"));
            Ok(report.wrong() == 0 && missing.is_empty())
        }
        Command::Calls {
            list,
            folder,
            settings,
        } => match folder {
            Some(folder) => calls::call(folder, settings).map(|()| true),
            None => calls::prove(list),
        },
    }
}
