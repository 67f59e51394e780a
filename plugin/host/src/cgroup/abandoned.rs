//! Takes back what pools gave to steps whose slurmstepd was killed: nobody else would. Their tasks live on, as Slurm
//! leaves them.
//! In: the cgroup below which Slurm keeps the jobs of a node, in the unified hierarchy. Out: ordinary tasks, and the
//! weight of a job outside of pools.

use super::freezer::{FREEZE, State};
use super::job::{IDLE, TASKS, WEIGHT, put};
use super::members::{processes, threads};
use super::place::OWN;
use super::stepds::is_slurmstepd;
use super::{FenceError, Folder, Place, Version};
use crate::priority::{is_realtime, set_ordinary};

/// The most folders that are looked at, so that a strange tree costs little.
const MOST: usize = 20_000;
/// So often the threads are listed: a process that makes threads all the time is not followed for ever.
const ROUNDS: u32 = 4;

/// What was taken back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Undone {
    /// The folder of the job or step.
    pub path: String,
    /// Threads that were real-time ones.
    pub threads: usize,
    /// The job's weight before, if it has another one now.
    pub weight: Option<u32>,
    /// Whether the tasks were idle ones.
    pub was_idle: bool,
}

/// Looks at every job below such a cgroup. A job without any slurmstepd gets the weight of jobs outside of pools.
///
/// # Errors
/// [`FenceError`]: the folder cannot be read.
pub fn undo_abandoned(scope: &Place, others: u32) -> Result<Vec<Undone>, FenceError> {
    let folder = scope.open()?;
    match folder.is_roots() && scope.version == Version::V2 {
        true => Ok(jobs(&folder, others)),
        false => Ok(Vec::new()),
    }
}

/// Thaws tasks that a slurmstepd has frozen, while their job waited for CPUs, and that nobody else could thaw because it
/// was killed. What Slurm itself has frozen stays so. Returns how many cgroups were.
///
/// # Errors
/// [`FenceError`]: the folder cannot be read.
pub fn thaw_abandoned(scope: &Place) -> Result<usize, FenceError> {
    let folder = scope.open()?;
    match folder.is_roots() && scope.version == Version::V2 {
        true => Ok(thawed(&folder)),
        false => Ok(0),
    }
}

fn thawed(scope: &Folder) -> usize {
    let mut left = MOST;
    let mut count = 0;
    for job in below(scope, &mut left, |_| true) {
        let steps = below(&job, &mut left, |name| name.starts_with("step_"));
        for step in steps.iter().filter(|step| is_abandoned(step)) {
            let tasks = step.child(TASKS).ok();
            let is = |folder: &Folder, state| folder.read(FREEZE).is_ok_and(|text| text == state);
            let Some(tasks) = tasks.filter(|tasks| is(tasks, "0")) else {
                continue;
            };
            let frozen = below(&tasks, &mut left, |_| true).into_iter();
            let frozen = frozen.filter(|task| is(task, "1"));
            count += frozen
                .filter(|task| put(task, FREEZE, "0".into()).is_ok())
                .count();
        }
    }
    count
}

fn jobs(scope: &Folder, others: u32) -> Vec<Undone> {
    let mut left = MOST;
    let mut all = Vec::new();
    for job in below(scope, &mut left, |_| true) {
        let steps = below(&job, &mut left, is_step);
        let mut abandoned = steps.iter().filter(|step| is_abandoned(step)).peekable();
        let is_any = abandoned.peek().is_some();
        all.extend(abandoned.filter_map(step_undone));
        let has_stepd = steps.iter().any(has_slurmstepd);
        if is_any && !has_stepd {
            all.extend(job_undone(&job, others));
        }
    }
    all
}

fn below(folder: &Folder, left: &mut usize, is: impl Fn(&String) -> bool) -> Vec<Folder> {
    let mut names = folder.children(*left);
    *left -= names.len();
    names.retain(is);
    // One that has ended meanwhile cannot be opened.
    names
        .iter()
        .filter_map(|name| folder.child(name).ok())
        .collect()
}

/// Nobody's tasks are in the step of what was adopted, and its slurmstepd outlives every other.
fn is_step(name: &String) -> bool {
    name.starts_with("step_") && name != "step_extern"
}

/// Whether its tasks live and its slurmstepd does not. The latter is there before the first task, and its folder may
/// be gone before theirs.
fn is_abandoned(step: &Folder) -> bool {
    !has_slurmstepd(step) && lives(step, TASKS) == Some(true)
}

/// Whether its slurmstepd lives. A user's task epilog is in the same folder, and what it leaves behind may stay.
fn has_slurmstepd(step: &Folder) -> bool {
    if lives(step, OWN) != Some(true) {
        return false;
    }
    let all = step.child(OWN).map(|own| processes(&own));
    let all = all.unwrap_or_default();
    // Processes that cannot be seen may be anything.
    all.is_empty() || all.iter().any(|pid| is_slurmstepd(*pid, &all))
}

/// Whether somebody lives in a folder of a step; nothing if there is none.
fn lives(step: &Folder, name: &str) -> Option<bool> {
    let folder = step.child(name).ok()?;
    Some(State::now(&folder).ok()?.is_populated)
}

fn step_undone(step: &Folder) -> Option<Undone> {
    let tasks = step.child(TASKS).ok()?;
    let was_idle =
        tasks.read(IDLE).is_ok_and(|text| text == "1") && put(&tasks, IDLE, "0".into()).is_ok();
    let mut count = 0;
    for _ in 0..ROUNDS {
        let all = threads(&processes(&tasks));
        let found = all.iter().filter(|thread| is_realtime(thread.number));
        let done = found
            .filter(|thread| set_ordinary(thread.number).is_ok())
            .count();
        if done == 0 {
            break;
        }
        count += done;
    }
    (was_idle || count > 0).then(|| Undone {
        path: step.path.clone(),
        threads: count,
        was_idle,
        weight: None,
    })
}

fn job_undone(job: &Folder, others: u32) -> Option<Undone> {
    let weight = job.read(WEIGHT).ok()?.parse::<u32>().ok()?;
    let done = weight > others && put(job, WEIGHT, others.to_string()).is_ok();
    done.then(|| Undone {
        path: job.path.clone(),
        weight: Some(weight),
        ..Undone::default()
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::super::folder::Kind;
    use super::*;

    /// A step whose slurmstepd and tasks live or not.
    fn step(dir: &Path, path: &str, (stepd, tasks): (u8, u8)) {
        for (name, lives) in [(OWN, stepd), (TASKS, tasks)] {
            let folder = dir.join(path).join(name);
            fs::create_dir_all(&folder).unwrap();
            fs::write(
                folder.join("cgroup.events"),
                format!("populated {lives}\nfrozen 0\n"),
            )
            .unwrap();
            fs::write(folder.join(IDLE), "1\n").unwrap();
        }
        let job = dir.join(path).parent().unwrap().join(WEIGHT);
        fs::write(job, "77\n").unwrap();
    }

    #[test]
    fn what_a_killed_slurmstepd_has_frozen_is_thawed() {
        let dir = tempfile::tempdir().unwrap();
        for (path, lives, slurms, ours, expected) in [
            ("job_1/step_0", (0, 1), 0, 1, 0),
            ("job_1/step_extern", (0, 1), 0, 1, 0),
            // Slurm has frozen it too, or its slurmstepd lives.
            ("job_2/step_0", (0, 1), 1, 1, 1),
            ("job_3/step_0", (1, 1), 0, 1, 1),
        ] {
            step(dir.path(), path, lives);
            let tasks = dir.path().join(path).join(TASKS);
            fs::create_dir(tasks.join("task_0")).unwrap();
            fs::write(tasks.join(FREEZE), format!("{slurms}\n")).unwrap();
            let own = tasks.join("task_0").join(FREEZE);
            fs::write(&own, format!("{ours}\n")).unwrap();
            let place = Place {
                version: Version::V2,
                point: dir.path().into(),
                folders: Vec::new(),
            };
            let folder = Folder::open_as(&place, Kind::Any).unwrap();
            assert_eq!(thawed(&folder), usize::from(expected == 0), "{path}");
            let now = fs::read_to_string(&own).unwrap();
            assert!(now.starts_with(&expected.to_string()), "{path}: {now}");
        }
    }

    #[test]
    fn only_steps_without_a_slurmstepd_lose_what_pools_gave() {
        let dir = tempfile::tempdir().unwrap();
        for (path, lives) in [
            ("job_1/step_0", (1, 1)),
            ("job_1/step_1", (0, 1)),
            ("job_2/step_0", (0, 1)),
            ("job_2/step_batch", (0, 0)),
            ("job_3/step_0", (0, 0)),
            ("job_5/step_0", (0, 1)),
            ("job_5/step_1", (1, 1)),
            ("job_4/step_0", (1, 0)),
            ("job_2/step_extern", (1, 1)),
        ] {
            step(dir.path(), path, lives);
        }
        fs::remove_dir_all(dir.path().join("job_5/step_0/slurm")).unwrap();
        // A task epilog has outlived its slurmstepd.
        step(dir.path(), "job_6/step_0", (1, 1));
        let procs = dir.path().join("job_6/step_0/slurm/cgroup.procs");
        fs::write(procs, format!("{}\n", std::process::id())).unwrap();
        let place = Place {
            version: Version::V2,
            point: dir.path().into(),
            folders: Vec::new(),
        };
        let folder = Folder::open_as(&place, Kind::Any).unwrap();
        let mut done = jobs(&folder, 50);
        done.sort_by(|one, other| one.path.cmp(&other.path));
        let told: Vec<_> = done
            .iter()
            .map(|one| {
                let path = one.path.strip_prefix(dir.path().to_str().unwrap()).unwrap();
                (path, one.was_idle, one.weight)
            })
            .collect();
        assert_eq!(
            told,
            [
                ("/job_1/step_1", true, None),
                ("/job_2", false, Some(77)),
                ("/job_2/step_0", true, None),
                ("/job_5/step_0", true, None),
                ("/job_6", false, Some(77)),
                ("/job_6/step_0", true, None),
            ]
        );
        let read = |path: &str| fs::read_to_string(dir.path().join(path)).unwrap();
        assert_eq!(read("job_2/cpu.weight"), "50\n");
        assert!(read("job_1/step_0/user/cpu.idle").starts_with('1'));
        assert!(read("job_1/step_1/user/cpu.idle").starts_with('0'));
        assert_eq!(read("job_1/cpu.weight"), "77\n");
    }
}
