//! Pools by account, QOS and reservation on a cluster with slurmdbd, where slurmctld compares what a user asks for with
//! his associations, as `AccountingStorageEnforce=associations,limits,qos` has it do. `tests/accounting.rs` plays it on
//! this machine's Slurm, and `berth-scenes` on those of the virtual machines.

use std::path::Path;

use crate::{Cluster, Done, command};

/// What a site has slurmctld compare.
const ENFORCED: &str = "associations,limits,qos";
const POOLS: &str = "\
name=phys account=phys cpus=2 export=PHYS
name=fast qos=fast cpus=2 export=FAST
name=night reservation=night cpus=2 export=NIGHT
";
/// A user with both accounts and both QOS, and one who has neither the pool's account nor its QOS.
const MEMBER: (&str, &str) = ("games", "5");
const STRANGER: (&str, &str) = ("daemon", "1");
/// What a task finds.
const SHOW: [&str; 3] = [
    "sh",
    "-c",
    "echo PHYS=${PHYS:+in} FAST=${FAST:+in} NIGHT=${NIGHT:+in}.",
];
const OUTSIDE: &str = "PHYS= FAST= NIGHT=.";

/// Whether a database and slurmdbd are installed.
pub fn can_be_had() -> bool {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let has = |name: &str| std::env::split_paths(&paths).any(|folder| folder.join(name).is_file());
    has("slurmdbd") && has("mariadbd")
}

/// Plays it all; panics where a job has another pool than it should.
pub fn play() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("pools.conf");
    std::fs::write(&file, POOLS).expect("a file");
    let cluster = Cluster::builder()
        .accounting(ENFORCED)
        .plugstack(Some(&format!("pools={}", file.display())))
        .up();
    fill(&cluster);
    by_account(&cluster);
    by_qos(&cluster, &file);
    doctor_is_content(&cluster);
    by_reservation(&cluster);
}

/// Accounts, QOS and users, as an administrator makes them.
fn fill(cluster: &Cluster) {
    let user = |name: &str, accounts: &str| {
        let words = ["add", "user", name, accounts, "DefaultAccount=chem"];
        manage(cluster, &words);
    };
    manage(cluster, &["add", "qos", "fast"]);
    manage(cluster, &["add", "account", "phys,chem"]);
    user(MEMBER.0, "Account=chem,phys");
    user(STRANGER.0, "Account=chem");
    manage(
        cluster,
        &["modify", "user", MEMBER.0, "set", "qos=normal,fast"],
    );
    // slurmctld hears of it a moment later.
    let options: [(_, &[&str]); 2] = [(MEMBER, &["--account=phys", "--qos=fast"]), (STRANGER, &[])];
    for (user, options) in options {
        cluster.wait_for("what slurmdbd has of a user, in slurmctld", || {
            srun(user, cluster, options).ok().then_some(())
        });
    }
}

fn manage(cluster: &Cluster, words: &[&str]) {
    let done = cluster.run("sacctmgr", &[&["-iQ"], words].concat());
    assert!(done.ok(), "{words:?}: {done:#?}");
}

/// A user's step.
fn srun((_, id): (&str, &str), cluster: &Cluster, options: &[&str]) -> Done {
    let user = ["--reuid", id, "--regid", id, "--clear-groups"];
    let words = [&user, &["srun", "-n1", "-D/"][..], options, &SHOW].concat();
    cluster.run("setpriv", &words)
}

/// A user's step runs, and has the variable of this pool alone.
#[track_caller]
fn is_in(user: (&str, &str), cluster: &Cluster, options: &[&str], expected: &str) {
    let done = srun(user, cluster, options);
    assert_eq!(
        done.stdout.trim(),
        expected,
        "{user:?} {options:?}: {done:#?}"
    );
}

/// slurmctld gives a user no such job.
#[track_caller]
fn is_refused(user: (&str, &str), cluster: &Cluster, options: &[&str]) {
    let done = srun(user, cluster, options);
    let nothing = !done.ok() && done.stdout.trim().is_empty();
    assert!(nothing, "{user:?} {options:?}: {done:#?}");
}

fn by_account(cluster: &Cluster) {
    is_in(MEMBER, cluster, &[], OUTSIDE);
    is_in(
        MEMBER,
        cluster,
        &["--account=phys"],
        "PHYS=in FAST= NIGHT=.",
    );
    is_in(STRANGER, cluster, &[], OUTSIDE);
    is_refused(STRANGER, cluster, &["--account=phys"]);
}

/// Only from Slurm 26.05 on a credential has a QOS. Before it slurmd says that such a pool has no jobs.
fn by_qos(cluster: &Cluster, file: &Path) {
    let untold = format!(
        "{}, line 2: this release of Slurm does not tell its nodes a job's QOS, so no job is in the pool fast",
        file.display()
    );
    let tells = !cluster.slurmd_log().contains(&untold);
    assert_eq!(
        tells,
        release(cluster) >= (26, 5),
        "{}",
        cluster.slurmd_log()
    );
    let inside = match tells {
        true => "PHYS= FAST=in NIGHT=.",
        false => OUTSIDE,
    };
    is_in(MEMBER, cluster, &["--qos=fast"], inside);
    is_in(MEMBER, cluster, &["--qos=normal"], OUTSIDE);
    is_refused(STRANGER, cluster, &["--qos=fast"]);
}

/// The running release's year and month.
fn release(cluster: &Cluster) -> (u32, u32) {
    let version = cluster.run("srun", &["--version"]).expect_ok();
    let mut numbers = version
        .split(|char: char| !char.is_ascii_digit())
        .filter_map(|text| text.parse().ok());
    numbers.next().zip(numbers.next()).expect("a release")
}

/// Nothing keeps out too few.
fn doctor_is_content(cluster: &Cluster) {
    let state = cluster.folder().join("run/berth");
    let words = ["doctor", "--state-dir", state.to_str().expect("a path")];
    let doctor = cluster.run(&command().to_string_lossy(), &words);
    let is_wrong = doctor.stdout.contains("keeps nobody out");
    let knows = doctor.stdout.contains("3 pools in force");
    assert!(knows && !is_wrong, "{doctor:#?}");
}

fn by_reservation(cluster: &Cluster) {
    let words = [
        "create",
        "reservation=night",
        "users=games",
        "starttime=now",
        "duration=60",
        "nodes=ALL",
    ];
    cluster.wait_idle();
    cluster.scontrol(&words).expect_ok();
    let option = ["--reservation=night"];
    is_in(MEMBER, cluster, &option, "PHYS= FAST= NIGHT=in.");
    is_refused(STRANGER, cluster, &option);
}
