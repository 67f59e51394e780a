//! `berth discover`: describes the machine, for slurmd or for people.
//! slurmd runs it as a child, so hwloc can neither hang nor crash slurmd.

use std::io::Write;
use std::process::ExitCode;

use berth_discover::{Discovered, Source};
use berth_host::{MachineFile, Proof, machine_file};

use crate::Failure;
use crate::args::DiscoverArgs;
use crate::{devices, say};

/// Runs the subcommand.
///
/// # Errors
/// A machine that hwloc cannot read, or a file that cannot be written.
pub(crate) fn run(args: &DiscoverArgs) -> Result<ExitCode, Failure> {
    let source = Source::parse(&args.machine)?;
    if args.probe {
        return devices::print(&source, args.devices);
    }
    // Before hwloc looks: if a CPU goes away meanwhile, the file is stale, not wrong.
    let proof = Proof::now()?;
    let found = berth_discover::discover(&source)?;
    let Discovered {
        machine,
        this_system,
        source,
        notes,
        ..
    } = devices::add(found, args.devices);
    let file = MachineFile {
        notes,
        ..MachineFile::new(machine, this_system, source, proof)
    };
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
