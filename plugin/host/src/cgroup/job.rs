//! The folders of a job and of a step among Slurm's cgroups, for what concerns a job as a whole: its weight beside
//! other jobs, and the CPU time that its tasks have used.
//! In: the cgroup of the calling slurmstepd. Out: `cpu.weight` written and read back, `cpu.stat`.

use super::{FenceError, Folder, Mounts, Place, Version, Written};

/// Below the job's folder the step's, and slurmstepd's own in it: `JOB/step_X/slurm`.
const OWN: &str = "slurm";
/// Beside slurmstepd's own: the tasks'.
const TASKS: &str = "user";

/// The folders of the unified hierarchy in which a slurmstepd and its tasks live.
#[derive(Debug)]
pub struct JobFolders {
    job: Folder,
    tasks: Folder,
}

impl JobFolders {
    /// Those of the calling slurmstepd.
    ///
    /// # Errors
    /// [`FenceError`]: there is no unified hierarchy, or Slurm keeps this process elsewhere.
    pub fn own() -> Result<Self, FenceError> {
        let mounts = Mounts::read()
            .map_err(|why| FenceError::Place(format!("/proc/self/mountinfo: {why}")))?;
        Self::of(&Place::of(0, &mounts)?)
    }

    fn of(place: &Place) -> Result<Self, FenceError> {
        let is_slurms = matches!(
            place.folders.as_slice(),
            [_, .., step, own] if step.starts_with("step_") && own == OWN
        );
        if place.version != Version::V2 || !is_slurms {
            return Err(FenceError::Place(format!(
                "{place} is no folder of the unified cgroup hierarchy in which Slurm keeps a step; pools need \
                 cgroup v2 and proctrack/cgroup or task/cgroup"
            )));
        }
        let tasks = place.above(1).open()?.child(TASKS)?;
        Ok(Self {
            job: place.above(2).open()?,
            tasks,
        })
    }

    /// Gives the job its weight beside all other jobs.
    ///
    /// # Errors
    /// [`FenceError`]: the cpu controller is not there, or the kernel has another weight.
    pub fn set_weight(&self, weight: u32) -> Result<Written, FenceError> {
        const FILE: &str = "cpu.weight";
        let value = weight.to_string();
        self.job.write(FILE, &value)?;
        let now = self.job.read(FILE)?;
        if now != value {
            let file = self.job.file(FILE);
            return Err(FenceError::Place(format!(
                "{file} has {now} after {value} was written"
            )));
        }
        Ok(Written {
            file: self.job.file(FILE),
            value,
            now,
        })
    }

    /// The CPU time of all tasks of the step so far, in microseconds.
    ///
    /// # Errors
    /// [`FenceError`]
    pub fn used(&self) -> Result<u64, FenceError> {
        const FILE: &str = "cpu.stat";
        let text = self.tasks.read(FILE)?;
        let found = text
            .lines()
            .find_map(|line| line.strip_prefix("usage_usec "));
        let used = found.and_then(|text| text.parse().ok());
        used.ok_or_else(|| {
            FenceError::Place(format!("{} has no usage_usec", self.tasks.file(FILE)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_slurms_own_place_is_taken() {
        for (version, path) in [
            (Version::V1, &["slurm_n", "uid_0", "job_1", "step_0"][..]),
            (Version::V2, &["system.slice", "ssh.service"]),
            (Version::V2, &["step_0", "slurm"]),
            (Version::V2, &["scope", "job_1", "step_0", "user"]),
            (Version::V2, &[]),
        ] {
            let place = Place {
                version,
                point: "/no/such/mount".into(),
                folders: path.iter().map(ToString::to_string).collect(),
            };
            let why = JobFolders::of(&place).unwrap_err().to_string();
            assert!(why.contains("no folder of the unified"), "{why}");
        }
    }
}
