//! Files that a child of slurmd has by accident. slurmd makes the pipes to its slurmstepds without close-on-exec
//! (`_forkexec_slurmstepd`) and closes them in its own children; in ours they would keep a launch waiting for the end of
//! a slurmstepd that has died.

use std::fs;
use std::os::fd::RawFd;

/// The variable that tells the child to close them. An older command does not know it and keeps them.
pub const VARIABLE: &str = "BERTH_CLOSE_INHERITED";
/// The first one after input, output and error output.
const FIRST: RawFd = 3;

/// Closes all files but the first three, if slurmd has started this program. To be called before the program opens
/// anything.
pub fn close() {
    if std::env::var_os(VARIABLE).is_none() {
        return;
    }
    // SAFETY: nothing of this process is open yet, as the caller promises, so no owner loses a file.
    let done = unsafe { libc::syscall(libc::SYS_close_range, FIRST, u32::MAX, 0) };
    if done != 0 {
        close_each();
    }
}

/// For kernels before 5.9.
fn close_each() {
    let Ok(listed) = fs::read_dir("/proc/self/fd") else {
        return;
    };
    let number = |name: std::ffi::OsString| name.to_str()?.parse::<RawFd>().ok();
    // The folder itself is closed by then, and its number may be closed once more.
    let open: Vec<RawFd> = listed
        .flatten()
        .filter_map(|one| number(one.file_name()))
        .collect();
    for file in open.into_iter().filter(|file| *file >= FIRST) {
        // SAFETY: as above.
        unsafe { libc::close(file) };
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// Fails in another process if a file that it has inherited stays open.
    #[test]
    fn in_a_child() {
        let ways: [(&str, fn()); 2] = [("close", close), ("each", close_each)];
        let requested = std::env::var("BERTH_TEST_WAY");
        if let Some((_, way)) = ways
            .iter()
            .find(|(name, _)| requested.as_deref() == Ok(name))
        {
            way();
            // SAFETY: it asks about a number.
            let is_open = unsafe { libc::fcntl(9, libc::F_GETFD) } >= 0;
            assert!(!is_open);
        }
    }

    #[test]
    fn slurmds_pipes_are_closed_and_nobody_elses() {
        let program = std::env::current_exe().unwrap();
        let ends = |way: &str, variable: Option<&str>| {
            let mut child = Command::new("sh");
            let line = "exec \"$0\" --exact inherited::tests::in_a_child --nocapture 9</dev/null";
            child
                .args(["-c", line])
                .arg(&program)
                .env("BERTH_TEST_WAY", way);
            child
                .env_remove(VARIABLE)
                .envs(variable.map(|name| (name, "1")));
            child.output().unwrap().status.code()
        };
        assert_eq!(ends("close", Some(VARIABLE)), Some(0));
        assert_eq!(ends("each", Some(VARIABLE)), Some(0));
        assert_eq!(ends("close", None), Some(101), "a user's own");
    }
}
