//! The load of a node's jobs at this moment, for somebody who looks on: the CPU time that a step's tasks have used, and
//! how much the jobs outside of pools wait for a CPU.
//! In: the cgroup of a slurmstepd, and the one below which Slurm keeps a node's jobs. Out: the kernel's counts, which only
//! the unified hierarchy keeps for each cgroup.

use std::collections::BTreeSet;
use std::str::FromStr;

use super::{FenceError, Folder, JobFolders, Place, Version, jobs};

/// A slurmstepd lives so many folders below a node's scope: `job_1/step_0/slurm`.
const DOWN: usize = 3;

/// A step at a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepNow {
    /// The cgroup below which Slurm keeps the node's jobs.
    pub scope: Place,
    /// The name of its job's folder there.
    pub job: String,
    /// The CPU time of all its tasks so far, in microseconds.
    pub used: u64,
}

impl StepNow {
    /// The step of a slurmstepd that lives at this place.
    ///
    /// # Errors
    /// [`FenceError`]: Slurm keeps it elsewhere than in the unified hierarchy, or the step has ended.
    pub fn of(slurmstepd: &Place) -> Result<Self, FenceError> {
        let used = JobFolders::of(slurmstepd)?.used()?;
        Ok(Self {
            scope: slurmstepd.above(DOWN),
            job: slurmstepd.above(DOWN - 1).name().unwrap_or_default().into(),
            used,
        })
    }
}

/// How much some jobs wait for a CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Waiting {
    /// The number of jobs.
    pub jobs: usize,
    /// The part of the last ten seconds in which threads of a job wanted a CPU and none of them had one, in per cent, for
    /// the job with the largest. Nothing where the kernel does not count it (before Linux 5.13, or `psi=0`).
    pub most: Option<f64>,
}

impl Waiting {
    /// The jobs below these scopes, but for those whose folders have certain names. A job without processes does not
    /// count. Nothing where no scope is in the unified hierarchy.
    #[must_use]
    pub fn of(scopes: &[Place], except: &BTreeSet<String>) -> Option<Self> {
        let of_v2 = scopes.iter().filter(|scope| scope.version == Version::V2);
        let folders = of_v2.filter_map(|scope| scope.open().ok());
        folders.filter(Folder::is_roots).fold(None, |all, scope| {
            let mut all: Self = all.unwrap_or_default();
            all.add(&scope, except);
            Some(all)
        })
    }

    fn add(&mut self, scope: &Folder, except: &BTreeSet<String>) {
        for job in jobs::populated(scope).filter(|job| !except.contains(job.name())) {
            self.jobs += 1;
            let text = job.read("cpu.pressure").unwrap_or_default();
            let full = pressure(&text, "full ", "avg10=");
            let full = full.filter(|found| (0.0..=100.0).contains(found));
            self.most = [self.most, full]
                .into_iter()
                .flatten()
                .max_by(f64::total_cmp);
        }
    }
}

/// The time in which at least one thread of this cgroup waited for a CPU. Nothing where the kernel does not count it (`psi=0`).
pub(super) fn some_pressure(cgroup: &Folder) -> Option<u64> {
    pressure(&cgroup.read("cpu.pressure").ok()?, "some ", "total=")
}

/// The CPU time of all threads of this cgroup, also of those that have ended.
pub(super) fn cpu_time(cgroup: &Folder) -> Result<u64, FenceError> {
    const FILE: &str = "cpu.stat";
    let used = usage(&cgroup.read(FILE)?);
    used.ok_or_else(|| FenceError::Place(format!("{} has no usage_usec", cgroup.file(FILE))))
}

/// The time in which threads of this cgroup wanted a CPU and none of them had one. Nothing where the kernel does not count it
/// (before Linux 5.13, or `psi=0`).
pub(super) fn full_pressure(cgroup: &Folder) -> Option<u64> {
    pressure(&cgroup.read("cpu.pressure").ok()?, "full ", "total=")
}

/// A field of the line of `cpu.pressure` that begins with a word.
fn pressure<T: FromStr>(text: &str, line: &str, field: &str) -> Option<T> {
    let found = text.lines().find_map(|one| one.strip_prefix(line))?;
    let mut words = found.split_whitespace();
    words
        .find_map(|word| word.strip_prefix(field))?
        .parse()
        .ok()
}

fn usage(text: &str) -> Option<u64> {
    let used = text
        .lines()
        .find_map(|line| line.strip_prefix("usage_usec "));
    used?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::super::fake;
    use super::*;
    use crate::facts_text::hold;

    /// The jobs below a scope that wait, but for job 1, which is in a pool.
    fn waiting(scope: &Folder) -> String {
        let mut all = Waiting::default();
        all.add(scope, &BTreeSet::from(["job_1".to_owned()]));
        let most = all.most.map_or("unknown".into(), |most| most.to_string());
        format!("{} jobs, {most}", all.jobs)
    }

    fn known(found: Option<u64>) -> String {
        found.map_or("unknown".into(), |found| found.to_string())
    }

    #[test]
    fn facts() {
        hold(include_str!("live.txt"), |files, question| {
            let dir = fake::folder(files);
            let cgroup = fake::open(dir.path());
            match question {
                "waiting" => waiting(&cgroup),
                "some" => known(some_pressure(&cgroup)),
                "full" => known(full_pressure(&cgroup)),
                _ => match cpu_time(&cgroup) {
                    Ok(time) => time.to_string(),
                    Err(why) => why.to_string(),
                },
            }
        });
    }
}
