//! A confined task cannot leave its CPUs, on this host's own cgroups; `berth-confine` plays the same and
//! more in the virtual machines.

use std::path::Path;

use berth_tests::confine::{SITES, play, settings};
use berth_tests::{skip, two_cpus};

/// The tasks' program.
const PROGRAM: &str = env!("CARGO_BIN_EXE_berth-confine");

/// Whether this host's cpusets are of this version, and ours to write.
fn has_cpusets(is_v1: bool) -> bool {
    let v1 = Path::new("/sys/fs/cgroup/cpuset/cpuset.cpus");
    let v2 = std::fs::read_to_string("/sys/fs/cgroup/cgroup.subtree_control").unwrap_or_default();
    let has_v2 = v2.split_whitespace().any(|one| one == "cpuset");
    let has = if is_v1 {
        v1.exists()
    } else {
        !v1.exists() && has_v2
    };
    if !has {
        let version = if is_v1 { 1 } else { 2 };
        skip(&format!(
            "there are no cpusets of cgroup version {version} here"
        ));
        return false;
    }
    if is_v1 {
        let probe = v1.with_file_name("berth-probe");
        if std::fs::create_dir(&probe)
            .and_then(|()| std::fs::remove_dir(&probe))
            .is_err()
        {
            skip("no cgroup can be made here");
            return false;
        }
    }
    true
}

#[test]
fn tasks_stay_inside_with_cgroup_v1() {
    if two_cpus() && has_cpusets(true) {
        SITES
            .iter()
            .filter(|site| site.is_v1)
            .for_each(|site| play(site, Path::new(PROGRAM)));
    }
}

#[test]
fn tasks_stay_inside_with_cgroup_v2() {
    if two_cpus() && has_cpusets(false) {
        SITES
            .iter()
            .filter(|site| !site.is_v1)
            .for_each(|site| play(site, Path::new(PROGRAM)));
        settings(Path::new(PROGRAM));
    }
}
