//! `berth man DIR`: the man pages. Those of the command come from the same definitions as --help;
//! `task_berth(8)` and `berth-binding(7)` are files, which are part of the command.

mod page;

use std::fs;
use std::process::ExitCode;

use clap::CommandFactory;

use crate::Failure;
use crate::args::{Cli, ManArgs};

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
