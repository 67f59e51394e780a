//! The measured figures, as the picture and the page need them: one line for each, in the folder that `ci/vm` keeps.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

/// What the numbers of the lines are.
const LEGEND: &str = "\
CLASS BESIDE ASKED SCALED LEAST RAW LOST THERE: a pool job of ASKED CPUs beside other jobs; CLASS none: outside of its \
pool on a node with pools; bare: on a node without pools
RAW: its CPU time by (ASKED x time); SCALED: its CPU time by the time that its CPUs delivered to jobs
LOST: CPUs of its own that no job had; THERE: CPUs of its own that normal jobs had; LEAST: all CPUs of the normal job \
that had least
scancel CLASS RECORD BEFORE PROCESSES BEFORE: seconds until Slurm's record and the processes went, and beside no pool";

fn file() -> PathBuf {
    let folder = std::env::var_os("BERTH_VM_OUT").expect("a machine of ci/vm");
    PathBuf::from(folder).join("pools.txt")
}

/// The first lines name the kernel and Slurm.
pub(crate) fn begin() {
    let _ = fs::remove_file(file());
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let slurm = Command::new("slurmd").arg("-V").output();
    let slurm = slurm.map(|done| String::from_utf8_lossy(&done.stdout).into_owned());
    let slurm = slurm.unwrap_or_default();
    add(&["kernel", kernel.trim()]);
    add(&["slurm", slurm.split_whitespace().last().unwrap_or_default()]);
    for line in LEGEND.lines() {
        add(&["#", line]);
    }
}

/// Adds a line of words.
pub(crate) fn add(words: &[&str]) {
    let opened = OpenOptions::new().create(true).append(true).open(file());
    let written = opened.and_then(|mut file| writeln!(file, "{}", words.join(" ")));
    written.expect("the file of figures");
}
