//! What is still there of jobs that should have ended, and what it waits for: for whoever reads why a node was drained.

use std::fs;
use std::path::{Path, PathBuf};

/// Lines that are printed.
const MOST: usize = 60;

/// Prints each thread that is still in a job's cgroup.
pub(crate) fn print() {
    let mut folders = Vec::new();
    gather(Path::new("/sys/fs/cgroup"), &mut folders);
    let all: Vec<_> = folders.iter().flat_map(|folder| threads(folder)).collect();
    println!("  still there: {} threads of jobs", all.len());
    for line in all.iter().take(MOST) {
        println!("    {line}");
    }
}

/// The folders of jobs, with all below.
fn gather(folder: &Path, found: &mut Vec<PathBuf>) {
    if folder.components().any(|part| is_job(part.as_os_str())) {
        found.push(folder.into());
    }
    for below in fs::read_dir(folder).into_iter().flatten().flatten() {
        if below.path().is_dir() {
            gather(&below.path(), found);
        }
    }
}

fn is_job(name: &std::ffi::OsStr) -> bool {
    name.to_string_lossy().starts_with("job_")
}

fn threads(folder: &Path) -> Vec<String> {
    let text = fs::read_to_string(folder.join("cgroup.threads")).unwrap_or_default();
    let place = folder.strip_prefix("/sys/fs/cgroup").unwrap_or(folder);
    let place = place.display().to_string();
    let place = place.split_once("/job_").map_or("", |(_, place)| place);
    let lines = text.lines().map(|thread| line(thread, place));
    lines.collect()
}

/// A thread's place, its name, and the kernel's words for its state, its signals and its turns.
fn line(thread: &str, place: &str) -> String {
    let read = |name: &str| fs::read_to_string(format!("/proc/{thread}/{name}"));
    let status = read("status").unwrap_or_default();
    let word = |name: &str| {
        let mut lines = status.lines();
        let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        value.unwrap_or_default().trim().to_owned()
    };
    let stat = read("stat").unwrap_or_default();
    let fields: Vec<_> = stat
        .rsplit(')')
        .next()
        .map_or_else(Vec::new, |rest| rest.split_whitespace().collect());
    let field = |number: usize| fields.get(number).copied().unwrap_or("?");
    let stack = read("stack").unwrap_or_default();
    let stack: Vec<_> = stack
        .lines()
        .take(3)
        .filter_map(|line| line.split(' ').nth(1))
        .collect();
    format!(
        "{thread} job_{place} {} {}, policy {} of priority {}, CPU {}, killed {}/{}, in turns of (ns, ns, count) {}, {}",
        word("Name"),
        word("State"),
        field(38),
        field(37),
        field(36),
        word("SigPnd"),
        word("ShdPnd"),
        read("schedstat").unwrap_or_default().trim(),
        stack.join(" < "),
    )
}
