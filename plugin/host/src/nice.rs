//! Makes a task nice beside others. In: a process id. Out: nothing, or the kernel's answer.

use std::io;

use libc::{c_int, pid_t};

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
