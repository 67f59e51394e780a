//! Whether a freezer of cgroup v1 has frozen a process. Slurm stops the tasks of a suspended step, and freezes them two
//! seconds later (`proctrack/cgroup`); since Linux 6.1 /proc shows a frozen one as `R` or `D`, and no longer as `T`.
//! In: a process. Out: yes, or no where that is not certain.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use libc::pid_t;

/// Where Slurm has the hierarchy if no `CgroupMountpoint` says otherwise.
const FREEZER: &str = "/sys/fs/cgroup/freezer";
/// The kernel's lines are shorter.
const MOST: u64 = 64 << 10;

/// Whether it is frozen. Below cgroup v2 slurmstepd says it ([`Held::set_suspended`](super::Held::set_suspended)).
pub(super) fn is_frozen(pid: pid_t) -> bool {
    let state = || {
        let own = read(Path::new(&format!("/proc/{pid}/cgroup")))?;
        let folder = folder(&own)?;
        let file = Path::new(FREEZER).join(folder).join("freezer.state");
        read(&file)
    };
    state().is_some_and(|state| state.trim_end() == "FROZEN")
}

/// The folder below the hierarchy's root; none for the root itself, which cannot be frozen.
fn folder(own: &str) -> Option<&str> {
    let mut paths = own.lines().filter_map(|line| {
        let (names, path) = line.split_once(':')?.1.split_once(':')?;
        names
            .split(',')
            .any(|name| name == "freezer")
            .then_some(path)
    });
    let path = paths.next()?.strip_prefix('/')?;
    (!path.is_empty() && !path.split('/').any(|name| name == "..")).then_some(path)
}

fn read(path: &Path) -> Option<String> {
    let mut text = String::new();
    let file = File::open(path).ok()?;
    file.take(MOST).read_to_string(&mut text).ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders() {
        let text = "12:cpuset:/a\n4:freezer:/slurm_n1/uid_0/job_7/step_0\n0::/b\n";
        assert_eq!(folder(text), Some("slurm_n1/uid_0/job_7/step_0"));
        assert_eq!(folder("4:devices,freezer:/a b\n"), Some("a b"));
        for none in ["4:freezer:/\n", "0::/a\n", "4:freezer:/../a\n", ""] {
            assert_eq!(folder(none), None, "{none:?}");
        }
        assert!(!is_frozen(std::process::id() as pid_t) && !is_frozen(pid_t::MAX));
    }
}
