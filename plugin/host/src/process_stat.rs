//! State and start of a process and of its threads, from `/proc/PID/stat`. The first thread of a process can end while
//! others live, and is a zombie then, as a process is that has ended; so the others are asked too.
//! In: a number. Out: a state and a start time, or a thread that lives.

use std::{fs, io};

use libc::pid_t;

use crate::affinity::threads;

/// A process or a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stat {
    /// The letter of its state.
    pub(crate) state: char,
    /// Clock ticks between the boot and its start.
    pub(crate) start: u64,
}

/// Place of the start time behind the program's name (proc(5), field 22).
const START: usize = 19;

impl Stat {
    /// A process: the state of a thread that lives, if there is one, and the start of the first one.
    ///
    /// # Errors
    /// The system's, and `InvalidData` where the text is of no process.
    pub(crate) fn of(pid: pid_t) -> io::Result<Self> {
        let first = read(format!("/proc/{pid}/stat"))?;
        let living = Some(first).filter(|first| !first.has_ended());
        let living = living.or_else(|| others(pid).next().map(|(_, stat)| stat));
        let state = living.map_or(first.state, |living| living.state);
        Ok(Self { state, ..first })
    }

    /// Whether it is a zombie or gone.
    pub(crate) fn has_ended(self) -> bool {
        matches!(self.state, 'Z' | 'X')
    }
}

/// A thread of a process that lives: the first one, if that does. Files of /proc and system calls about memory need one.
#[must_use]
pub fn living_thread(pid: pid_t) -> Option<pid_t> {
    let first = read(format!("/proc/{pid}/stat")).ok()?;
    match first.has_ended() {
        false => Some(pid),
        true => others(pid).next().map(|(thread, _)| thread),
    }
}

/// The threads that live.
fn others(pid: pid_t) -> impl Iterator<Item = (pid_t, Stat)> {
    let all = threads(pid).into_iter();
    let all = all.filter_map(move |thread| {
        let stat = read(format!("/proc/{pid}/task/{thread}/stat")).ok()?;
        Some((thread, stat))
    });
    all.filter(|(_, stat)| !stat.has_ended())
}

/// The part after the name, which may contain anything.
fn read(path: String) -> io::Result<Stat> {
    let text = fs::read(path)?;
    let behind = text.iter().rposition(|byte| *byte == b')');
    let rest = behind.and_then(|at| text.get(at + 1..)).unwrap_or_default();
    let rest = String::from_utf8_lossy(rest);
    let mut fields = rest.split_whitespace();
    let state = fields.next().and_then(|state| state.chars().next());
    let start = fields.nth(START - 1).and_then(|start| start.parse().ok());
    let found = state.zip(start).map(|(state, start)| Stat { state, start });
    found.ok_or_else(|| io::ErrorKind::InvalidData.into())
}

#[cfg(test)]
pub(crate) mod tests {
    use std::ptr;

    use super::*;

    extern "C" fn sleep(_: *mut libc::c_void) -> *mut libc::c_void {
        // SAFETY: it only waits.
        unsafe { libc::sleep(60) };
        ptr::null_mut()
    }

    /// A process whose first thread has ended, and another one lives.
    pub(crate) struct Leaderless(pub(crate) pid_t);

    impl Leaderless {
        pub(crate) fn start() -> Self {
            // SAFETY: the child makes a thread and ends its first one; it returns to no code of the test's.
            let pid = unsafe { libc::fork() };
            if pid == 0 {
                let mut thread = 0;
                // SAFETY: the place is this function's, and the thread takes nothing.
                unsafe {
                    libc::pthread_create(&raw mut thread, ptr::null(), sleep, ptr::null_mut());
                    libc::syscall(libc::SYS_exit, 0);
                }
            }
            while !read(format!("/proc/{pid}/stat")).unwrap().has_ended() {
                std::thread::yield_now();
            }
            Self(pid)
        }

        pub(crate) fn end(self) {
            // SAFETY: it is this test's own child.
            unsafe {
                libc::kill(self.0, libc::SIGKILL);
                libc::waitpid(self.0, ptr::null_mut(), 0);
            }
        }
    }

    #[test]
    fn a_process_lives_as_long_as_one_of_its_threads() {
        let own = std::process::id() as pid_t;
        assert_eq!(living_thread(own), Some(own));
        let process = Leaderless::start();
        let pid = process.0;
        let stat = Stat::of(pid).unwrap();
        assert!(!stat.has_ended() && stat.start > 0, "{stat:?}");
        let thread = living_thread(pid).unwrap();
        assert_ne!(thread, pid);
        process.end();
        assert!(Stat::of(pid).is_err() && living_thread(pid).is_none());
    }
}
