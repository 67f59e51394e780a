//! What the jobs of a node do at this moment, for somebody who looks on: the CPU time that a step's tasks have used, and
//! how much the jobs outside of pools wait for a CPU.
//! In: the cgroup of a slurmstepd, and the one below which Slurm keeps a node's jobs. Out: the kernel's counts, which only
//! the unified hierarchy keeps for each cgroup.

use std::collections::BTreeSet;

use super::{FenceError, Folder, JobFolders, Place, Version, jobs, pressure};

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
            let pressure = job.read("cpu.pressure").unwrap_or_default();
            let full = pressure::pressure(&pressure, "full ", "avg10=");
            let full = full.filter(|found| (0.0..=100.0).contains(found));
            self.most = [self.most, full]
                .into_iter()
                .flatten()
                .max_by(f64::total_cmp);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::super::fake;
    use super::*;

    fn job(dir: &Path, name: &str, populated: u8, pressure: &str) {
        let job = dir.join(name);
        fs::create_dir_all(&job).unwrap();
        fs::write(
            job.join("cgroup.events"),
            format!("populated {populated}\nfrozen 0\n"),
        )
        .unwrap();
        fs::write(job.join("cpu.pressure"), pressure).unwrap();
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
}
