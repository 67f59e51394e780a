//! The threads of a task's program and of the processes that it started: which of them work, which
//! a library started for itself, and which have done next to nothing.
//! In: a process. Out: its threads, by what the kernel says about each. Every read has a bound.

use std::collections::BTreeMap;
use std::fs;

use berth_host::affinity::affinity_from_status;
use berth_host::kernel_text;
use berth_placement::CpuSet;

/// More processes and threads than the program of one task has.
const MOST_PROCESSES: usize = 1024;
const MOST_THREADS: usize = 8192;
/// Names that libraries give to threads of their own: UCX (`async`, `fuse`, `stats`), CUDA, NCCL
/// (where NCCL_SET_THREAD_NAME=1), and the kernel's own for io_uring. The names end with a `*`
/// where more follows. Open MPI, PMIx and MPICH name none; what theirs did shows.
const HELPERS: &[&str] = &[
    "async",
    "fuse",
    "stats",
    "cuda-EvtHandlr",
    "NCCL *",
    "iou-wrk-*",
    "iou-sqp-*",
];
/// Clock ticks of the busiest thread from which on the others can be compared with it.
const ENOUGH: u64 = 10;
/// A thread is idle if it had less than one part in so many of the busiest thread's CPU time.
const IDLE_PART: u64 = 20;

/// The purpose of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// It does the program's work, as far as anybody can tell.
    Working,
    /// A library started it for itself: its name says so.
    Helper,
    /// It has slept while others computed.
    Idle,
}

/// One thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Thread {
    pub name: String,
    pub cpus: CpuSet,
    pub role: Role,
    ticks: u64,
}

/// The threads of a process and of all that it started, by thread number.
pub(super) fn of(pid: u32) -> Vec<Thread> {
    let mut ids: Vec<(u32, u32)> = family(pid)
        .into_iter()
        .flat_map(|pid| ids_of(pid).into_iter().map(move |id| (id, pid)))
        .collect();
    ids.sort_unstable();
    ids.truncate(MOST_THREADS);
    let read = ids.iter().filter_map(|(id, pid)| thread(*pid, *id));
    judged(read.collect())
}

/// The helpers in words: `async 0-3, cuda-EvtHandlr 0-127`; each kind once.
pub(super) fn helpers(threads: &[Thread]) -> String {
    let mut kinds: BTreeMap<(&str, String), u32> = BTreeMap::new();
    for thread in threads.iter().filter(|one| one.role == Role::Helper) {
        *kinds
            .entry((&thread.name, thread.cpus.to_string()))
            .or_default() += 1;
    }
    let words = kinds.iter().map(|((name, cpus), count)| match count {
        1 => format!("{name} {cpus}"),
        count => format!("{count} {name} {cpus}"),
    });
    words.collect::<Vec<_>>().join(", ")
}

/// The number of threads that have a role.
pub(super) fn count(threads: &[Thread], role: Role) -> u32 {
    threads.iter().filter(|one| one.role == role).count() as u32
}

/// Gives each thread its role. Short times prove nothing, and then every thread counts as working.
fn judged(mut threads: Vec<Thread>) -> Vec<Thread> {
    let busiest = threads.iter().map(|one| one.ticks).max().unwrap_or(0);
    for thread in &mut threads {
        thread.role = if is_helper(&thread.name) {
            Role::Helper
        } else if busiest >= ENOUGH && thread.ticks * IDLE_PART < busiest {
            Role::Idle
        } else {
            Role::Working
        };
    }
    threads
}

fn is_helper(name: &str) -> bool {
    HELPERS.iter().any(|known| match known.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning),
        None => name == *known,
    })
}

fn thread(pid: u32, id: u32) -> Option<Thread> {
    let cpus = affinity_from_status(id as i32).ok()?;
    let (name, ticks) =
        name_and_ticks(&kernel_text::read(format!("/proc/{pid}/task/{id}/stat")).ok()?)?;
    Some(Thread {
        name,
        cpus,
        role: Role::Working,
        ticks,
    })
}

/// The name in brackets, which may itself have brackets, and the fields 14 and 15 (proc(5)).
fn name_and_ticks(stat: &str) -> Option<(String, u64)> {
    let (before, after) = stat.rsplit_once(')')?;
    let name = before.split_once('(')?.1;
    // A program names its threads as it likes, and this goes to a terminal.
    let plain = |letter: char| if letter.is_control() { '?' } else { letter };
    let mut times = after.split_whitespace().skip(11);
    let (user, system) = (times.next()?.parse::<u64>(), times.next()?.parse::<u64>());
    Some((
        name.chars().map(plain).collect(),
        user.ok()?.saturating_add(system.ok()?),
    ))
}

fn ids_of(pid: u32) -> Vec<u32> {
    let entries = fs::read_dir(format!("/proc/{pid}/task"));
    let names = entries.into_iter().flatten().flatten().take(MOST_THREADS);
    names
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect()
}

/// A process and its children, and theirs.
fn family(pid: u32) -> Vec<u32> {
    let mut found = vec![pid];
    let mut at = 0;
    while let Some(parent) = found.get(at).copied() {
        let children = kernel_text::read(format!("/proc/{parent}/task/{parent}/children"));
        let children = children.unwrap_or_default();
        let numbers = children.split_whitespace();
        found.extend(numbers.filter_map(|word| word.parse::<u32>().ok()));
        found.truncate(MOST_PROCESSES);
        at += 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thread(name: &str, ticks: u64) -> Thread {
        Thread {
            name: name.into(),
            cpus: CpuSet::from_list("0-3").unwrap(),
            role: Role::Working,
            ticks,
        }
    }

    #[test]
    fn by_name_and_by_what_they_did() {
        let program = [
            thread("app", 200),
            thread("app", 190),
            thread("app", 3),
            thread("async", 150),
            thread("NCCL Proxy Serv", 0),
            thread("NCCL Proxy Serv", 0),
            thread("asynchronous", 11),
        ];
        let threads = judged(program.to_vec());
        let roles: Vec<_> = threads.iter().map(|one| one.role).collect();
        use Role::{Helper, Idle, Working};
        assert_eq!(
            roles,
            [Working, Working, Idle, Helper, Helper, Helper, Working]
        );
        assert_eq!(helpers(&threads), "2 NCCL Proxy Serv 0-3, async 0-3");
        assert_eq!((count(&threads, Working), count(&threads, Idle)), (3, 1));
    }

    #[test]
    fn short_times_prove_nothing() {
        let threads = judged(vec![thread("app", ENOUGH - 1), thread("app", 0)]);
        assert_eq!(count(&threads, Role::Working), 2);
    }

    #[test]
    fn a_name_may_have_brackets() {
        let stat = "12 (a) b\u{1b}) S 1 2 3 4 5 6 7 8 9 10 40 2 0 0 20";
        assert_eq!(name_and_ticks(stat), Some(("a) b?".into(), 42)));
        assert_eq!(name_and_ticks("12 (x) S 1"), None);
    }
}
