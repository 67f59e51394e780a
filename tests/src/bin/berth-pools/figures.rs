//! The measured figures, as the picture and the page need them: one line for each, in the folder that `ci/vm` keeps.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

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
}

/// Adds a line of words.
pub(crate) fn add(words: &[&str]) {
    let opened = OpenOptions::new().create(true).append(true).open(file());
    let written = opened.and_then(|mut file| writeln!(file, "{}", words.join(" ")));
    written.expect("the file of figures");
}
