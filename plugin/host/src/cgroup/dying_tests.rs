//! Which killed threads go first, on a folder that looks like the cgroup of a node's jobs.

use std::fs;
use std::path::Path;

use libc::pid_t;

use super::super::fake::{self, Running};
use super::*;
use crate::priority::is_before_realtime;

/// Makes the cgroup of a step whose tasks are these processes, and returns its slurmstepd.
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

/// What a test sees of a task that is killed and gets no CPU; nothing where there cannot be one. The kernel gives it
/// some in the end, so what was too slow for that is played again.
fn killed<T>(play: impl Fn(&mut Running, &Stepd, &Folder) -> T) -> Option<T> {
    let cpu = fake::own_cpu()?;
    for _ in 0..50 {
        let dir = tempfile::tempdir().unwrap();
        let mut task = Running::busy(&cpu);
        let stepd = step(dir.path(), 1, &[task.pid()]);
        let alone = Running::alone(&cpu);
        let seen = play(&mut task, &stepd, &fake::open(dir.path()));
        let thread = Thread {
            process: task.pid(),
            number: task.pid(),
        };
        let still_waits = Stat::of(thread).as_ref().is_some_and(waits);
        drop(alone);
        if still_waits {
            return Some(seen);
        }
    }
    panic!("each time it got a CPU");
}

#[test]
fn a_killed_task_goes_first_while_its_slurmstepd_is_at_work() {
    let seen = killed(|task, stepd, scope| {
        let mut dying = Dying::default();
        let mut look = |at_work, task: &Running| {
            let busy = dying.look(scope, at_work, PASSED);
            (busy.len(), is_before_realtime(task.pid()))
        };
        let before = look(vec![stepd], task);
        task.kill();
        let twice = [(); 2].map(|()| look(vec![stepd], task));
        [before, twice[0], twice[1], look(Vec::new(), task)]
    });
    if let Some(seen) = seen {
        assert_eq!(seen, [(0, false), (1, true), (1, true), (0, false)]);
    }
}

#[test]
fn killed_tasks_use_the_credit_of_their_job() {
    let seen = killed(|task, stepd, scope| {
        let mut dying = Dying::default();
        task.kill();
        // Each time that passes costs as much. What was too much is earned again.
        let second = 1_000_000;
        [PASSED, 4 * second, 2 * second, PASSED, 101 * second].map(|passed| {
            let busy = dying.look(scope, vec![stepd], passed);
            (busy.len(), is_before_realtime(task.pid()))
        })
    });
    if let Some(seen) = seen {
        let expected = [(1, true), (1, true), (1, false), (1, false), (1, true)];
        assert_eq!(seen, expected);
    }
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
