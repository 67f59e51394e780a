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
    use super::super::fake;
    use super::*;
    use crate::facts_text::hold;

    #[test]
    fn facts() {
        hold(include_str!("jobs.txt"), |files, question| {
            let dir = fake::folder(files);
            let words: Vec<_> = question.split(' ').collect();
            let version = match words[1] {
                "v1" => Version::V1,
                _ => Version::V2,
            };
            let place = Place {
                version,
                ..Place::made_up(dir.path())
            };
            let folder = place.open().unwrap();
            let left = words.get(2).map_or(MOST, |left| left.parse().unwrap());
            let mut walk = Walk { left };
            if words[0] == "jobs" {
                return walk.jobs(&folder, version).to_string();
            }
            let running = walk.running(&folder, words[1]);
            let text = |job: &Running| format!("{} {}", job.name, job.cpus);
            let mut found: Vec<_> = running.iter().map(text).collect();
            found.sort();
            found.join("; ")
        });
    }
}
