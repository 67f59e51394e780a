//! `--cpuset` on a real cluster: who keeps off the CPUs of a job whose cpuset is exclusive, while it runs and while it is
//! suspended, and that each node chooses for itself.

use berth_tests::{Cluster, Done, Service};

/// Jobs that share a node's CPUs.
const SHARED: &str = "PartitionName=main Nodes=ALL Default=YES OverSubscribe=FORCE:8";
const LOOK: &str = "sed -n 's/^Cpus_allowed_list:\\t//p' /proc/self/status";
/// A job that owns both CPUs.
const WHOLE: &[&str] = &["-n1", "--mincpus=2"];

fn cluster(settings: &str, lines: &[&str]) -> Option<Cluster> {
    let builder = Cluster::builder().plugstack(Some(settings));
    let set = |builder: berth_tests::Builder, line: &&str| builder.set(line);
    berth_tests::two_cpus().then(|| lines.iter().fold(builder, set).up())
}

/// A step that runs a shell's words in a cpuset.
fn step(cluster: &Cluster, cpuset: &str, options: &[&str], words: &str) -> Done {
    let cpuset = format!("--cpuset={cpuset}");
    let end = [cpuset.as_str(), "/bin/sh", "-c", words];
    cluster.run("srun", &[options, &end].concat())
}

/// A job that lasts until the value is dropped.
struct Lasting<'a>(&'a Cluster, String);

impl Drop for Lasting<'_> {
    fn drop(&mut self) {
        self.0.run("scancel", &["--full", &self.1]);
    }
}

fn lasting<'a>(cluster: &'a Cluster, cpuset: &str) -> Lasting<'a> {
    let log = cluster.folder().join("log");
    let wrap = format!(
        "--wrap={LOOK} > {}/$SLURM_JOB_ID.cpus; sleep 300",
        log.display()
    );
    let out = format!("--output={}/lasting-%j.out", log.display());
    let cpuset = format!("--cpuset={cpuset}");
    let words = ["--parsable", "-n1", "--mincpus=2", &out, &cpuset, &wrap];
    let job = cluster.run("sbatch", &words).expect_ok().trim().to_owned();
    let file = log.join(format!("{job}.cpus"));
    cluster.wait_for("the script's start", || {
        let text = std::fs::read_to_string(&file).ok()?;
        text.ends_with('\n').then_some(())
    });
    Lasting(cluster, job)
}

fn status(cluster: &Cluster) -> String {
    let state = cluster.folder().join("run/berth");
    let words = ["status", &format!("--state-dir={}", state.display())];
    cluster
        .run(&berth_tests::command().to_string_lossy(), &words)
        .expect_ok()
}

#[test]
fn an_exclusive_cpuset_keeps_others_off_while_its_job_runs() {
    let Some(cluster) = cluster("", &[SHARED]) else {
        return;
    };
    let wanted = "CPU_LIST=1;NCPUS=1;CPUSET_OPTIONS=CPUSET_CPU_EXCLUSIVE";
    let first = lasting(&cluster, wanted);
    // Another cpuset there is refused, and a binding and a cpuset
    // without a list go elsewhere.
    let other = step(&cluster, "CPU_LIST=1;NCPUS=1", WHOLE, LOOK);
    let refused = "CPUs 1 of the job are held by others now, and later it may fit";
    assert!(!other.ok() && other.stdout.is_empty(), "{other:#?}");
    assert!(other.stderr.contains(refused), "{other:#?}");
    let named = format!("job {}", first.1);
    assert!(
        !other.stderr.contains(&named),
        "no other job is named: {other:#?}"
    );
    let free = step(&cluster, "NCPUS=1", WHOLE, LOOK);
    assert_eq!(free.stdout.trim(), "0", "{free:#?}");
    let bound = [
        "-n1",
        "--mincpus=2",
        "--binding=linear:1",
        "/bin/sh",
        "-c",
        LOOK,
    ];
    let bound = cluster.run("srun", &bound);
    assert_eq!(bound.stdout.trim(), "0", "{bound:#?}");
    let status = status(&cluster);
    assert!(status.contains("CPUSET[NCPUS=1;CPU_LIST=1"), "{status}");
    // A suspended job keeps it, unless a service would move it.
    cluster.scontrol(&["suspend", &first.1]).expect_ok();
    let other = step(&cluster, "CPU_LIST=1;NCPUS=1", WHOLE, LOOK);
    assert!(!other.ok(), "{other:#?}");
    let _service = Service::start(&cluster);
    cluster.wait_for("the CPUs of the suspended job", || {
        let other = step(&cluster, "CPU_LIST=1;NCPUS=1", WHOLE, LOOK);
        (other.stdout.trim() == "1").then_some(())
    });
    cluster.scontrol(&["resume", &first.1]).expect_ok();
    drop(first);
    cluster.wait_for("the CPUs of the ended job", || {
        let other = step(&cluster, wanted, WHOLE, LOOK);
        (other.stdout.trim() == "1").then_some(())
    });
}

/// LSF's example: each node chooses for itself.
#[test]
fn nodes_choose_differently() {
    let Some(builder) = berth_tests::two_cpus().then(Cluster::builder) else {
        return;
    };
    let cluster = builder.plugstack(Some("")).nodes(2).set(SHARED).up();
    let names = cluster.run("sinfo", &["-h", "-N", "-o", "%N"]).expect_ok();
    let last = names
        .split_whitespace()
        .last()
        .expect("two nodes")
        .to_owned();
    let log = cluster.folder().join("log");
    let holder = format!("--wrap={LOOK} > {}/held; sleep 300", log.display());
    let out = format!("--output={}/held.out", log.display());
    let node = format!("-w{last}");
    let words = [
        "--parsable",
        "-n1",
        "--mincpus=2",
        &node,
        &out,
        "--cpuset=CPU_LIST=0;NCPUS=1;CPUSET_OPTIONS=CPUSET_CPU_EXCLUSIVE",
        &holder,
    ];
    let job = cluster.run("sbatch", &words).expect_ok().trim().to_owned();
    let job = Lasting(&cluster, job);
    cluster.wait_for("the holder", || {
        std::fs::read_to_string(log.join("held")).ok()
    });
    let options = ["-N2", "--ntasks-per-node=1", "--mincpus=2"];
    let words = format!("echo $SLURMD_NODENAME $({LOOK})");
    let done = step(&cluster, "CPU_LIST=0,1;NCPUS=1", &options, &words);
    let mut lines: Vec<_> = done.stdout.lines().collect();
    lines.sort_unstable();
    let cpus = |line: &&str| line.rsplit(' ').next().unwrap_or_default().to_owned();
    let found: Vec<_> = lines.iter().map(cpus).collect();
    assert_eq!(found, ["0", "1"], "{done:#?}");
    drop(job);
}
