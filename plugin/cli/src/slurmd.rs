//! Finds the slurmd that announced itself, among processes that any user can name as he likes: only
//! root's count, by the number and start that were announced. What only root can see, the program
//! and whether berth's object is mapped in it, is asked where root asks.

use std::fs;
use std::path::Path;

use berth_host::announcement::ticks_a_second;
use berth_host::kernel_text::read;
use berth_host::ledger::Process;
use berth_host::online::boot_id;
use berth_site::Announcement;
use nix::unistd::Uid;

/// Seconds after it has announced itself in which slurmd may still fork into the background.
const FORK: i64 = 60;
/// The object's usual name, where the announcement has none.
const OBJECT: &str = "task_berth.so";

/// The state of the slurmd that announced itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SlurmdStatus {
    /// It runs.
    Running(i32),
    /// A slurmd runs in its place, and has no berth in it.
    WithoutBerth(i32),
    /// Another slurmd was started later for this node, and has not announced itself.
    Unannounced(i32),
    /// None runs.
    Nothing,
}

/// A process that may be it.
#[derive(Clone, Copy)]
struct Candidate {
    process: Process,
    parent: i32,
}

/// Looks for it.
pub(crate) fn find(words: &Announcement) -> SlurmdStatus {
    let same_boot = words.boot_id.is_empty() || boot_id().is_ok_and(|now| now == words.boot_id);
    let announced = Process {
        pid: words.pid,
        start: words.start,
    };
    let all = candidates(words);
    let exact = all.iter().find(|found| found.process == announced);
    if let Some(found) = exact.filter(|_| same_boot) {
        return with_berth(found.process.pid, words);
    }
    // A launch forks for a moment; slurmd is the one that no other of them has started.
    let is_forked = |found: &Candidate| all.iter().any(|other| other.process.pid == found.parent);
    let Some(found) = all.iter().find(|found| !is_forked(found)) else {
        return SlurmdStatus::Nothing;
    };
    let pid = found.process.pid;
    match with_berth(pid, words) {
        SlurmdStatus::Running(_) if is_another(words, found.process.start, same_boot) => {
            SlurmdStatus::Unannounced(pid)
        }
        found => found,
    }
}

/// Whether a slurmd that has another number than the announced one cannot be the same.
fn is_another(words: &Announcement, start: u64, same_boot: bool) -> bool {
    let fork = (FORK * ticks_a_second()) as u64;
    !same_boot || words.is_daemon || start > words.made.saturating_add(fork)
}

/// Root's processes with that command line, and for root with that program.
fn candidates(words: &Announcement) -> Vec<Candidate> {
    let line = words.command_line.iter().map(|word| format!("{word}\0"));
    let line: String = line.collect();
    let found = processes().filter_map(|pid| candidate(pid, &line, words));
    found.collect()
}

/// The processes of this host, by number.
pub(crate) fn processes() -> impl Iterator<Item = i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

fn candidate(pid: i32, line: &str, words: &Announcement) -> Option<Candidate> {
    let parent = parent_of_roots(pid)?;
    let found = read(format!("/proc/{pid}/cmdline")).ok()?;
    let program = |path: &Path| unmarked(&path.to_string_lossy()) == unmarked(&words.program);
    let same = match fs::read_link(format!("/proc/{pid}/exe")) {
        Ok(path) => words.program.is_empty() || program(&path),
        Err(_) => !Uid::effective().is_root(),
    };
    let process = Process::of(pid).filter(|_| same && found == line)?;
    process.is_alive().then_some(Candidate { process, parent })
}

/// The parent of a process of which every user number is root's: a user who runs a program with
/// root's rights under slurmd's name keeps his own real number.
pub(crate) fn parent_of_roots(pid: i32) -> Option<i32> {
    let text = read(format!("/proc/{pid}/status")).ok()?;
    let value = |name: &str| text.lines().find_map(|line| line.strip_prefix(name));
    let mut numbers = value("Uid:")?.split_whitespace();
    let is_roots = numbers.clone().count() == 4 && numbers.all(|number| number == "0");
    is_roots.then_some(value("PPid:")?.trim().parse().ok()?)
}

/// Whether berth's object is mapped in a process. Only root may look; others take it as announced.
fn with_berth(pid: i32, words: &Announcement) -> SlurmdStatus {
    if !Uid::effective().is_root() {
        return SlurmdStatus::Running(pid);
    }
    let Ok(maps) = read(format!("/proc/{pid}/maps")) else {
        return SlurmdStatus::Nothing;
    };
    // Its folder may have been renamed since, its name hardly.
    let name = Path::new(unmarked(&words.object)).file_name();
    let name = name.map_or(OBJECT.into(), |name| name.to_string_lossy());
    let is_mapped = maps.lines().any(|line| {
        let path = unmarked(line);
        path.strip_suffix(&*name)
            .is_some_and(|folder| folder.ends_with('/'))
    });
    match is_mapped {
        true => SlurmdStatus::Running(pid),
        false => SlurmdStatus::WithoutBerth(pid),
    }
}

/// A path without the kernel's mark for a file that was replaced or removed, as by an update.
fn unmarked(path: &str) -> &str {
    path.strip_suffix(" (deleted)").unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slurmd_that_began_long_after_the_announcement_is_another() {
        let late = (1000 * ticks_a_second()) as u64;
        let early = Announcement {
            made: ticks_a_second() as u64,
            ..Announcement::default()
        };
        assert!(is_another(&early, late, true));
        assert!(!is_another(&early, early.made, true));
        assert!(is_another(&early, early.made, false));
    }
}
