//! Which killed threads go first, on a folder that looks like the cgroup of a node's jobs.

use std::fs;
use std::path::Path;

use libc::pid_t;

use super::super::fake::{self, Running};
use super::*;
use crate::priority::is_before_realtime;

/// A step with such processes, as its slurmstepd knows it.
fn step(dir: &Path, number: pid_t, processes: &[pid_t]) -> Stepd {
    let job = format!("job_{number}");
    let tasks = dir.join(&job).join("step_0").join(TASKS);
    fs::create_dir_all(&tasks).unwrap();
    let lines: Vec<_> = processes.iter().map(ToString::to_string).collect();
    fs::write(tasks.join("cgroup.procs"), lines.join("\n")).unwrap();
    Stepd {
        job,
        step: "step_0".into(),
        process: number,
        start: 1,
    }
}

fn none() -> HashSet<Key> {
    HashSet::new()
}

#[test]
fn one_look_has_one_bound_for_all_steps_and_the_next_goes_on_behind_it() {
    let dir = tempfile::tempdir().unwrap();
    // There are no processes of these numbers.
    let gone: Vec<_> = (4_194_305..).take(MOST / 2).collect();
    let steps: Vec<_> = (1..=5).map(|job| step(dir.path(), job, &gone)).collect();
    let scope = fake::open(dir.path());
    let mut dying = Dying::default();
    let mut ends = Vec::new();
    for _ in 0..5 {
        assert_eq!(dying.look(&scope, steps.iter().collect()), none());
        ends.push(dying.last.0);
    }
    assert_eq!(ends, [2, 4, 1, 3, 5]);
    // One with more than a look looks at does not stand before the others for ever.
    let many: Vec<_> = (4_194_305..).take(MOST * 2).collect();
    step(dir.path(), 1, &many);
    let ends = [(); 3].map(|()| {
        dying.look(&scope, steps.iter().collect());
        dying.last.0
    });
    assert_eq!(ends, [1, 3, 5]);
}

#[test]
fn a_killed_task_goes_first_until_it_has_ended() {
    let Some(cpu) = fake::free_cpu() else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let mut task = Running::busy(cpu);
    let stepd = step(dir.path(), 1, &[task.pid()]);
    let scope = fake::open(dir.path());
    let mut dying = Dying::default();
    let alone = Running::alone(cpu);
    assert_eq!(
        dying.look(&scope, vec![&stepd]),
        none(),
        "it was not killed"
    );
    assert!(!is_before_realtime(task.pid()));
    task.kill();
    for _ in 0..2 {
        assert_eq!(
            dying.look(&scope, vec![&stepd]),
            HashSet::from([stepd.key()])
        );
        assert!(is_before_realtime(task.pid()));
    }
    // Its slurmstepd is not at work any more.
    assert_eq!(dying.look(&scope, Vec::new()), none());
    assert!(!is_before_realtime(task.pid()));
    drop(alone);
    drop(task);
    assert_eq!(dying.look(&scope, vec![&stepd]), none());
}
