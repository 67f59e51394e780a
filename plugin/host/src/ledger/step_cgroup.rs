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
    use crate::cgroup::fake;
    use crate::facts_text::hold;

    #[test]
    fn facts() {
        hold(include_str!("step_cgroup.txt"), |files, question| {
            if files == "folders" {
                let step = step_of(Path::new(question));
                return step.map_or("none".into(), |step| step.display().to_string());
            }
            let dir = fake::folder(files);
            let step = dir.path().join("step_0");
            match question {
                "frozen" => is_frozen(&step),
                _ => has_processes(&step),
            }
            .to_string()
        });
        assert!(!has_processes(Path::new("/nonexistent/step_0")));
    }
}
