//! Where the kernel keeps the calling process: its folders in the hierarchy of a controller, of either version.

use std::fs;
use std::path::{Path, PathBuf};

/// Where version 2 is, and all hierarchies of version 1 are.
const ROOT: &str = "/sys/fs/cgroup";

fn is_v2() -> bool {
    Path::new(ROOT).join("cgroup.controllers").exists()
}

/// The process's folder, then those above it up to its job's.
///
/// # Panics
/// If the kernel names no folder for this controller.
#[must_use]
pub fn folders(controller: &str) -> Vec<PathBuf> {
    let text = fs::read_to_string("/proc/self/cgroup").expect("a cgroup");
    folders_in(&text, controller, is_v2())
        .unwrap_or_else(|| panic!("no folder of {controller} in {text}"))
}

fn folders_in(text: &str, controller: &str, is_v2: bool) -> Option<Vec<PathBuf>> {
    let own = text.lines().find_map(|line| {
        let (names, path) = line.split_once(':')?.1.split_once(':')?;
        match is_v2 {
            true => names.is_empty().then(|| format!("{ROOT}{path}")),
            false => {
                let mut names = names.split(',');
                let is_there = names.any(|name| name == controller);
                is_there.then(|| format!("{ROOT}/{controller}{path}"))
            }
        }
    })?;
    let mut all = Vec::new();
    for folder in Path::new(&own).ancestors() {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        // What Slurm has above a job: a scope of its daemons, or a folder of the user.
        if name.ends_with(".scope") || name.starts_with("uid_") {
            break;
        }
        all.push(folder.to_owned());
    }
    Some(all)
}

/// The CPUs (`cpus`) or memory nodes (`mems`) that processes in a folder really have, as a list.
///
/// # Panics
/// If the folder has no cpuset.
#[must_use]
pub fn effective(folder: &Path, what: &str) -> String {
    let file = match is_v2() {
        true => format!("cpuset.{what}.effective"),
        false => format!("cpuset.effective_{what}"),
    };
    let text = fs::read_to_string(folder.join(&file));
    let text = text.unwrap_or_else(|why| panic!("{}/{file}: {why}", folder.display()));
    text.trim().to_owned()
}

/// The limit of a folder's memory in bytes; `None` where there is none.
///
/// # Panics
/// If the folder has no such file.
#[must_use]
pub fn memory(folder: &Path) -> Option<u64> {
    let (file, none) = match is_v2() {
        true => ("memory.max", "max"),
        // The largest number of whole pages.
        false => ("memory.limit_in_bytes", "9223372036854771712"),
    };
    let text = fs::read_to_string(folder.join(file));
    let text = text.unwrap_or_else(|why| panic!("{}/{file}: {why}", folder.display()));
    (text.trim() != none).then(|| text.trim().parse().expect("bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str, controller: &str, is_v2: bool) -> Vec<String> {
        let found = folders_in(text, controller, is_v2).unwrap_or_default();
        let name = |path: PathBuf| {
            path.file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into()
        };
        found.into_iter().map(name).collect()
    }

    #[test]
    fn the_folders_end_with_the_job() {
        let v2 = "0::/system.slice/slurmstepd.scope/job_7/step_0/user/task_1\n";
        let v2_names = ["task_1", "user", "step_0", "job_7"];
        assert_eq!(names(v2, "cpuset", true), v2_names);
        let v1 = "5:cpuacct,cpu:/\n4:cpuset:/slurm_n1/uid_0/job_7/step_0\n0::/x\n";
        assert_eq!(names(v1, "cpuset", false), ["step_0", "job_7"]);
        assert_eq!(folders_in(v1, "memory", false), None);
        let path = folders_in(v1, "cpuset", false).expect("a folder");
        assert!(path[0].starts_with("/sys/fs/cgroup/cpuset/slurm_n1"));
    }
}
