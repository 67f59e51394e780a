//! The CPUs of all jobs on a node, as Slurm's cgroups confine them.
//! In: the cgroup below which Slurm keeps them. Out: the union of the jobs' `cpuset.cpus`; a job without processes
//! does not count. Everybody may read these files.

use berth_placement::CpuSet;

use super::freezer::State;
use super::{FenceError, Folder, Place, Version};

/// The most folders that are looked at, so that a strange tree costs little.
const MOST: usize = 20_000;
/// Below a job's folder of v1: steps, tasks, and a cgroup of ours.
const DOWN: usize = 4;
/// A job's CPUs. An empty file confines nobody.
const CPUS: &str = "cpuset.cpus";
/// The step of what is adopted.
const EXTERN: &str = "step_extern";
/// Where the tasks of a step live in the unified hierarchy.
const USER: &str = "user";
/// Folders of the unified scope that are no jobs.
const NO_JOBS: [&str; 2] = ["slurmd", "system"];

/// The CPUs of all jobs below such a cgroup. One that belongs to a user is none of Slurm's, and has no
/// jobs.
///
/// # Errors
/// [`FenceError`]: the folder cannot be read.
pub fn cpus_of_jobs(scope: &Place) -> Result<CpuSet, FenceError> {
    let folder = scope.open()?;
    match folder.is_roots() {
        true => Ok(Walk { left: MOST }.jobs(&folder, scope.version)),
        false => Ok(CpuSet::new()),
    }
}

/// A job that runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Running {
    /// The name of its folder.
    pub name: String,
    /// Its CPUs.
    pub cpus: CpuSet,
}

/// The running jobs below such a cgroup of the unified hierarchy, but for one: that whose folder has this name. A job
/// runs if one of its tasks is not frozen, or if it has none yet.
///
/// # Errors
/// [`FenceError`]: the folder cannot be read.
pub fn running(scope: &Place, except: &str) -> Result<Vec<Running>, FenceError> {
    let folder = scope.open()?;
    match folder.is_roots() {
        true => Ok(Walk { left: MOST }.running(&folder, except)),
        false => Ok(Vec::new()),
    }
}

struct Walk {
    left: usize,
}

impl Walk {
    fn jobs(&mut self, scope: &Folder, version: Version) -> CpuSet {
        let mut cpus = CpuSet::new();
        match version {
            Version::V2 => {
                let jobs = self.populated(scope);
                jobs.for_each(|job| cpus.insert_all(&job.cpus(CPUS)));
            }
            Version::V1 => {
                for user in self.children(scope, |name| name.starts_with("uid_")) {
                    for job in self.children(&user, |name| name.starts_with("job_")) {
                        if self.has_process(&job, DOWN) {
                            cpus.insert_all(&job.cpus(CPUS));
                        }
                    }
                }
            }
        }
        cpus
    }

    /// The jobs of the unified hierarchy in which a process lives.
    fn populated<'f>(&mut self, scope: &'f Folder) -> impl Iterator<Item = Folder> + use<'f> {
        let jobs = self.children(scope, |name| !NO_JOBS.contains(&name));
        jobs.filter(|job| State::now(job).unwrap_or_default().is_populated)
    }

    fn running(&mut self, scope: &Folder, except: &str) -> Vec<Running> {
        let others = self.populated(scope).filter(|job| job.name() != except);
        let running = others.filter(|job| self.runs(job));
        let running = running.map(|job| Running {
            name: job.name().into(),
            cpus: job.cpus(CPUS),
        });
        running.collect()
    }

    /// Slurm and berth freeze what is below a step's `user`.
    fn runs(&mut self, job: &Folder) -> bool {
        let mut has_frozen = false;
        // Nobody freezes what was adopted, and it is no sign that the job's tasks run.
        for step in self.children(job, |name| name.starts_with("step_") && name != EXTERN) {
            let Ok(user) = step.child(USER) else {
                continue;
            };
            for leaf in self.children(&user, |_| true) {
                match State::now(&leaf).unwrap_or_default() {
                    state if !state.is_populated => {}
                    state if state.is_frozen => has_frozen = true,
                    _ => return true,
                }
            }
        }
        !has_frozen
    }

    /// Each is opened when it is looked at. One that has ended meanwhile cannot be opened.
    fn children<'f>(
        &mut self,
        folder: &'f Folder,
        is: fn(&str) -> bool,
    ) -> impl Iterator<Item = Folder> + use<'f> {
        let names = folder.children(self.left);
        self.left -= names.len();
        let names = names.into_iter().filter(move |name| is(name));
        names.filter_map(|name| folder.child(&name).ok())
    }

    /// Whether a process lives there or so many folders deeper. v1 keeps no count.
    fn has_process(&mut self, folder: &Folder, depth: usize) -> bool {
        let own = folder.read("cgroup.procs");
        own.is_ok_and(|text| !text.is_empty())
            || depth > 0
                && self
                    .children(folder, |_| true)
                    .any(|below| self.has_process(&below, depth - 1))
    }
}

/// The jobs below a scope of the unified hierarchy in which a process lives.
pub(super) fn populated(scope: &Folder) -> impl Iterator<Item = Folder> {
    Walk { left: MOST }.populated(scope)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::fake::write as file;
    use super::*;

    fn jobs(dir: &Path, version: Version, left: usize) -> String {
        let place = Place {
            version,
            ..Place::made_up(dir)
        };
        let folder = place.open().unwrap();
        Walk { left }.jobs(&folder, version).to_string()
    }

    /// Five jobs below a scope.
    fn five_jobs(dir: &Path) -> Place {
        for (job, cpus, leaves) in [
            ("job_1", "0-1\n", &["populated 1\nfrozen 0\n"][..]),
            (
                "job_2",
                "2\n",
                &["populated 1\nfrozen 1\n", "populated 0\nfrozen 0\n"],
            ),
            (
                "job_3",
                "3\n",
                &["populated 1\nfrozen 1\n", "populated 1\nfrozen 0\n"],
            ),
            ("job_4", "4\n", &["populated 0\nfrozen 0\n"]),
            ("job_5", "5\n", &["populated 1\nfrozen 0\n"]),
        ] {
            file(dir, &format!("{job}/cgroup.events"), "populated 1\n");
            file(dir, &format!("{job}/cpuset.cpus"), cpus);
            for (at, events) in leaves.iter().enumerate() {
                let path = format!("{job}/step_{at}/user/task_0/cgroup.events");
                file(dir, &path, events);
            }
        }
        Place::made_up(dir)
    }

    #[test]
    fn frozen_jobs_do_not_run() {
        let dir = tempfile::tempdir().unwrap();
        let place = five_jobs(dir.path());
        let folder = place.open().unwrap();
        let running = Walk { left: MOST }.running(&folder, "job_5");
        let text = |job: &Running| format!("{} {}", job.name, job.cpus);
        let mut found: Vec<_> = running.iter().map(text).collect();
        found.sort();
        assert_eq!(found, ["job_1 0-1", "job_3 3", "job_4 4"]);
    }

    #[test]
    fn jobs_of_the_unified_hierarchy() {
        let dir = tempfile::tempdir().unwrap();
        for (job, cpus, populated) in [
            ("job_1", "0-1\n", "populated 1\nfrozen 0\n"),
            ("s6XSM80ABJSZ00", "4\n", "frozen 1\npopulated 1\n"),
            ("job_3", "5\n", "populated 0\nfrozen 0\n"),
            ("job_4", "\n", "populated 1\n"),
            ("slurmd", "6\n", "populated 1\n"),
            ("system", "7\n", "populated 1\n"),
        ] {
            file(dir.path(), &format!("{job}/cpuset.cpus"), cpus);
            file(dir.path(), &format!("{job}/cgroup.events"), populated);
        }
        assert_eq!(jobs(dir.path(), Version::V2, MOST), "0-1,4");
        assert_eq!(jobs(dir.path(), Version::V2, 0), "");
    }

    #[test]
    fn jobs_of_v1() {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in [
            ("uid_7/job_1/cpuset.cpus", "0-1\n"),
            ("uid_7/job_1/step_0/cgroup.procs", ""),
            ("uid_7/job_1/step_0/task_0/cgroup.procs", "41\n"),
            ("uid_8/job_2/cpuset.cpus", "3\n"),
            ("uid_8/job_2/step_0/cgroup.procs", "42\n"),
            ("uid_8/job_3/cpuset.cpus", "4\n"),
            ("uid_8/job_3/step_0/cgroup.procs", "\n"),
            ("system/job_4/cpuset.cpus", "5\n"),
            ("system/job_4/cgroup.procs", "43\n"),
        ] {
            file(dir.path(), path, text);
        }
        assert_eq!(jobs(dir.path(), Version::V1, MOST), "0-1,3");
    }
}
