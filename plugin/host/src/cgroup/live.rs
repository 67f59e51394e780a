//! What the jobs of a node do at this moment, for somebody who looks on: the CPU time that a step's tasks have used, and
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
    use std::path::Path;

    fn job(dir: &Path, name: &str, populated: u8, pressure: &str) {
        let events = format!("populated {populated}\nfrozen 0\n");
        fake::write(&dir.join(name), "cgroup.events", &events);
        fake::write(&dir.join(name), "cpu.pressure", pressure);
    }

    fn waiting(dir: &Path) -> Waiting {
        let mut all = Waiting::default();
        all.add(&fake::open(dir), &BTreeSet::from(["job_1".to_owned()]));
        all
    }

    #[test]
    fn the_job_outside_of_pools_that_waits_most_is_told() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(waiting(dir.path()), Waiting::default());
        let line = |full: &str| {
            format!("some avg10=99.50 avg60=0.00 total=9\nfull avg10={full} avg60=0.00 total=9\n")
        };
        for (name, populated, full) in [
            ("job_1", 1, "99.00"),
            ("job_2", 1, "12.25"),
            ("s6XSM80ABJSZ00", 1, "96.50"),
            ("job_4", 0, "98.00"),
            ("slurmd", 1, "98.00"),
        ] {
            job(dir.path(), name, populated, &line(full));
        }
        let most = Some(96.5);
        assert_eq!(waiting(dir.path()), Waiting { jobs: 2, most });
        // One for which the kernel has no answer leaves the others'.
        job(
            dir.path(),
            "job_5",
            1,
            "some avg10=1.00 avg60=0.00 total=9\n",
        );
        assert_eq!(waiting(dir.path()), Waiting { jobs: 3, most });
    }

    #[test]
    fn a_kernel_that_does_not_count_is_unknown() {
        let dir = tempfile::tempdir().unwrap();
        for text in [
            "",
            "full avg10=x",
            "full avg10=101.00",
            "full",
            "some avg10=7.00\n",
        ] {
            job(dir.path(), "job_2", 1, text);
            let unknown = Waiting {
                jobs: 1,
                most: None,
            };
            assert_eq!(waiting(dir.path()), unknown, "{text}");
        }
    }

    #[test]
    fn the_kernels_lines() {
        let text = "some avg10=0.12 avg60=0.00 avg300=0.00 total=4711\n\
                    full avg10=0.00 avg60=0.00 avg300=0.00 total=7\n";
        let total = |text, line| pressure::<u64>(text, line, "total=");
        assert_eq!(total(text, "some "), Some(4711));
        assert_eq!(total(text, "full "), Some(7));
        assert_eq!(total("full avg10=0.00 total=7\n", "some "), None);
        assert_eq!(total("", "full "), None);
        let text = "usage_usec 75022443\nuser_usec 51632000\nsystem_usec 23390443\n";
        assert_eq!(usage(text), Some(75_022_443));
        assert_eq!(usage("nr_periods 0\n"), None);
    }
    #[test]
    fn a_kernel_that_does_not_count_gives_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let cgroup = fake::open(dir.path());
        assert_eq!(some_pressure(&cgroup), None);
        assert!(cpu_time(&cgroup).is_err());
        let put = |file: &str, text: &str| fake::write(dir.path(), file, text);
        put("cpu.pressure", "some avg10=0.00 total=4711\n");
        put("cpu.stat", "usage_usec 99\n");
        assert_eq!(
            (some_pressure(&cgroup), full_pressure(&cgroup)),
            (Some(4711), None)
        );
        assert_eq!(cpu_time(&cgroup).unwrap(), 99);
        put("cpu.stat", "nr_periods 0\n");
        let why = cpu_time(&cgroup).unwrap_err().to_string();
        assert!(why.ends_with("/cpu.stat has no usage_usec"), "{why}");
    }
}
