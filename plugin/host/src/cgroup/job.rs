//! The folders of a job and of a step among Slurm's cgroups, for what concerns a job as a whole: its weight beside
//! other jobs, its tasks beside their slurmstepd, and the CPU time that its tasks have used.
//! In: the cgroup of the calling slurmstepd. Out: `cpu.weight` written and read back, `cpu.stat`, `cpu.pressure`.
//! In cgroup v1 Slurm 22.05 removes a step's folder once, before berth learns that the step has ended. Where a task's
//! orphan lived in a child of ours until then, the folder stays, and with it those of the job and user. berth removes
//! them then, under the lock that Slurm itself takes for that. Source: `_step_destroy_internal`, `common_cgroup_lock`.

use std::thread::sleep;
use std::time::Duration;

use berth_placement::pools::HIGHEST;
use nix::fcntl::{Flock, FlockArg};

use super::{FenceError, Folder, Mounts, Place, Version, Written, live};
use crate::kernel_text;

/// Beside slurmstepd's own: the tasks'.
const TASKS: &str = "user";

/// A job's weight.
const WEIGHT: &str = "cpu.weight";
/// The one that the kernel gives every job.
pub const USUAL_WEIGHT: u32 = 100;

/// The folders of the unified hierarchy in which a slurmstepd and its tasks live.
#[derive(Debug)]
pub struct JobFolders {
    job: Folder,
    own: Folder,
    tasks: Folder,
}

impl JobFolders {
    /// Those of the calling slurmstepd.
    ///
    /// # Errors
    /// [`FenceError`]: there is no unified hierarchy, or Slurm keeps this process elsewhere.
    pub fn own() -> Result<Self, FenceError> {
        Self::of(&Place::of(0, &Mounts::read()?)?)
    }

    pub(super) fn of(place: &Place) -> Result<Self, FenceError> {
        let Some(job) = place.job_of_slurmstepd() else {
            return Err(FenceError::Place(format!(
                "{place} is no folder of the unified cgroup hierarchy in which Slurm keeps a step; pools need \
                 cgroup v2 and proctrack/cgroup or task/cgroup"
            )));
        };
        let tasks = place.above(1).open()?.child(TASKS)?;
        Ok(Self {
            job: job.open()?,
            own: place.open()?,
            tasks,
        })
    }

    /// Gives the job its weight beside all other jobs.
    ///
    /// # Errors
    /// [`FenceError`]: the cpu controller is not there, or the kernel has another weight.
    pub fn set_weight(&self, weight: u32) -> Result<Written, FenceError> {
        put(&self.job, weight)
    }

    /// Whether the job has the weight that the kernel gives every cgroup.
    ///
    /// # Errors
    /// [`FenceError`]: the cpu controller is not there.
    pub fn is_unweighed(&self) -> Result<bool, FenceError> {
        Ok(self.job.read(WEIGHT)? == USUAL_WEIGHT.to_string())
    }

    /// Lets slurmstepd go before its step's busy tasks, as far as weights can: what is left to a job beside a busy pool
    /// is slurmstepd's first. Nothing need be taken back: the folder ends with the step.
    ///
    /// # Errors
    /// As for [`Self::set_weight`].
    pub fn set_first(&self) -> Result<Written, FenceError> {
        put(&self.own, HIGHEST)
    }

    /// The time so far in which tasks of the step wanted a CPU and none of them had one, in microseconds. Nothing where the
    /// kernel does not count it.
    #[must_use]
    pub fn all_waited(&self) -> Option<u64> {
        live::full_pressure(&self.tasks)
    }

    /// The time so far in which at least one task of the step waited for a CPU, in microseconds. Nothing where the kernel
    /// does not count it.
    #[must_use]
    pub fn waited(&self) -> Option<u64> {
        live::some_pressure(&self.tasks)
    }

    /// The CPU time of all tasks of the step so far, in microseconds.
    ///
    /// # Errors
    /// [`FenceError`]
    pub fn used(&self) -> Result<u64, FenceError> {
        live::cpu_time(&self.tasks)
    }
}

/// Writes a weight, which the kernel must have afterwards.
fn put(folder: &Folder, weight: u32) -> Result<Written, FenceError> {
    let done = folder.put(WEIGHT, &weight.to_string())?;
    match done.now == done.value {
        true => Ok(done),
        false => Err(FenceError::Place(format!(
            "{} has {} after {} was written",
            done.file, done.now, done.value
        ))),
    }
}

/// Why the kernel does not compare this process's threads with those of other jobs one by one, by their niceness;
/// nothing if it does: no cgroup between has a share of its own.
#[must_use]
pub fn nice_obstacle() -> Option<String> {
    let mounts = Mounts::read().unwrap_or_default();
    let with_share = |place: &Place| {
        let above = (0..=place.folders.len()).map(|up| place.above(up));
        above
            .filter(|place| !place.folders.is_empty())
            .find(|place| place.open().is_ok_and(|folder| folder.read(WEIGHT).is_ok()))
    };
    let own = Place::in_hierarchy(0, &mounts, "cpu").ok();
    let own = own.and_then(|place| match place.version {
        Version::V1 => Some(place),
        Version::V2 => with_share(&place),
    });
    let autogroup = kernel_text::read("/proc/sys/kernel/sched_autogroup_enabled");
    let autogroup = autogroup.is_ok_and(|text| text.trim() == "1");
    among_all(
        &own.map(|place| place.folders).unwrap_or_default(),
        autogroup,
    )
}

/// In: the innermost folder with a share, none for the root, and whether the kernel groups by session.
fn among_all(folders: &[String], autogroup: bool) -> Option<String> {
    let is_jobs = |name: &String| name.starts_with("job_") || name.starts_with("step_");
    if folders.iter().any(is_jobs) {
        return Some("Slurm gives each job a share of the CPUs of its own by cgroup v1".into());
    }
    let is_grouped = folders.is_empty() && autogroup;
    is_grouped.then(|| {
        "kernel.sched_autogroup_enabled=1 gives each session an equal share, whatever its niceness; set it to 0".into()
    })
}

/// The folders of Slurm's tree above a task, from the lowest.
const FOLDERS: [&str; 3] = ["step_", "job_", "uid_"];
/// Slurm keeps the lock for as long as it makes or removes some folders. Others may open the folder and
/// lock it too, so nobody is waited for much longer.
const TRIES: u32 = 20;
const A_MOMENT: Duration = Duration::from_millis(1);

/// Removes the folders of a step in which nobody lives any more; the first that is in use ends it.
pub fn remove_slurms_step(place: &Place) {
    if !place.is_slurms_step() {
        return;
    }
    let root = place.above(usize::MAX).open().ok();
    // The lock ends with this value.
    let Some(_locked) = root.and_then(locked) else {
        return;
    };
    for (level, prefix) in FOLDERS.iter().enumerate() {
        let own = place.above(level);
        let Some(name) = own.folders.last().filter(|name| name.starts_with(prefix)) else {
            return;
        };
        let above = own.above(1).open();
        if !above.is_ok_and(|above| above.remove(name).is_ok()) {
            return;
        }
    }
}

fn locked(root: Folder) -> Option<Flock<std::os::fd::OwnedFd>> {
    let mut fd = root.into_fd();
    for _ in 0..TRIES {
        match Flock::lock(fd, FlockArg::LockExclusiveNonblock) {
            Ok(locked) => return Some(locked),
            Err((back, _)) => fd = back,
        }
        sleep(A_MOMENT);
    }
    None
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
                is_made_up: false,
            };
            let why = JobFolders::of(&place).unwrap_err().to_string();
            assert!(why.contains("no folder of the unified"), "{why}");
        }
    }

    #[test]
    fn where_niceness_counts() {
        let why = |path: &str, autogroup| {
            let folders: Vec<_> = path.split_terminator('/').map(String::from).collect();
            among_all(&folders, autogroup)
        };
        assert_eq!(why("", false), None);
        assert!(why("", true).is_some_and(|why| why.contains("autogroup")));
        assert_eq!(why("system.slice/slurmd.service", true), None);
        let v1 = why("slurm/uid_0/job_1/step_0", false);
        assert!(v1.is_some_and(|why| why.contains("v1")));
        assert!(why("slurmstepd.scope/job_1", false).is_some());
    }
}
