//! This host's devices, probed by a child with a time limit: whatever a driver or the firmware does,
//! the cores are known.
//! In: a machine as discovered. Out: the same with its devices, or with a note that gives the reason
//! why they are unknown.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use berth_discover::{Discovered, Source, probe_devices};
use berth_host::machine_file::{devices_from_json, devices_to_json};
use berth_placement::Device;
use nix::unistd::alarm;

use crate::args::Devices;
use crate::{Failure, say};

/// This very program, even if its file has been replaced meanwhile.
const OWN: &str = "/proc/self/exe";

/// Time that probing gets: it takes milliseconds. slurmd gives the whole discovery three times this.
const LIMIT: Duration = Duration::from_secs(10);

/// Time that a killed child gets to disappear; one that is stuck in the kernel never does.
const AFTER_KILL: Duration = Duration::from_secs(1);

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
/// What hwloc cannot do.
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
    let deadline = Instant::now() + limit;
    let mut child = Command::new(program)
        .args(words)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|why| format!("probing them could not be started: {why}"))?;
    let text = read_aside(&mut child).recv_timeout(limit);
    let ended = wait(&mut child, deadline);
    let Some((ended, text)) = ended.zip(text.ok()) else {
        let seconds = limit.as_secs_f32();
        end(&mut child);
        return Err(format!("probing them took more than {seconds} s"));
    };
    if !ended.success() {
        return Err(format!("probing them failed ({ended})"));
    }
    devices_from_json(&text).map_err(|why| format!("probing them gave no list: {why}"))
}

/// Reads what the child prints. Not in this thread: a pipe may stay open when the child has ended.
fn read_aside(child: &mut Child) -> Receiver<Vec<u8>> {
    let (told, heard) = mpsc::channel();
    if let Some(pipe) = child.stdout.take() {
        thread::spawn(move || {
            let mut text = Vec::new();
            let _ = pipe.take(MOST_BYTES).read_to_end(&mut text);
            let _ = told.send(text);
        });
    }
    heard
}

fn wait(child: &mut Child, deadline: Instant) -> Option<std::process::ExitStatus> {
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) if Instant::now() < deadline => thread::sleep(Duration::from_millis(2)),
            Ok(None) | Err(_) => return None,
        }
    }
}

/// Ends a child that takes too long, and does not wait for one that cannot be ended.
fn end(child: &mut Child) {
    let _ = child.kill();
    wait(child, Instant::now() + AFTER_KILL);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a program leads to that is this shell script.
    fn script(text: &str, limit: Duration) -> Result<Vec<Device>, String> {
        probe_with(Path::new("/bin/sh"), &["-c", text], limit)
    }

    #[test]
    fn a_child_that_does_not_answer_is_given_up() {
        let (long, short) = (Duration::from_secs(60), Duration::from_millis(200));
        for (text, limit, told) in [
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
            assert!(why.contains(told), "{text}: {why}");
            assert!(since.elapsed() < long, "{text}");
        }
        let found = script("echo '[{\"kind\":\"gpu\",\"cpus\":\"0-1\"}]'", long).unwrap();
        assert_eq!(found[0].cpus.to_string(), "0-1");
    }
}
