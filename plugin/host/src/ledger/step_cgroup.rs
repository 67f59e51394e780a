//! The cgroup of a step, which lives as long as it has a process.
//! In: the place of a slurmstepd or of its task. Out: the folder `…/step_N`, and whether a process is in it or below it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use libc::pid_t;

use crate::cgroup::{Mounts, Place, Version};
use crate::kernel_text::read;

/// Where Slurm has the hierarchies if no `CgroupMountpoint` says otherwise, and the freezer of version 1.
const MOUNTS: &str = "/sys/fs/cgroup";
const FREEZER: &str = "/sys/fs/cgroup/freezer";
/// How a step's folder begins, in each version.
const STEP: &str = "step_";
/// Folders below a step's in version 1: its tasks, and a cgroup of ours.
const DOWN: usize = 3;

/// That of a process, 0 is the calling one; none where Slurm keeps it in none. In version 1 Slurm keeps tasks there, and
/// not always their slurmstepd.
pub(super) fn of(pid: pid_t) -> Option<PathBuf> {
    let mounts = Mounts::read().ok()?;
    let step = |place: Place| step_of(&place.path());
    let of_cpusets = Place::of(pid, &mounts).ok().and_then(step);
    of_cpusets.or_else(|| {
        let freezer = Place::in_hierarchy(pid, &mounts, "freezer").ok()?;
        (freezer.version == Version::V1).then(|| step(freezer))?
    })
}

fn step_of(path: &Path) -> Option<PathBuf> {
    let mut above = path.ancestors();
    let is_step = |path: &&Path| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| name.starts_with(STEP))
    };
    above.find(is_step).map(Path::to_path_buf)
}

/// Whether Slurm has frozen the step: in version 2 what is below its `user`, in version 1 its folder of the freezer's
/// hierarchy.
pub(super) fn is_frozen(folder: &Path) -> bool {
    if let Ok(events) = read(folder.join("user/cgroup.events")) {
        return events.lines().any(|line| line == "frozen 1");
    }
    let below = folder.strip_prefix(MOUNTS).unwrap_or(folder);
    let own: PathBuf = below.components().skip(1).collect();
    let state = read(Path::new(FREEZER).join(own).join("freezer.state"));
    state.is_ok_and(|state| state.trim_end() == "FROZEN")
}

/// Whether a process lives there. What cannot be read may have one.
pub(super) fn has_processes(folder: &Path) -> bool {
    let is_missing = |why: &io::Error| why.kind() == io::ErrorKind::NotFound;
    match read(folder.join("cgroup.events")) {
        Ok(events) => !events.lines().any(|line| line == "populated 0"),
        // Version 1 keeps no count.
        Err(why) if is_missing(&why) => lists_process(folder, DOWN),
        Err(_) => true,
    }
}

fn lists_process(folder: &Path, depth: usize) -> bool {
    let own = read(folder.join("cgroup.procs"));
    match own {
        Err(why) => why.kind() != io::ErrorKind::NotFound,
        Ok(text) if !text.is_empty() => true,
        Ok(_) if depth == 0 => false,
        Ok(_) => {
            let entries = fs::read_dir(folder).into_iter().flatten().flatten();
            let mut below =
                entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
            below.any(|entry| lists_process(&entry.path(), depth - 1))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_of_a_step() {
        for (path, expected) in [
            (
                "/sys/fs/cgroup/a/job_7/step_0/slurm",
                Some("/sys/fs/cgroup/a/job_7/step_0"),
            ),
            (
                "/f/slurm_n1/uid_0/job_7/step_batch",
                Some("/f/slurm_n1/uid_0/job_7/step_batch"),
            ),
            ("/sys/fs/cgroup/system.slice/slurmd.service", None),
        ] {
            assert_eq!(
                step_of(Path::new(path)),
                expected.map(PathBuf::from),
                "{path}"
            );
        }
        assert!(!has_processes(Path::new("/nonexistent/step_0")));
    }

    /// What its user freezes below, or berth, is no suspension; and a stop of his own makes no room where nothing can be
    /// read.
    #[test]
    fn only_the_folder_that_slurm_freezes_counts() {
        let dir = tempfile::tempdir().unwrap();
        let user = dir.path().join("step_0/user");
        fs::create_dir_all(user.join("task_0")).unwrap();
        let step = dir.path().join("step_0");
        assert!(!is_frozen(&step));
        fs::write(user.join("task_0/cgroup.events"), "populated 1\nfrozen 1\n").unwrap();
        for (events, expected) in [("frozen 0", false), ("frozen 1", true), ("\u{fffd}", false)] {
            fs::write(
                user.join("cgroup.events"),
                format!("populated 1\n{events}\n"),
            )
            .unwrap();
            assert_eq!(is_frozen(&step), expected, "{events}");
        }
    }

    /// As the kernel lays them out: version 2 counts, version 1 lists.
    #[test]
    fn a_step_with_a_task_lives() {
        let dir = tempfile::tempdir().unwrap();
        let step = dir.path().join("step_0");
        let write = |file: &str, text: &str| {
            let path = step.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("cgroup.events", "populated 1\nfrozen 0\n");
        assert!(has_processes(&step));
        write("cgroup.events", "populated 0\nfrozen 0\n");
        assert!(!has_processes(&step));
        fs::remove_file(step.join("cgroup.events")).unwrap();
        write("cgroup.procs", "");
        write("task_0/cgroup.procs", "");
        assert!(!has_processes(&step));
        write("task_0/cgroup.procs", "41\n");
        assert!(has_processes(&step));
    }
}
