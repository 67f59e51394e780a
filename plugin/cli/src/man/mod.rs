//! `berth man DIR`: the man pages. Those of the command come from the same definitions as --help;
//! `task_berth(8)` and `berth-binding(7)` are files, which are part of the command.
//!
//! `berth completions SHELL`: from the same definitions as --help.

use std::fs;
use std::io::Write;
use std::process::ExitCode;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::args::{Cli, CompletionArgs, ManArgs};
use crate::{Failure, say};

mod page;

/// Pages that are written by hand.
const FILES: [(&str, &str); 2] = [
    ("task_berth.8", include_str!("../../../man/task_berth.8")),
    (
        "berth-binding.7",
        include_str!("../../../man/berth-binding.7"),
    ),
];

/// Writes `berth.1`, a page for each subcommand, and the others.
///
/// # Errors
/// A folder that cannot be written to.
pub(crate) fn run(args: &ManArgs) -> Result<ExitCode, Failure> {
    let write = |name: &str, text: &str| {
        let path = args.dir.join(name);
        fs::write(&path, text).map_err(|why| format!("{}: {why}", path.display()))
    };
    fs::create_dir_all(&args.dir).map_err(|why| format!("{}: {why}", args.dir.display()))?;
    let mut command = Cli::command();
    command.build();
    write("berth.1", &page::render(&command, "berth"))?;
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        if sub.get_name() != "help" {
            let name = format!("berth-{}", sub.get_name());
            write(&format!("{name}.1"), &page::render(sub, &name))?;
        }
    }
    for (name, text) in FILES {
        write(name, text)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// What bash needs for values such as `--cpu-bind=map_cpu:`.
const BASH: &str = include_str!("../completions.bash");

/// Prints them.
///
/// # Errors
/// An output that cannot be written.
pub(crate) fn completions(args: &CompletionArgs) -> Result<ExitCode, Failure> {
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
