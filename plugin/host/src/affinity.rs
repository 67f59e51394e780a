//! Sets in the kernel which CPUs a process may use, and reads back the CPUs that it has.
//! In: a process id, a set of any width. Out: nothing, or a set, or an error.
//! Raw system calls: the C library's `cpu_set_t` ends at 1024 CPUs.
//! A process that runs is bound thread by thread; a thread that is made meanwhile has its maker's CPUs, so the list is
//! read until nothing is left to do. [`set_nicest`] makes a task yield to others.

use std::mem::{MaybeUninit, size_of_val};
use std::{fmt, fs, io};

use berth_placement::sets::cpuset::MAX_CPUS;
use berth_placement::{CpuId, CpuSet};
use libc::{c_int, pid_t};

use crate::kernel_text;

/// Room for every CPU number that berth knows: 8 KiB, of which the kernel fills
/// as much as it has. So the kernel's own size need not be found out.
const WORDS: usize = (MAX_CPUS / u64::BITS) as usize;

// The kernel's masks are arrays of `unsigned long`; ours are of u64.
const _: () = assert!(
    cfg!(target_endian = "little") || size_of::<libc::c_ulong>() == size_of::<u64>(),
    "the kernel's words are not ours on this platform"
);

/// An affinity that could not be set or read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AffinityError {
    /// The process asked about; 0 is the calling thread.
    pub pid: pid_t,
    /// The CPUs to be set; `None` where the affinity was read.
    pub requested: Option<CpuSet>,
    /// The kernel's error number.
    pub errno: i32,
}

impl AffinityError {
    /// Whether the process had ended. That is no failure for a short task.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        self.errno == libc::ESRCH
    }

    fn advice(&self) -> &'static str {
        match self.errno {
            libc::ESRCH => "it has ended; nothing is left to do",
            libc::EPERM => "binding another user's process needs root: run slurmd as root",
            libc::EINVAL if self.requested.is_some() => {
                "none of these CPUs is online and in its cgroup: compare them with \
                 Cpus_allowed_list in /proc/PID/status and with cpuset.cpus.effective"
            }
            _ => "see the kernel's log",
        }
    }
}

impl fmt::Display for AffinityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.requested {
            Some(cpus) => write!(f, "process {} should run on CPUs {cpus}", self.pid)?,
            None => write!(f, "berth asked for the CPUs of process {}", self.pid)?,
        }
        let found = io::Error::from_raw_os_error(self.errno);
        write!(f, "; the kernel answered: {found}; {}", self.advice())
    }
}

impl std::error::Error for AffinityError {}

/// Binds one process (its first thread; 0: the calling thread) to a set of CPUs.
///
/// The kernel silently drops CPUs that are offline or outside the cgroup, and
/// refuses only when none is left: read back with [`affinity_of`].
///
/// # Errors
/// [`AffinityError`] with the kernel's `errno`: `EINVAL` for an empty set too.
pub fn set_affinity(pid: pid_t, cpus: &CpuSet) -> Result<(), AffinityError> {
    set(pid, &cpus.to_words()).map_err(|errno| AffinityError {
        pid,
        requested: Some(cpus.clone()),
        errno,
    })
}

/// The CPUs that one process (its first thread; 0: the calling thread) may use.
///
/// # Errors
/// [`AffinityError`] with the kernel's `errno`: `ESRCH` if there is no such process.
pub fn affinity_of(pid: pid_t) -> Result<CpuSet, AffinityError> {
    // The buffer is not zeroed, because that would cost as much as the call.
    let mut words = [const { MaybeUninit::<u64>::uninit() }; WORDS];
    let used = get(pid, &mut words).map_err(|errno| AffinityError {
        pid,
        requested: None,
        errno,
    })?;
    Ok(CpuSet::from_words(used))
}

/// CPUs to which the calling thread could be bound.
pub struct Reachable([u64; WORDS]);

impl Reachable {
    /// Whether it could be bound to this one.
    #[must_use]
    pub fn has(&self, cpu: CpuId) -> bool {
        let (word, bit) = (cpu.0 / u64::BITS, cpu.0 % u64::BITS);
        let word = self.0.get(word as usize).copied().unwrap_or_default();
        word >> bit & 1 == 1
    }
}

/// Those of some CPUs (as words, lowest first) to which the calling thread could be bound: the ones
/// that its cgroup allows. This is found by trying; afterwards the thread has the CPUs that
/// it had. A task can call this between fork and exec: it makes only system calls, without
/// allocation.
///
/// # Errors
/// The kernel's `errno`: `EINVAL` if none of them is left.
pub fn reachable(cpus: &[u64]) -> Result<Reachable, i32> {
    let now = || {
        let mut words = [const { MaybeUninit::<u64>::uninit() }; WORDS];
        let used = get(0, &mut words)?;
        let mut all = [0; WORDS];
        all.iter_mut()
            .zip(used)
            .for_each(|(word, used)| *word = *used);
        Ok(all)
    };
    let had = now()?;
    set(0, cpus)?;
    let reached = now();
    set(0, &had)?;
    reached.map(Reachable)
}

/// The system call, with the kernel's `errno`.
fn set(pid: pid_t, words: &[u64]) -> Result<(), i32> {
    // SAFETY: `words` is a live slice of that many bytes, and the kernel
    // (sched_setaffinity(2)) only reads it. A length of 0 is allowed and refused.
    let result = unsafe {
        libc::syscall(
            libc::SYS_sched_setaffinity,
            pid,
            size_of_val(words),
            words.as_ptr(),
        )
    };
    if result < 0 {
        Err(last_errno())
    } else {
        Ok(())
    }
}

/// The system call: the words that the kernel wrote, or its `errno`.
fn get(pid: pid_t, words: &mut [MaybeUninit<u64>; WORDS]) -> Result<&[u64], i32> {
    // SAFETY: `words` is ours and of that many bytes; the kernel
    // (sched_getaffinity(2)) writes no more than it is told and returns how many.
    let written = unsafe {
        libc::syscall(
            libc::SYS_sched_getaffinity,
            pid,
            size_of_val(words),
            words.as_mut_ptr(),
        )
    };
    let bytes = usize::try_from(written).map_err(|_| last_errno())?;
    // The kernel's masks are whole words.
    let used = words.get(..bytes / size_of::<u64>()).unwrap_or_default();
    // SAFETY: the kernel has written these bytes, and any bytes are a u64.
    Ok(unsafe { std::slice::from_raw_parts(used.as_ptr().cast::<u64>(), used.len()) })
}

fn last_errno() -> i32 {
    io::Error::last_os_error().raw_os_error().unwrap_or(0)
}

/// The answer of [`affinity_of`] from `/proc/PID/status`: the kernel's own text, for comparison.
///
/// # Errors
/// [`io::Error`] if the file cannot be read or has no such line.
pub fn affinity_from_status(pid: pid_t) -> io::Result<CpuSet> {
    let status = kernel_text::read(format!("/proc/{pid}/status"))?;
    status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"))
        .and_then(|list| CpuSet::from_list(list).ok())
        .ok_or_else(|| io::Error::other(format!("/proc/{pid}/status has no list of CPUs")))
}

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

/// The least that the kernel gives a task, 1/68 of what it gives one at the usual priority.
const NICEST: c_int = 19;

/// Makes a task the nicest one. It cannot take that back.
///
/// # Errors
/// The kernel's answer.
pub fn set_nicest(pid: pid_t) -> io::Result<()> {
    let id = libc::id_t::try_from(pid).map_err(io::Error::other)?;
    // SAFETY: it takes three numbers and touches no memory of ours.
    match unsafe { libc::setpriority(libc::PRIO_PROCESS, id, NICEST) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

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

    #[test]
    fn a_waiting_child_becomes_the_nicest() {
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        let pid = child.id() as pid_t;
        set_nicest(pid).unwrap();
        // The sixteenth field behind the name.
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        let nice = stat.rsplit(')').next().unwrap().split_whitespace().nth(16);
        assert_eq!(nice, Some("19"));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(set_nicest(pid).is_err());
    }
}
