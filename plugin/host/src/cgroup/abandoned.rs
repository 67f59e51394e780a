//! Thaws the tasks of steps whose slurmstepd was killed while it had frozen them: nobody else would.
//! In: the cgroup below which Slurm keeps the jobs of a node, in the unified hierarchy. Out: tasks that run.

use super::freezer::{FREEZE, State};
use super::job::{TASKS, put};
use super::members::processes;
use super::place::OWN;
use super::stepds::is_slurmstepd;
use super::{FenceError, Folder, Place, Version};

/// The most folders that are looked at, so that a strange tree costs little.
const MOST: usize = 20_000;

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
        }
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
}
