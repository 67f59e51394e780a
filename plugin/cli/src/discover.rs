//! `berth discover`: the machine written down, for slurmd or for people.
//! slurmd runs it as a child, so that nothing of hwloc can hang or crash slurmd.

use std::io::Write;
use std::process::ExitCode;

use berth_discover::Source;
use berth_host::{MachineFile, Proof, machine_file};

use crate::Failure;
use crate::args::DiscoverArgs;
use crate::say;

/// Runs the subcommand.
///
/// # Errors
/// A machine that hwloc cannot read, or a file that cannot be written.
pub(crate) fn run(args: &DiscoverArgs) -> Result<ExitCode, Failure> {
    // Before hwloc looks: if a CPU goes away meanwhile, the file is stale, not wrong.
    let proof = Proof::now()?;
    let found = berth_discover::discover(&Source::parse(&args.machine)?)?;
    let file = MachineFile::new(found.machine, found.this_system, found.source, proof);
    match &args.output {
        Some(path) => machine_file::write(path, &file)?,
        None => {
            let mut out = say::output();
            writeln!(out, "{}", file.to_json()?)?;
            out.flush()?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
