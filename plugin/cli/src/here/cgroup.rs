//! The kernel's word on this process's job: the cgroups in which slurmstepd put it, and their CPUs.
//! No user can leave them or make them by name outside Slurm's own folder.

use std::fs;
use std::path::{Path, PathBuf};

use berth_placement::CpuSet;

/// This process's place among Slurm's cgroups.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Confined {
    pub job: u32,
    /// `0`, `batch`, `extern`; `None` outside of a step.
    pub step: Option<String>,
    /// The CPUs of the job and of the step, by kernel number, where slurmd confines them.
    pub job_cpus: Option<CpuSet>,
    pub step_cpus: Option<CpuSet>,
}

/// Reads it; `None` outside of a job.
pub(super) fn of_this_process() -> Option<Confined> {
    let own = fs::read_to_string("/proc/self/cgroup").ok()?;
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    read(&own, &mounts)
}

fn read(own: &str, mounts: &str) -> Option<Confined> {
    // Version 1 has a hierarchy for CPU sets, version 2 has one for everything.
    let lines = || {
        own.lines()
            .filter_map(|line| line.split_once(':')?.1.split_once(':'))
    };
    let v1 = lines().find(|(names, _)| names.split(',').any(|name| name == "cpuset"));
    let is_in_job = |path: &str| split(path).is_some();
    let (is_v1, path) = match v1.filter(|(_, path)| is_in_job(path)) {
        Some((_, path)) => (true, path),
        None => (false, lines().find(|(_, path)| is_in_job(path))?.1),
    };
    let (job_path, job, step) = split(path)?;
    let folder = |path: &str| mounted(mounts, is_v1, path);
    let cpus = |path: &str| confining(&folder(path)?, is_v1);
    let step_path = step.map(|step| format!("{job_path}/step_{step}"));
    Some(Confined {
        job,
        step: step.map(String::from),
        job_cpus: cpus(job_path),
        step_cpus: step_path.and_then(|path| cpus(&path)),
    })
}

/// The path of the job's cgroup, its number, and the step's name: `…/job_7/step_0/user/task_1`.
fn split(path: &str) -> Option<(&str, u32, Option<&str>)> {
    let at = path.find("/job_")?;
    let rest = &path[at + "/job_".len()..];
    let (number, inside) = rest.split_once('/').unwrap_or((rest, ""));
    let name = inside.split('/').next().unwrap_or_default();
    let end = at + "/job_".len() + number.len();
    Some((
        &path[..end],
        number.parse().ok()?,
        name.strip_prefix("step_"),
    ))
}

/// The folder of a cgroup: its path below the root that is mounted.
fn mounted(mounts: &str, is_v1: bool, path: &str) -> Option<PathBuf> {
    mounts.lines().find_map(|line| {
        let (place, kind) = line.split_once(" - ")?;
        let mut kind = kind.split(' ');
        let (name, options) = (kind.next()?, kind.nth(1).unwrap_or_default());
        let fits = match is_v1 {
            true => name == "cgroup" && options.split(',').any(|word| word == "cpuset"),
            false => name == "cgroup2",
        };
        let mut fields = place.split(' ').skip(3);
        let (root, point) = (fields.next()?, fields.next()?);
        let below = path.strip_prefix(root.trim_end_matches('/'))?;
        fits.then(|| Path::new(point).join(below.trim_start_matches('/')))
    })
}

/// The CPUs to which a cgroup confines its processes; `None` where nobody has set any. In version 1
/// every folder has a list; it says something only if it is shorter than the root's.
fn confining(folder: &Path, is_v1: bool) -> Option<CpuSet> {
    let list = |folder: &Path, name: &str| {
        let text = fs::read_to_string(folder.join(name)).ok()?;
        CpuSet::from_list(text.trim())
            .ok()
            .filter(|cpus| !cpus.is_empty())
    };
    let set = list(folder, "cpuset.cpus")?;
    if is_v1 {
        let root = folder
            .ancestors()
            .take_while(|path| path.join("cpuset.cpus").exists());
        let all = list(root.last()?, "cpuset.cpus")?;
        return (set != all).then_some(set);
    }
    list(folder, "cpuset.cpus.effective").or(Some(set))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_both_versions() {
        for (path, job, step) in [
            (
                "/system.slice/slurmstepd.scope/job_7/step_0/user/task_1",
                "/system.slice/slurmstepd.scope/job_7",
                Some("0"),
            ),
            (
                "/slurm_n1/uid_0/job_12/step_batch/task_0",
                "/slurm_n1/uid_0/job_12",
                Some("batch"),
            ),
            ("/slurm/uid_0/job_3", "/slurm/uid_0/job_3", None),
        ] {
            let found = split(path).unwrap();
            assert_eq!((found.0, found.2), (job, step));
        }
        for path in ["/user.slice", "/job_x/step_0", "/"] {
            assert_eq!(split(path), None, "{path}");
        }
    }

    #[test]
    fn lists_are_read_where_somebody_set_them() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().join("scope/job_7/step_0");
        fs::create_dir_all(&at).unwrap();
        let job = at.parent().unwrap();
        let mounts = format!(
            "30 20 0:26 / {} rw - cgroup2 cgroup2 rw\n",
            folder.path().display()
        );
        let own = "0::/scope/job_7/step_0/user/task_0\n";
        let found = || read(own, &mounts).unwrap();
        assert_eq!((found().job, found().job_cpus), (7, None));
        fs::write(job.join("cpuset.cpus"), "\n").unwrap();
        fs::write(job.join("cpuset.cpus.effective"), "0-7\n").unwrap();
        assert_eq!(found().job_cpus, None);
        fs::write(job.join("cpuset.cpus"), "2-3,9\n").unwrap();
        fs::write(job.join("cpuset.cpus.effective"), "2-3\n").unwrap();
        fs::write(at.join("cpuset.cpus"), "3\n").unwrap();
        let text = |cpus: Option<CpuSet>| cpus.map(|cpus| cpus.to_string());
        assert_eq!(text(found().job_cpus).as_deref(), Some("2-3"));
        assert_eq!(text(found().step_cpus).as_deref(), Some("3"));
        assert_eq!(read("0::/user.slice\n", &mounts), None);
    }

    #[test]
    fn version_one_confines_where_the_list_is_shorter_than_the_roots() {
        let folder = tempfile::tempdir().unwrap();
        let job = folder.path().join("slurm/uid_0/job_7");
        fs::create_dir_all(&job).unwrap();
        for path in job
            .ancestors()
            .take_while(|path| path.starts_with(folder.path()))
        {
            fs::write(path.join("cpuset.cpus"), "0-7\n").unwrap();
        }
        let mounts = format!(
            "31 20 0:27 / {} rw - cgroup cgroup rw,cpuset\n",
            folder.path().display()
        );
        let own = "7:cpuset:/slurm/uid_0/job_7\n0::/user.slice\n";
        assert_eq!(read(own, &mounts).unwrap().job_cpus, None);
        fs::write(job.join("cpuset.cpus"), "4-7\n").unwrap();
        let cpus = read(own, &mounts).unwrap().job_cpus.unwrap();
        assert_eq!(cpus.to_string(), "4-7");
    }
}
