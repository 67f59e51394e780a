//! Requests run by the real srun on the machine we are on, what the kernel says of every task, and
//! what `berth plan` says of the same lines.

mod answer;
mod before;
mod planned;
mod random;

pub use answer::{Answer, ask, probe};
pub use before::{Compared, Place, different};
pub use planned::{Rules, cores_of, plans, same_as_plan};
pub use random::random_lines;

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::Command;

/// CPUs that the kernel has online, as a list.
#[must_use]
pub fn online() -> String {
    let text = fs::read_to_string("/sys/devices/system/cpu/online");
    text.unwrap_or_default().trim().into()
}

/// The lines of a file of requests.
///
/// # Panics
/// If there is no such file.
#[must_use]
pub fn requests(file: &str) -> Vec<String> {
    let text = fs::read_to_string(file).unwrap_or_else(|why| panic!("{file}: {why}"));
    text.lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(String::from)
        .collect()
}

/// Writes this machine's topology as XML.
///
/// # Panics
/// If neither of lstopo's names is a program that does it.
pub fn lstopo(file: &Path) {
    lstopo_with(&[], file);
}

/// The same with options of lstopo's.
///
/// # Panics
/// If neither of lstopo's names is a program that does it.
pub fn lstopo_with(options: &[&OsStr], file: &Path) {
    let program = ["lstopo-no-graphics", "lstopo"];
    let done = program.iter().any(|program| {
        let status = Command::new(program)
            .args(options)
            .args(["--of", "xml", "--force"])
            .arg(file)
            .status();
        status.is_ok_and(|status| status.success())
    });
    assert!(done, "lstopo wrote no {}", file.display());
}
