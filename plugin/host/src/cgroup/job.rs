//! The folders of a job and of a step among Slurm's cgroups, for what concerns a job as a whole: its weight beside
//! other jobs, its tasks beside their slurmstepd, and the CPU time that its tasks have used.
//! In: the cgroup of the calling slurmstepd. Out: `cpu.weight` and `cpu.idle` written and read back, `cpu.stat`.

use std::fs;

use berth_placement::pools::HIGHEST;

use super::jobs::NO_JOBS;
use super::{FenceError, Folder, Mounts, Place, Version, Written, members};

/// Beside slurmstepd's own: the tasks'.
pub(super) const TASKS: &str = "user";

/// A job's weight.
pub(super) const WEIGHT: &str = "cpu.weight";
/// The one that the kernel gives every job.
pub const USUAL_WEIGHT: u32 = 100;
/// The least that the kernel takes.
const LOWEST: u32 = 1;
/// The most jobs of a node, so that a strange tree costs little.
const MOST_JOBS: usize = 20_000;
/// Whether the tasks are idle ones.
pub(super) const IDLE: &str = "cpu.idle";

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
        let mounts = Mounts::read()
            .map_err(|why| FenceError::Place(format!("/proc/self/mountinfo: {why}")))?;
        Self::of(&Place::of(0, &mounts)?)
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
        put(&self.job, WEIGHT, weight.to_string())
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
        put(&self.own, WEIGHT, HIGHEST.to_string())
    }

    /// Makes the step's tasks idle ones beside their slurmstepd, its only sibling. Nothing need be taken back: the
    /// folder ends with the step.
    ///
    /// An idle group weighs 3 beside the 10 of this slurmstepd (`WEIGHT_IDLEPRIO` of kernel/sched/sched.h), which goes
    /// first whenever it wakes, whatever it weighs. More would be too much: while slurmstepd collects a task that has ended,
    /// the kernel waits busily for what the task still has to do (`shrink_dcache_parent` of fs/dcache.c, before Linux
    /// 7.1), and with the highest weight the task had a turn once in a minute and a half.
    ///
    /// # Errors
    /// [`FenceError`]: the kernel has no `cpu.idle` (before Linux 5.15), or the cpu controller is not there.
    pub fn set_idle(&self) -> Result<[Written; 2], FenceError> {
        let idle = put(&self.tasks, IDLE, "1".into())?;
        Ok([idle, put(&self.own, WEIGHT, LOWEST.to_string())?])
    }

    /// The threads of the step's tasks.
    #[must_use]
    pub fn threads(&self) -> Vec<members::Thread> {
        members::threads(&members::processes(&self.tasks))
    }

    /// The time so far in which tasks of the step wanted a CPU and none of them had one, in microseconds. Nothing where the
    /// kernel does not count it.
    #[must_use]
    pub fn all_waited(&self) -> Option<u64> {
        super::load::all_waited(&self.tasks)
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

/// Gives a job the weight of jobs outside of pools, from outside of it, if it has more. Nothing if it has not.
///
/// # Errors
/// [`FenceError`]: the job has ended, its folder is not root's, or the kernel has another weight.
pub fn lower_job(place: &Place, others: u32) -> Result<Option<Written>, FenceError> {
    let folder = place.open()?;
    if place.version != Version::V2 || !folder.is_roots() {
        return Ok(None);
    }
    lowered(&folder, others)
}

fn lowered(job: &Folder, others: u32) -> Result<Option<Written>, FenceError> {
    let weight = job.read(WEIGHT)?.parse::<u32>();
    let is_more = weight.is_ok_and(|weight| weight > others);
    is_more
        .then(|| put(job, WEIGHT, others.to_string()))
        .transpose()
}

/// Gives jobs below such a cgroup of the unified hierarchy their weights, where they have others; a job without an answer
/// keeps its own. Returns how many have another one now.
///
/// # Errors
/// [`FenceError`]: the folder cannot be read.
pub fn weigh_jobs(
    scope: &Place,
    weight: &dyn Fn(&Place) -> Option<u32>,
) -> Result<usize, FenceError> {
    let folder = scope.open()?;
    match scope.version == Version::V2 && folder.is_roots() {
        true => Ok(weighed(&folder, scope, weight)),
        false => Ok(0),
    }
}

/// Whether [`weigh_jobs`] would write the weight of a job. The kernel is asked for one number for each job, and nothing is
/// written.
///
/// # Errors
/// [`FenceError`]: the folder cannot be read.
pub fn has_other_weights(
    scope: &Place,
    weight: &dyn Fn(&Place) -> Option<u32>,
) -> Result<bool, FenceError> {
    let folder = scope.open()?;
    let is_ours = scope.version == Version::V2 && folder.is_roots();
    Ok(is_ours && has_others(&folder, scope, weight))
}

fn has_others(folder: &Folder, scope: &Place, weight: &dyn Fn(&Place) -> Option<u32>) -> bool {
    weighed_otherwise(folder, scope, weight).next().is_some()
}

fn weighed(folder: &Folder, scope: &Place, weight: &dyn Fn(&Place) -> Option<u32>) -> usize {
    let others = weighed_otherwise(folder, scope, weight);
    let done = others.filter(|(job, wanted)| put(job, WEIGHT, wanted.clone()).is_ok());
    done.count()
}

/// The jobs that have another weight, and the one that they should have.
fn weighed_otherwise(
    folder: &Folder,
    scope: &Place,
    weight: &dyn Fn(&Place) -> Option<u32>,
) -> impl Iterator<Item = (Folder, String)> {
    let is_job = |name: &String| !NO_JOBS.contains(&name.as_str());
    let names = folder.children(MOST_JOBS).into_iter().filter(is_job);
    names.filter_map(|name| {
        let wanted = weight(&scope.below(&name))?.to_string();
        // One that has ended meanwhile cannot be opened.
        let job = folder.child(&name).ok().filter(Folder::is_roots)?;
        let has = job.read(WEIGHT).ok()?;
        (has != wanted).then_some((job, wanted))
    })
}

/// Writes a file, and reads it back.
pub(super) fn put(folder: &Folder, file: &str, value: String) -> Result<Written, FenceError> {
    folder.write(file, &value)?;
    let now = folder.read(file)?;
    let path = folder.file(file);
    match now == value {
        true => Ok(Written {
            file: path,
            value,
            now,
        }),
        false => Err(FenceError::Place(format!(
            "{path} has {now} after {value} was written"
        ))),
    }
}

/// Why the kernel does not compare this process's threads with those of other jobs one by one, by their niceness;
/// nothing if it does: no cgroup between has a share of its own.
#[must_use]
pub fn nice_obstacle() -> Option<String> {
    let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let with_share = |place: &Place| {
        let above = (0..=place.folders.len()).map(|up| place.above(up));
        above
            .filter(|place| !place.folders.is_empty())
            .find(|place| place.open().is_ok_and(|folder| folder.read(WEIGHT).is_ok()))
    };
    let unified = Mounts::read()
        .ok()
        .and_then(|mounts| Place::of(0, &mounts).ok())
        .filter(|place| place.version == Version::V2)
        .and_then(|place| with_share(&place));
    let autogroup = fs::read_to_string("/proc/sys/kernel/sched_autogroup_enabled");
    let autogroup = autogroup.is_ok_and(|text| text.trim() == "1");
    among_all(&own, unified.map(|place| place.folders), autogroup)
}

/// In: `/proc/self/cgroup`, the innermost folder with a share in the unified hierarchy, and whether the kernel groups
/// by session.
fn among_all(own: &str, unified: Option<Vec<String>>, autogroup: bool) -> Option<String> {
    let of_cpu = own.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':');
        let is_cpu = parts.nth(1)?.split(',').any(|name| name == "cpu");
        parts.next().filter(|_| is_cpu)
    });
    let folders: Vec<String> = match of_cpu {
        Some(path) => path
            .split('/')
            .filter(|name| !name.is_empty())
            .map(Into::into)
            .collect(),
        None => unified.unwrap_or_default(),
    };
    let is_jobs = |name: &String| name.starts_with("job_") || name.starts_with("step_");
    if folders.iter().any(is_jobs) {
        return Some("Slurm gives each job a share of the CPUs of its own by cgroup v1".into());
    }
    let is_grouped = folders.is_empty() && autogroup;
    is_grouped.then(|| {
        "kernel.sched_autogroup_enabled=1 gives each session an equal share, whatever its niceness; set it to 0".into()
    })
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

    #[test]
    fn only_a_weight_that_is_more_becomes_less() {
        let dir = tempfile::tempdir().unwrap();
        let place = Place {
            version: Version::V2,
            point: dir.path().into(),
            folders: Vec::new(),
        };
        let folder = Folder::open_as(&place, super::super::folder::Kind::Any).unwrap();
        assert!(lowered(&folder, 50).is_err(), "no controller");
        for (before, now) in [("77\n", Some("50")), ("50\n", None), ("09\n", None)] {
            fs::write(dir.path().join(WEIGHT), before).unwrap();
            let done = lowered(&folder, 50).unwrap();
            assert_eq!(done.map(|done| done.now).as_deref(), now, "{before}");
        }
    }

    #[test]
    fn running_jobs_get_the_weights_of_a_changed_file() {
        // Only root's folders are written.
        if !nix::unistd::geteuid().is_root() {
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let scope = Place {
            version: Version::V2,
            point: dir.path().into(),
            folders: Vec::new(),
        };
        let folder = Folder::open_as(&scope, super::super::folder::Kind::Any).unwrap();
        let job = |name: &str| dir.path().join(name).join(WEIGHT);
        for name in ["job_1", "s6XSM80ABJSZ00", "job_3", "job_4", "system"] {
            fs::create_dir(dir.path().join(name)).unwrap();
            fs::write(job(name), "100\n").unwrap();
        }
        fs::remove_file(job("job_4")).unwrap();
        let pools_own = scope.below("s6XSM80ABJSZ00").to_string();
        let kept = scope.below("job_3").to_string();
        let weight = |place: &Place| match place.to_string() {
            name if name == pools_own => Some(5000),
            name if name == kept => None,
            _ => Some(38),
        };
        assert!(has_others(&folder, &scope, &weight));
        assert_eq!(fs::read_to_string(job("job_1")).unwrap(), "100\n", "read");
        assert_eq!(weighed(&folder, &scope, &weight), 2);
        assert!(!has_others(&folder, &scope, &weight));
        assert_eq!(weighed(&folder, &scope, &weight), 0);
        // What cgroups round off, files keep.
        let now = |name: &str| fs::read_to_string(job(name)).unwrap();
        let first = |name: &str| {
            now(name)
                .split_whitespace()
                .next()
                .unwrap_or_default()
                .to_string()
        };
        assert_eq!(
            ["job_1", "s6XSM80ABJSZ00", "job_3", "system"].map(first),
            ["38", "5000", "100", "100"].map(String::from)
        );
    }

    #[test]
    fn where_niceness_counts() {
        let folder = |path: &[&str]| Some(path.iter().map(ToString::to_string).collect());
        let why = |own, unified, autogroup| among_all(own, unified, autogroup);
        assert_eq!(why("0::/\n", None, false), None);
        assert!(why("0::/\n", None, true).is_some_and(|why| why.contains("autogroup")));
        let service = folder(&["system.slice", "slurmd.service"]);
        assert_eq!(
            why("0::/system.slice/slurmd.service\n", service, true),
            None
        );
        let v1 = "4:cpu,cpuacct:/slurm/uid_0/job_1/step_0\n5:cpuset:/slurm\n0::/\n";
        assert!(why(v1, None, false).is_some_and(|why| why.contains("v1")));
        assert_eq!(
            why("4:cpu,cpuacct:/slurmd\n5:cpuset:/job_1\n", None, true),
            None
        );
        let job = folder(&["slurmstepd.scope", "job_1"]);
        assert!(why("0::/x\n", job, false).is_some());
    }
}
