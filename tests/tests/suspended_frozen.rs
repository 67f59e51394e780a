//! Cores of steps that Slurm keeps in cgroups of version 1, on a real cluster: the core of a frozen job belongs to others
//! until the job is resumed, and a task that outlives its slurmstepd keeps its own.

use std::fs;
use std::path::Path;

use berth_tests::{Cluster, process, skip, two_cpus};
use nix::sys::signal::Signal;

const FREEZER: &str = "/sys/fs/cgroup/freezer";
const SHARED: &str = "PartitionName=main Nodes=ALL Default=YES OverSubscribe=FORCE:8";
const BOUND: [&str; 3] = ["-n1", "-c2", "--binding=linear:1:0,0"];

/// One node with two CPUs, where Slurm finds and freezes tasks by cgroups of version 1.
fn cluster() -> Option<Cluster> {
    let probe = Path::new(FREEZER).join("berth-probe");
    if fs::create_dir(&probe).is_err() {
        skip("frozen jobs of cgroup v1: no freezer of version 1 can be used here");
        return None;
    }
    let _ = fs::remove_dir(&probe);
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("cgroup.conf");
    fs::write(&file, "CgroupPlugin=cgroup/v1\n").expect("cgroup.conf");
    let cluster = Cluster::builder()
        .file(&file)
        .set("ProctrackType=proctrack/cgroup")
        .set(SHARED)
        .plugstack(Some(""))
        .up();
    Some(cluster)
}

/// The state of the freezer in which a process is.
fn freezer(pid: i32) -> Option<String> {
    let own = fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?;
    let path = own.lines().find_map(|line| line.split_once(":freezer:"))?.1;
    fs::read_to_string(format!("{FREEZER}{path}/freezer.state")).ok()
}

/// A job and the task of its one step, which is bound to core 0.
fn lasting(cluster: &Cluster) -> (String, i32) {
    let log = cluster.folder().join("log");
    let output = format!("--output={}/lasting.out", log.display());
    let file = log.join("lasting.pid");
    let words = "echo $$ > $0.new; mv $0.new $0; exec sleep 300";
    let step = format!(
        "--wrap=srun {} /bin/sh -c '{words}' {}",
        BOUND.join(" "),
        file.display()
    );
    let words = ["--parsable", "-n1", "-c2", &output, &step];
    let job = cluster.run("sbatch", &words).expect_ok().trim().to_owned();
    let task = cluster.wait_for("the step's task", || {
        fs::read_to_string(&file).ok()?.trim().parse().ok()
    });
    (job, task)
}

/// `1` if a step can be bound to core 0, `0` where it is taken.
fn core_0(cluster: &Cluster) -> String {
    let ask = ["/bin/sh", "-c", "echo $BERTH_BOUND"];
    let done = cluster.srun(&[&BOUND[..], &ask].concat());
    done.stdout.trim().to_owned()
}

#[test]
fn its_core_is_free_as_long_as_it_is_frozen() {
    let Some(cluster) = two_cpus().then(cluster).flatten() else {
        return;
    };
    let (job, task) = lasting(&cluster);
    assert_eq!(core_0(&cluster), "0", "it is taken");
    cluster.scontrol(&["suspend", &job]).expect_ok();
    let is = |state: &str| (freezer(task)?.trim() == state).then_some(());
    cluster.wait_for("the frozen task", || is("FROZEN"));
    assert_eq!(core_0(&cluster), "1", "its job is suspended");
    cluster.scontrol(&["resume", &job]).expect_ok();
    cluster.wait_for("the thawed task", || is("THAWED"));
    let is_back = || (core_0(&cluster) == "0").then_some(());
    cluster.wait_for("the core's return", is_back);
    cluster.run("scancel", &["--full", &job]);
}

/// A slurmstepd is killed, and its task lives on.
#[test]
fn a_task_keeps_its_core_beyond_its_slurmstepd() {
    let Some(cluster) = two_cpus().then(cluster).flatten() else {
        return;
    };
    let (job, task) = lasting(&cluster);
    assert_eq!(core_0(&cluster), "0", "it is taken");
    let stat = fs::read_to_string(format!("/proc/{task}/stat")).unwrap();
    let fields = stat.rsplit_once(')').unwrap().1;
    let slurmstepd = fields.split_whitespace().nth(1).unwrap().parse().unwrap();
    process::signal(slurmstepd, Signal::SIGKILL);
    let file = format!("/proc/{slurmstepd}");
    cluster.wait_for("the end of slurmstepd", || {
        (!Path::new(&file).exists()).then_some(())
    });
    let core = core_0(&cluster);
    assert!(freezer(task).is_some(), "the task lives");
    assert_eq!(core, "0", "it is taken all the same");
    process::signal(task, Signal::SIGKILL);
    cluster.wait_for("the core's return", || {
        (core_0(&cluster) == "1").then_some(())
    });
    cluster.run("scancel", &["--full", &job]);
}
