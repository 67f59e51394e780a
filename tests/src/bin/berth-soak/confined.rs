//! The same with cgroups: every task is fenced by `confine=task`, some steps have CPUs of their own by an exclusive
//! `--cpuset`, and plain jobs are suspended and resumed. At the end nothing of it may be left anywhere.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use berth_tests::{Builder, Cluster, confine, process};
use nix::sys::signal::Signal;

use crate::counts::count;
use crate::work::Soak;

/// The name of jobs that may be suspended: they hold no CPU against others.
const PLAIN: &str = "plain";
/// How long Slurm may take to end what was cancelled.
const LAST_JOBS: Duration = Duration::from_secs(120);
/// How Slurm's reason begins if a killed slurmstepd leaves it processes or folders, and if a requeued script comes
/// to a slurmd that still knows its job.
const SLURMS_OWN: [&str; 2] = ["Kill task failed", "Duplicate jobid"];

/// Whether cgroups with cpusets can be made here, and of version 1.
pub fn version() -> Option<bool> {
    let v1 = Path::new("/sys/fs/cgroup/cpuset");
    let v2 = fs::read_to_string("/sys/fs/cgroup/cgroup.subtree_control").unwrap_or_default();
    let is_v1 = v1.join("cpuset.cpus").exists();
    let root = if is_v1 {
        v1
    } else {
        Path::new("/sys/fs/cgroup")
    };
    if !is_v1 && !v2.split_whitespace().any(|one| one == "cpuset") {
        return None;
    }
    let probe = root.join("berth-probe");
    let made = fs::create_dir(&probe).and_then(|()| fs::remove_dir(&probe));
    made.is_ok().then_some(is_v1)
}

/// A site with task/cgroup. Slurm copies the files before this returns.
pub fn cluster(is_v1: bool, with: impl FnOnce(Builder) -> Cluster) -> Cluster {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("cgroup.conf");
    let plugin = if is_v1 { confine::v1::CONF } else { "" };
    fs::write(&file, format!("{plugin}ConstrainCores=yes\n")).expect("cgroup.conf");
    with(
        Cluster::builder()
            .example("cgroup")
            .file(&file)
            .plugstack(Some("confine=task")),
    )
}

/// A random step, and what it holds.
pub fn words(random: &mut fastrand::Rng) -> Option<(Vec<String>, &'static str)> {
    let own = |words: &[&str]| words.iter().map(ToString::to_string).collect();
    match random.u32(0..4) {
        0 => {
            let amount = random.u32(1..=2);
            let cpuset = format!("--cpuset=NCPUS={amount};CPUSET_OPTIONS=CPUSET_CPU_EXCLUSIVE");
            Some((own(&["-n1", "--mincpus=2", &cpuset]), "cpuset"))
        }
        1 | 2 => {
            let bind = ["cores", "threads", "none"][random.usize(0..3)];
            let (bind, name) = (format!("--cpu-bind={bind}"), format!("-J{PLAIN}"));
            Some((own(&["-n1", &bind, &name]), PLAIN))
        }
        _ => None,
    }
}

/// Suspends a plain job, and resumes it after a while; all that are still suspended at the end.
pub fn suspend(soak: &Soak, seed: u64) {
    let mut random = fastrand::Rng::with_seed(seed);
    while !soak.done.load(Ordering::Relaxed) {
        soak.pause(&mut random, 100..600);
        let jobs = soak
            .cluster
            .run("squeue", &["-h", "-n", PLAIN, "-t", "R", "-o", "%A"])
            .stdout;
        let jobs: Vec<_> = jobs.split_whitespace().collect();
        let Some(job) = random.choice(&jobs) else {
            continue;
        };
        // The job may have ended by now.
        if soak.cluster.run("scontrol", &["suspend", job]).ok() {
            count(&soak.counts.suspended);
            std::thread::sleep(Duration::from_millis(random.u64(0..1500)));
        }
        soak.cluster.run("scontrol", &["resume", job]);
    }
}

/// The cgroups of this node that berth made.
fn ours(soak: &Soak, node: &str) -> Vec<String> {
    let is_ours = |path: &String| path.contains(node) && path.contains("/berth_");
    confine::cgroups(&soak.cluster)
        .into_iter()
        .filter(is_ours)
        .collect()
}

/// Slurm does not know what a killed slurmstepd leaves, as the scripts of lasting jobs: they live on in their fences.
fn end_orphans(soak: &Soak, node: &str) {
    let all = || {
        confine::cgroups(&soak.cluster)
            .into_iter()
            .filter(|path| path.contains(node))
    };
    let pids = || {
        let texts =
            all().filter_map(|path| fs::read_to_string(format!("{path}/cgroup.procs")).ok());
        let pids = texts.flat_map(|text| {
            text.lines()
                .filter_map(|pid| pid.parse().ok())
                .collect::<Vec<i32>>()
        });
        pids.filter(|pid| *pid > 0).collect::<Vec<_>>()
    };
    soak.cluster.wait_for("the orphans' end", || {
        all().for_each(|path| thaw(&path));
        let left = pids();
        left.iter()
            .for_each(|pid| process::signal(*pid, Signal::SIGKILL));
        left.is_empty().then_some(())
    });
    println!(
        "{} cgroups of ours were left by killed slurmstepds",
        ours(soak, node).len()
    );
}

/// A job whose slurmstepd was killed while it was suspended: nobody would ever thaw it.
fn thaw(path: &str) {
    let above = Path::new(path).parent().unwrap_or(Path::new(path));
    let v2 = [path, &above.to_string_lossy()].map(|path| format!("{path}/cgroup.freeze"));
    v2.iter().for_each(|file| write(file, "0"));
    let v1 = path.replacen("/cpuset/", "/freezer/", 1);
    write(&format!("{v1}/freezer.state"), "THAWED");
}

/// Writes a file that is there.
fn write(file: &str, value: &str) {
    let file = fs::OpenOptions::new().write(true).open(file);
    let _ = file.and_then(|mut file| file.write_all(value.as_bytes()));
}

/// What is wrong once everything was cancelled: jobs that do not end, a node that is out of service, and cgroups of
/// ours that are there after slurmd's start and a launch.
pub fn left(soak: &Soak) -> Vec<String> {
    let mut wrong = Vec::new();
    let show = |what: &str| {
        soak.cluster
            .run("squeue", &["-h", "-o", what])
            .stdout
            .trim()
            .to_owned()
    };
    let end = Instant::now() + LAST_JOBS;
    while !show("%A").is_empty() && Instant::now() < end {
        soak.cluster.run("scancel", &["--full", "-u", "root"]);
        soak.nurse_nodes();
        std::thread::sleep(Duration::from_millis(500));
    }
    if !show("%A").is_empty() {
        wrong.push(format!("jobs that do not end: {}", show("%A %T %j")));
    }
    soak.nurse_nodes();
    let node = soak
        .cluster
        .run("sinfo", &["-h", "-o", "%N"])
        .stdout
        .trim()
        .to_owned();
    end_orphans(soak, &node);
    soak.cluster.restart_slurmd();
    soak.cluster.wait_idle();
    soak.cluster.srun(&["-n1", "true"]).expect_ok();
    soak.cluster.wait_idle();
    let cgroups = ours(soak, &node);
    if !cgroups.is_empty() {
        wrong.push(format!("cgroups of ours: {cgroups:?}"));
    }
    let reasons = soak
        .reasons
        .lock()
        .map(|reasons| reasons.clone())
        .unwrap_or_default();
    let other = reasons
        .iter()
        .filter(|(reason, _)| !SLURMS_OWN.iter().any(|own| reason.starts_with(own)));
    wrong.extend(
        other.map(|(reason, times)| format!("the node was out of service {times} times: {reason}")),
    );
    println!("the node was out of service: {reasons:?}");
    confine::remove_empty(&soak.cluster, &node);
    wrong
}
