//! Sets in the kernel which CPUs a process may use, and reads back the CPUs that it has.
//! In: a process id, a set of any width. Out: nothing, or a set, or an error.
//! Raw system calls: the C library's `cpu_set_t` ends at 1024 CPUs.

use std::fmt;
use std::io;
use std::mem::{MaybeUninit, size_of_val};

use berth_placement::sets::cpuset::MAX_CPUS;
use berth_placement::{CpuId, CpuSet};
use libc::pid_t;

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
