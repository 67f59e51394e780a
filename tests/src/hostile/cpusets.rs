//! What the attacks on cpusets share: a task that says which CPUs it can have and what it was told, and what
//! must hold of it and of the node afterwards.

use super::client::{Attacker, Changes, Job};
use super::victim::FORGED;
use crate::cluster::Cluster;
use crate::output::Done;
use crate::under_test;

/// Prints the CPUs that the kernel lets the task use, and what it is told of its cpuset.
pub const LOOK: [&str; 3] = [
    "/bin/sh",
    "-c",
    "while read -r key cpus; do case $key in Cpus_allowed_list:) echo \"cpus $cpus $BERTH_CPUSET_INFO\";; esac; \
     done < /proc/self/status",
];

/// The same after the task has asked for every CPU.
pub const WIDEN: [&str; 3] = [
    "/bin/sh",
    "-c",
    "taskset -p -c 0-63 $$ > /dev/null 2>&1; while read -r key cpus; do case $key in Cpus_allowed_list:) \
     echo \"cpus $cpus $BERTH_CPUSET_INFO\";; esac; done < /proc/self/status",
];

/// The most that one refusal may write to a terminal; some of it is srun's own.
pub const MOST_SAID: usize = 16 << 10;

/// A step whose request is changed on its way.
pub fn step(attacker: &Attacker<'_>, place: &str, cpuset: &str, changes: Changes<'_>) -> Done {
    let options = [place, "--overlap", "-n1", "--cpu-bind=none", cpuset];
    attacker.srun(changes, &[&options[..], &LOOK].concat())
}

/// The CPUs of a task and what it was told of its cpuset; nothing where it was refused.
pub fn found(done: &Done) -> Option<(&str, &str)> {
    let line = done
        .stdout
        .lines()
        .find_map(|line| line.strip_prefix("cpus "))?;
    Some(line.split_once(' ').unwrap_or((line, "")))
}

/// A task of a forged request is on its job's CPUs, or it was refused in a few words.
///
/// # Panics
/// Where it is not so.
#[track_caller]
pub fn stays(done: &Done, own: &str, what: &[u8]) {
    let what = String::from_utf8_lossy(what);
    if let Some((cpus, _)) = found(done) {
        assert!(
            super::is_inside(cpus, own),
            "{what:.200}: CPUs {cpus} of {own}"
        );
    }
    let said = done.stderr.len();
    assert!(
        said < MOST_SAID,
        "{what:.200}: {said} bytes: {:.500}",
        done.stderr
    );
    let escape = done.stderr.contains('\u{1b}') || done.stderr.contains(&format!("\n{FORGED}"));
    assert!(!escape, "{what:.200}: {:.500}", done.stderr);
}

/// The CPUs of a job: those that a bound task has.
///
/// # Panics
/// Where an honest step does not run.
pub fn own_cpus(attacker: &Attacker<'_>, job: &Job<'_>) -> String {
    let options = [&*job.option(), "--overlap", "-n1", "--cpu-bind=cores"];
    let done = attacker.srun(&[], &[&options[..], &LOOK].concat());
    let own = found(&done).map(|(cpus, _)| cpus.to_owned());
    own.unwrap_or_else(|| panic!("an honest step: {done:#?}"))
}

/// What the ledger has.
pub fn status(cluster: &Cluster) -> String {
    let state = cluster.folder().join("run/berth");
    let state = format!("--state-dir={}", state.display());
    let berth = under_test::command();
    let done = cluster.run(&berth.to_string_lossy(), &["status", &state]);
    done.stdout + &done.stderr
}

/// Nothing of an attack is left, and another user gets every CPU of the node for a cpuset.
///
/// # Panics
/// Where it is not so.
#[track_caller]
pub fn all_is_free(cluster: &Cluster) {
    cluster.wait_for("an empty ledger", || {
        status(cluster).contains("no step is bound").then_some(())
    });
    let whole = "--cpuset=CPUSET_OPTIONS=CPUSET_CPU_EXCLUSIVE";
    let words = ["-n1", "--exclusive", "--cpu-bind=none", whole, "true"];
    cluster.run("srun", &words).expect_ok();
}
