//! `berth discover`: describes the machine, for slurmd or for people. slurmd runs it as a child, so hwloc can neither
//! hang nor crash slurmd. It probes this host's devices in a child of its own with a time limit: whatever a driver or
//! the firmware does, the cores are known, and a note gives the reason why devices are unknown.

use std::io::Write;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Duration;

use berth_discover::{Discovered, Source, probe_devices};
use berth_host::machine_file::{devices_from_json, devices_to_json};
use berth_host::{MachineFile, Proof, machine_file};
use berth_placement::Device;
use nix::unistd::alarm;

use crate::args::{Devices, DiscoverArgs};
use crate::child::{self, Trouble};
use crate::{Failure, say};

/// Runs the subcommand.
///
/// # Errors
/// A machine that hwloc cannot read, or a file that cannot be written.
pub(crate) fn run(args: &DiscoverArgs) -> Result<ExitCode, Failure> {
    let source = Source::parse(&args.machine)?;
    if args.probe {
        return print(&source, args.devices);
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
    } = add(found, args.devices);
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

/// This very program, even if its file has been replaced meanwhile.
const OWN: &str = "/proc/self/exe";

/// Time that probing gets: it takes milliseconds. slurmd gives the whole discovery three times this.
const LIMIT: Duration = Duration::from_secs(10);

/// Longest list read, in bytes: 4096 devices with several names each need less.
const MOST_BYTES: u64 = 16 << 20;

/// Adds the devices of this host, or drops them if they are not requested.
pub(crate) fn add(mut found: Discovered, wanted: Devices) -> Discovered {
    let devices = match (wanted, found.unprobed) {
        (Devices::Off, _) => Ok(Vec::new()),
        (_, false) => return found,
        (Devices::Sysfs | Devices::Vendor, true) => probe(wanted),
    };
    let with = devices.and_then(|devices| {
        let machine = found.machine.with_devices(devices);
        machine.map_err(|why| why.to_string())
    });
    match with {
        Ok(machine) => (found.machine, found.unprobed) = (machine, false),
        Err(why) => found.notes.push(format!("devices are unknown: {why}")),
    }
    found
}

/// The child's part: looks for devices and prints them.
///
/// # Errors
/// An error of hwloc.
pub(crate) fn print(source: &Source, wanted: Devices) -> Result<ExitCode, Failure> {
    // Where nobody is left to end this process, it ends itself.
    alarm::set(LIMIT.as_secs() as u32 + 5);
    let devices = probe_devices(source, wanted == Devices::Vendor)?;
    let mut out = say::output();
    writeln!(out, "{}", devices_to_json(&devices)?)?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

fn probe(wanted: Devices) -> Result<Vec<Device>, String> {
    let place = match wanted {
        Devices::Vendor => "--devices=vendor",
        Devices::Sysfs | Devices::Off => "--devices=sysfs",
    };
    probe_with(Path::new(OWN), &["discover", "--probe", place], LIMIT)
}

/// Runs a program that prints devices, and waits no longer than `limit` for them.
fn probe_with(program: &Path, words: &[&str], limit: Duration) -> Result<Vec<Device>, String> {
    let text = child::run(Command::new(program).args(words), MOST_BYTES, limit);
    let text = text.map_err(|why| match why {
        Trouble::Start(why) => format!("probing them could not be started: {why}"),
        Trouble::Slow => format!("probing them took more than {} s", limit.as_secs_f32()),
        Trouble::Failed(status) => format!("probing them failed ({status})"),
        Trouble::Long => format!("probing them gave more than {MOST_BYTES} bytes"),
    })?;
    devices_from_json(&text).map_err(|why| format!("probing them gave no list: {why}"))
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    /// The devices that a shell script of this text finds.
    fn script(text: &str, limit: Duration) -> Result<Vec<Device>, String> {
        probe_with(Path::new("/bin/sh"), &["-c", text], limit)
    }

    #[test]
    fn a_child_that_does_not_answer_is_given_up() {
        let (long, short) = (Duration::from_secs(60), Duration::from_millis(200));
        for (text, limit, reason) in [
            ("exec sleep 3", short, "took more than 0.2 s"),
            // It answers and goes on, or somebody else keeps its pipe.
            ("echo '[]'; exec >&-; exec sleep 3", short, "took more"),
            ("sleep 3 & exit 0", short, "took more"),
            ("kill -SEGV $$", long, "signal: 11"),
            ("exit 3", long, "exit status: 3"),
            ("true", long, "gave no list"),
            ("echo '[{}]'", long, "gave no list"),
            (
                "echo '[{\"kind\":\"gpu\",\"cpus\":\"x\"}]'",
                long,
                "gave no list",
            ),
        ] {
            let since = Instant::now();
            let why = script(text, limit).unwrap_err();
            assert!(why.contains(reason), "{text}: {why}");
            assert!(since.elapsed() < long, "{text}");
        }
        let found = script("echo '[{\"kind\":\"gpu\",\"cpus\":\"0-1\"}]'", long).unwrap();
        assert_eq!(found[0].cpus.to_string(), "0-1");
    }
}
