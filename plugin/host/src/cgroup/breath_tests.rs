//! Which threads go first, on a folder that looks like the cgroup of a node's jobs.

use std::fs;
use std::path::Path;
use std::process::Child;

use tempfile::TempDir;

use super::super::fake::{self, load};
use super::*;
use crate::priority::{is_realtime, set_before_realtime, set_realtime};

/// A node as slurmd's thread sees it, look by look.
struct Node {
    programs: TempDir,
    dir: TempDir,
    breaths: Breaths,
    now: Instant,
}

/// Two looks while slurmstepds are at work, and two at all of them.
const SOON: Duration = Duration::from_millis(50);
const LATER: Duration = Duration::from_millis(500);

impl Node {
    /// Nothing where the kernel has no real-time threads for the tests.
    fn new() -> Option<Self> {
        fake::may_rise().then(|| Self {
            programs: tempfile::tempdir().unwrap(),
            dir: tempfile::tempdir().unwrap(),
            breaths: Breaths::default(),
            now: Instant::now(),
        })
    }

    fn path(&self) -> &Path {
        self.dir.path()
    }

    /// A step whose slurmstepd has not waited so far.
    fn step(&self, path: &str) -> Child {
        let stepd = fake::program(self.programs.path());
        fake::step(self.path(), path, Some(&stepd));
        load(self.path(), path, (0, 0));
        stepd
    }

    fn look(&mut self, passed: Duration) -> usize {
        self.now += passed;
        let folder = fake::open(self.dir.path());
        self.breaths.look_below(&folder, self.now)
    }
}

fn first<const COUNT: usize>(all: [&Child; COUNT]) -> [bool; COUNT] {
    all.map(|one| is_realtime(fake::pid(one)))
}

#[test]
fn nothing_but_slurmstepds_goes_first() {
    let dir = tempfile::tempdir().unwrap();
    let own = std::process::id();
    for (path, pid) in [
        ("job_1/step_0/slurm", own.to_string()),
        ("job_1/step_0/user", "1".into()),
        ("job_2/step_batch/slurm", "4194305".into()),
    ] {
        fs::create_dir_all(dir.path().join(path)).unwrap();
        fs::write(dir.path().join(path).join("cgroup.procs"), pid).unwrap();
    }
    // This process is there, and is no slurmstepd.
    let mut breaths = Breaths::default();
    let folder = fake::open(dir.path());
    assert_eq!(breaths.look_below(&folder, Instant::now()), 0);
    assert_eq!(breaths.stepds.all().count(), 0);
    // SAFETY: it only returns the thread's number.
    assert!(!is_realtime(unsafe { libc::gettid() }));
    let place = fake::place(dir.path());
    assert!(Breaths::default().look(&place).is_err(), "it is no cgroup");
}

#[test]
fn all_steps_of_a_job_have_one_credit() {
    let Some(mut node) = Node::new() else {
        return;
    };
    let paths = ["job_1/step_0", "job_1/step_1", "job_2/step_0"];
    let [one, same, other] = paths.map(|path| node.step(path));
    node.look(LATER);
    assert_eq!(first([&one, &same, &other]), [false; 3]);
    for path in paths {
        load(node.path(), path, (1, 0));
    }
    assert_eq!(node.look(LATER), 3);
    assert_eq!(first([&one, &same, &other]), [true; 3]);
    // What one has used is missing for the other.
    load(node.path(), paths[0], (1, 6));
    node.look(SOON);
    node.look(SOON);
    assert_eq!(first([&one, &same, &other]), [false, false, true]);
    // A new step brings none, also if the others have gone and slurmd looks at no job for a while.
    fake::end(one);
    fake::end(same);
    fs::remove_dir_all(node.path().join("job_1")).unwrap();
    node.look(LATER);
    node.breaths.rest();
    assert_eq!(first([&other]), [false]);
    let new = node.step("job_1/step_2");
    node.look(LATER);
    load(node.path(), "job_1/step_2", (2, 0));
    assert_eq!(node.look(LATER), 1);
    assert_eq!(first([&new]), [false]);
    // What is missing is earned in time.
    node.look(Duration::from_secs(25));
    load(node.path(), "job_1/step_2", (3, 0));
    node.look(LATER);
    assert_eq!(first([&new]), [true]);
    fake::end(new);
    fake::end(other);
}

#[test]
fn what_another_slurmd_has_raised_is_lowered_when_all_are_looked_for() {
    let Some(mut node) = Node::new() else {
        return;
    };
    let [one, other] = ["job_1/step_0", "job_2/step_0"].map(|path| node.step(path));
    // The site's own scheduling of slurmstepds is none of ours.
    set_realtime(fake::pid(&other)).unwrap();
    set_before_realtime(fake::pid(&one)).unwrap();
    node.look(LATER);
    assert_eq!(first([&one, &other]), [false, true]);
    // What should go first does.
    load(node.path(), "job_1/step_0", (1, 0));
    assert_eq!(node.look(Duration::from_secs(6)), 1);
    assert_eq!(first([&one]), [true]);
    load(node.path(), "job_1/step_0", (2, 0));
    node.look(Duration::from_secs(6));
    assert_eq!(first([&one]), [true]);
    node.breaths.rest();
    assert_eq!(first([&one, &other]), [false, true]);
    fake::end(one);
    fake::end(other);
}

#[test]
fn a_slurmstepd_that_ends_between_two_looks_pays_for_the_time_once() {
    let Some(mut node) = Node::new() else {
        return;
    };
    let other = node.step("job_2/step_0");
    let mut end_of = |number: u64, passed: Duration| {
        let path = format!("job_1/step_{number}");
        let one = node.step(&path);
        node.look(LATER);
        for path in [path.as_str(), "job_2/step_0"] {
            load(node.path(), path, (number, 0));
        }
        node.look(LATER);
        let [goes_first] = first([&one]);
        fake::end(one);
        fs::remove_dir_all(node.path().join("job_1")).unwrap();
        node.look(passed);
        assert_eq!(node.breaths.stepds.all().count(), 1, "it is known at once");
        for _ in 0..4 {
            node.look(SOON);
        }
        goes_first
    };
    for number in 1..40 {
        assert!(end_of(number, SOON), "{number}: more is earned than that");
    }
    let last = (40..80).find(|number| !end_of(*number, LATER));
    assert!((50..60).contains(&last.unwrap()), "{last:?}");
    fake::end(other);
}
