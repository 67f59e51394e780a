//! Binds the threads of a process that runs. In: a process, a set of CPUs. Out: nothing, or an error.
//! A thread that is made meanwhile has its maker's CPUs, so the list is read until nothing is left to do.

use std::{fs, io};

use berth_placement::CpuSet;
use libc::pid_t;

use crate::affinity::{AffinityError, affinity_of, set_affinity};

/// Threads beyond this number are left alone: a user's process may make as many as it likes.
const MOST: usize = 4096;
/// The most times that the list is read: a process that makes threads all the time is not followed for ever.
const ROUNDS: u32 = 4;

/// Binds every thread of a process to a set of CPUs; with `had` only those that have exactly these CPUs now.
/// Threads that end meanwhile do not count.
///
/// # Errors
/// [`AffinityError`] of the first thread that the kernel refuses to bind.
pub fn bind_threads(pid: pid_t, cpus: &CpuSet, had: Option<&CpuSet>) -> Result<(), AffinityError> {
    for _ in 0..ROUNDS {
        let mut is_done = true;
        for thread in threads(pid) {
            let bound = bind(thread, cpus, had);
            match bound {
                Ok(was_bound) => is_done &= !was_bound,
                Err(why) if why.is_gone() => {}
                Err(why) => return Err(why),
            }
        }
        if is_done {
            break;
        }
    }
    Ok(())
}

/// Binds one thread, unless there is no need.
fn bind(thread: pid_t, cpus: &CpuSet, had: Option<&CpuSet>) -> Result<bool, AffinityError> {
    let now = affinity_of(thread)?;
    if now == *cpus || had.is_some_and(|had| now != *had) {
        return Ok(false);
    }
    set_affinity(thread, cpus)?;
    Ok(true)
}

/// The threads of a process, its first one if they cannot be listed.
pub(crate) fn threads(pid: pid_t) -> Vec<pid_t> {
    listed(pid, MOST).unwrap_or_else(|_| vec![pid])
}

/// At most so many threads of a process.
pub(crate) fn listed(pid: pid_t, most: usize) -> io::Result<Vec<pid_t>> {
    let entries = fs::read_dir(format!("/proc/{pid}/task"))?.flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    Ok(numbers.take(most).collect())
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn the_threads_that_have_some_cpus_get_others() {
        let own = std::process::id() as pid_t;
        let all = affinity_of(0).unwrap();
        let Some(first) = all.iter().next().filter(|_| all.count() > 1) else {
            return;
        };
        let one: CpuSet = std::iter::once(first).collect();
        let rest = all.difference(&one);
        // A thread on one CPU, and another one on the others: only the former is moved.
        let begin = |cpus: CpuSet| {
            let ((tell, told), (end, ended)) = (channel(), channel::<()>());
            let thread = std::thread::spawn(move || {
                set_affinity(0, &cpus).unwrap();
                // SAFETY: it only returns the thread's number.
                tell.send(unsafe { libc::gettid() }).unwrap();
                let _ = ended.recv();
            });
            (told.recv().unwrap(), end, thread)
        };
        let (held, free) = (begin(one.clone()), begin(rest.clone()));
        bind_threads(own, &all, Some(&one)).unwrap();
        let found = [held.0, free.0].map(|thread| affinity_of(thread).unwrap());
        assert_eq!(found, [all, rest]);
        for (_, end, thread) in [held, free] {
            drop(end);
            thread.join().unwrap();
        }
    }

    #[test]
    fn a_process_that_has_ended_is_no_failure() {
        let beyond = 4_194_305;
        let one = CpuSet::from_list("0").unwrap();
        assert_eq!(bind_threads(beyond, &one, None), Ok(()));
    }
}
