//! Which process is a slurmstepd. In: its number, and those beside it in its cgroup. Out: whether it is one.

use std::fs;

use libc::pid_t;

use crate::kernel_text;

/// The name of its program begins so: Debian's is `slurmstepd-wlm`.
const NAME: &str = "slurmstepd";

/// Whether a process is a slurmstepd. Beside it in its cgroup are what it forks, until that is moved, and a user's own
/// task epilog with all of its children: these are not root's, or another program, or a child of one in the cgroup.
#[must_use]
pub fn is_slurmstepd(process: pid_t, beside: &[pid_t]) -> bool {
    let Ok(status) = kernel_text::read(format!("/proc/{process}/status")) else {
        return false;
    };
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name));
    let parent = field("PPid:").and_then(|text| text.trim().parse::<pid_t>().ok());
    // The real uid and the saved one: the effective one is the user's while a slurmstepd forks tasks.
    let mut uids = field("Uid:").unwrap_or_default().split_whitespace();
    let is_roots = (uids.next(), uids.nth(1)) == (Some("0"), Some("0"));
    is_roots && parent.is_some_and(|parent| !beside.contains(&parent)) && is_its_program(process)
}

fn is_its_program(process: pid_t) -> bool {
    let exe = fs::read_link(format!("/proc/{process}/exe"));
    let name = exe.as_ref().ok().and_then(|exe| exe.file_name()?.to_str());
    // Behind it the kernel writes a word if the program was replaced by an upgrade.
    name.is_some_and(|name| name.starts_with(NAME))
}

#[cfg(test)]
mod tests {
    use super::super::fake::{end, program, program_named};
    use super::*;

    /// A copy of a program with the name of slurmstepd, as root, alone and beside its parent.
    #[test]
    fn a_slurmstepd_is_known_by_its_program_its_uids_and_its_parent() {
        if !nix::unistd::Uid::effective().is_root() {
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let mut child = program(dir.path());
        let pid = child.id() as pid_t;
        assert!(is_slurmstepd(pid, &[pid]));
        fs::remove_file(dir.path().join(NAME)).unwrap();
        assert!(is_slurmstepd(pid, &[pid]), "it was replaced");
        let own = std::process::id() as pid_t;
        assert!(!is_slurmstepd(pid, &[pid, own]), "its parent is there");
        assert!(!is_slurmstepd(own, &[]), "another program");
        let debians = program_named(dir.path(), "slurmstepd-wlm", 0);
        assert!(is_slurmstepd(debians.id() as pid_t, &[]));
        end(debians);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!is_slurmstepd(pid, &[]));
    }
}
