//! What users can hold: the state directory and its files, and the ledger with steps that fail.

use std::fs;
use std::path::PathBuf;
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use berth_tests::hostile::{self, Attacker, Victim};
use berth_tests::{process, two_cpus};

/// Everything under the state directory, with the directories themselves.
fn all_of(folder: PathBuf) -> Vec<PathBuf> {
    let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
    let mut all: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    for inner in all.clone() {
        if inner.is_dir() {
            all.extend(all_of(inner));
        }
    }
    all.push(folder);
    all
}

/// Locks each of them as the user, as far as the user may open it, until the children end.
fn hold(attacker: &Attacker<'_>, paths: &[PathBuf]) -> Vec<Child> {
    let lock = |path: &PathBuf| {
        let mut flock = attacker.program("flock");
        flock.arg("-x").arg(path).args(["sleep", "25"]);
        flock.stderr(std::process::Stdio::null());
        flock.spawn().expect("flock of util-linux")
    };
    let children = paths.iter().map(lock).collect();
    thread::sleep(Duration::from_millis(300));
    children
}

/// The steps that were counted.
fn counted(victim: &Victim) -> u64 {
    victim.cluster().metric("launches").unwrap_or_default()
}

#[test]
fn locks_on_the_state_directory() {
    if !two_cpus() {
        return;
    }
    let victim = Victim::start(hostile::berth(""));
    let cluster = victim.cluster();
    let steps = || {
        let start = Instant::now();
        for _ in 0..5 {
            let bound = ["-n1", "--binding=linear:1", "true"];
            cluster.srun(&bound).expect_ok();
        }
        start.elapsed() / 5
    };
    steps();
    let free = steps();
    // slurmstepd counts when the step has ended, which srun does not wait for.
    thread::sleep(Duration::from_millis(500));
    let before = counted(&victim);
    assert!(before >= 10, "ten steps were counted: {before}");
    let attacker = Attacker::new(cluster);
    let mut held = hold(&attacker, &all_of(cluster.folder().join("run/berth")));
    // The better of two: other work on this machine is no lock.
    let locked = steps().min(steps());
    thread::sleep(Duration::from_millis(500));
    let after = counted(&victim);
    held.iter_mut().for_each(process::end);
    hostile::say(&format!(
        "locks on the state directory: a step {free:.2?}, with locks {locked:.2?}"
    ));
    assert_eq!(after, before + 10, "every step is counted");
    assert!(
        locked < free * 2 + Duration::from_millis(100),
        "{free:?} {locked:?}"
    );
    victim.stands();
}

/// Forty steps at once whose binding cannot be had, as other jobs of the user have the cores.
fn failing(attacker: &Attacker<'_>, bound: bool) {
    let shape = attacker.run("sinfo", &["-h", "-o", "%X %Y %Z"], &[]);
    let shape = shape.expect_ok();
    let mut numbers = shape
        .split_whitespace()
        .filter_map(|number| number.parse::<u32>().ok());
    let mut next = || numbers.next().unwrap_or(1);
    let (cores, threads) = (next() * next(), next());
    let cpus = format!("-c{}", cores * threads);
    let all = ["-n1", &*cpus, "-N1"];
    let holder = attacker.job(&all);
    let binding = |amount: u32| match bound {
        true => vec![format!("--binding=linear:{amount}")],
        false => vec![],
    };
    let mut holding = attacker.program("srun");
    holding.args([&*holder.option(), "-n1", &cpus]);
    holding.args(binding(cores)).args(["sleep", "30"]);
    let mut holding = holding.spawn().expect("srun");
    thread::sleep(Duration::from_secs(1));
    let job = attacker.job(&all);
    let children: Vec<_> = (0..40)
        .map(|_| {
            let mut step = attacker.program("srun");
            step.args([&*job.option(), "--overlap", "-n1", &cpus]);
            step.args(binding(1)).arg("true");
            step.stderr(std::process::Stdio::null());
            step.spawn().expect("srun")
        })
        .collect();
    for mut child in children {
        let _ = child.wait();
    }
    process::end(&mut holding);
}

#[test]
fn bindings_that_fail() {
    if !two_cpus() {
        return;
    }
    let berth = Victim::start(hostile::berth("")).attacked(|attacker| failing(attacker, true));
    let stock = hostile::stock("task/affinity").attacked(|attacker| failing(attacker, false));
    let ratio = berth.bystander.as_secs_f64() / stock.bystander.as_secs_f64();
    hostile::say(&format!(
        "forty bindings that fail: bystander {:.2?}, {ratio:.1} times task/affinity's",
        berth.bystander
    ));
    hostile::within("forty bindings that fail", berth, stock);
    hostile::in_time("forty bindings that fail", berth, stock);
    // Forty times 50 ms of sleep under the prolog lock were two seconds.
    let most = stock.bystander * 2 + Duration::from_millis(500);
    assert!(berth.bystander < most, "{berth:?} beside {stock:?}");
}
