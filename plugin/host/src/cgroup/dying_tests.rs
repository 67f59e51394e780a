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

const PASSED: i64 = 50_000;

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
        assert_eq!(dying.look(&scope, steps.iter().collect(), PASSED), none());
        ends.push(dying.last.0);
    }
    assert_eq!(ends, [2, 4, 1, 3, 5]);
    // One with more than a look looks at does not stand before the others for ever.
    let many: Vec<_> = (4_194_305..).take(MOST * 2).collect();
    step(dir.path(), 1, &many);
    let ends = [(); 3].map(|()| {
        dying.look(&scope, steps.iter().collect(), PASSED);
        dying.last.0
    });
    assert_eq!(ends, [1, 3, 5]);
}

#[test]
fn a_killed_task_goes_first_until_it_has_ended() {
    let Some(cpu) = fake::own_cpu() else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let mut task = Running::busy(&cpu);
    let stepd = step(dir.path(), 1, &[task.pid()]);
    let scope = fake::open(dir.path());
    let mut dying = Dying::default();
    let alone = Running::alone(&cpu);
    assert_eq!(
        dying.look(&scope, vec![&stepd], PASSED),
        none(),
        "it was not killed"
    );
    assert!(!is_before_realtime(task.pid()));
    task.kill();
    for _ in 0..2 {
        assert_eq!(
            dying.look(&scope, vec![&stepd], PASSED),
            HashSet::from([stepd.key()])
        );
        assert!(is_before_realtime(task.pid()));
    }
    // Its slurmstepd is not at work any more.
    assert_eq!(dying.look(&scope, Vec::new(), PASSED), none());
    assert!(!is_before_realtime(task.pid()));
    drop(alone);
    drop(task);
    assert_eq!(dying.look(&scope, vec![&stepd], PASSED), none());
}

#[test]
fn killed_tasks_use_the_credit_of_their_job() {
    let Some(cpu) = fake::own_cpu() else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let mut task = Running::busy(&cpu);
    let stepd = step(dir.path(), 1, &[task.pid()]);
    let scope = fake::open(dir.path());
    let mut dying = Dying::default();
    let alone = Running::alone(&cpu);
    task.kill();
    let mut look = |passed| {
        let busy = dying.look(&scope, vec![&stepd], passed);
        assert_eq!(busy, HashSet::from([stepd.key()]));
        is_before_realtime(task.pid())
    };
    assert!(look(PASSED));
    // Each time that passes costs as much.
    let mut seconds = 0;
    while look(1_000_000) {
        seconds += 1;
    }
    assert_eq!(seconds, 5, "the sixth was too much");
    assert!(!look(PASSED), "there is none left");
    // More than that is earned.
    assert!(look(100_000_000));
    drop(alone);
}

#[test]
fn they_pay_for_no_more_than_their_step_has_used() {
    let thread = Thread {
        process: 1,
        number: 1,
    };
    let first = First {
        threads: vec![Risen { thread, start: 1 }; 64],
        used: Some(7_000_000),
    };
    assert_eq!(first.pays(Some(7_001_000), PASSED), 1000);
    assert_eq!(first.pays(Some(99_000_000), PASSED), 64 * PASSED);
    assert_eq!(first.pays(None, PASSED), 64 * PASSED);
}
