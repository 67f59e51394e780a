//! Threads of a step's tasks that were killed and still have to end: below real-time tasks they wait for a CPU like
//! everybody else, and the job's end waits for them. They never run a user's instruction again.
//! In: a step's folder. Out: threads.

use super::Folder;
use super::job::TASKS;
use super::members::{Thread, processes, threads};
use super::stat::Stat;

/// Processes and threads of a step that are looked at.
const MOST: usize = 1024;

/// Those that wait for a CPU.
pub(super) fn threads_of(step: &Folder) -> Vec<Thread> {
    let tasks = step.child(TASKS);
    let mut killed = tasks.map(|tasks| processes(&tasks)).unwrap_or_default();
    killed.truncate(MOST);
    killed.retain(|process| is_dying(*process));
    let ready = |thread: &Thread| Stat::of(*thread).as_ref().is_some_and(waits);
    threads(&killed)
        .into_iter()
        .filter(ready)
        .take(MOST)
        .collect()
}

/// Whether a thread was killed and waits for a CPU.
pub(super) fn waits(stat: &Stat) -> bool {
    stat.is_dying && stat.is_ready()
}

/// The first thread of a process is killed with the others, and may have ended before them.
fn is_dying(process: libc::pid_t) -> bool {
    let first = Thread {
        process,
        number: process,
    };
    Stat::of(first).is_some_and(|stat| stat.is_dying)
}
