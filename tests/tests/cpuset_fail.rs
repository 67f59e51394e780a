//! `cpuset_fail=` on a real cluster: a step that cannot have its cpuset is refused, or runs without it and is told so, and a
//! job that is being suspended gets the time to leave it.

use berth_tests::{Cluster, Done, Service};

/// Jobs that share a node's CPUs.
const SHARED: &str = "PartitionName=main Nodes=ALL Default=YES OverSubscribe=FORCE:8";
const LOOK: &str = "sed -n 's/^Cpus_allowed_list:\\t//p' /proc/self/status";
/// A cpuset that one job at a time can have.
const WANTED: &str = "--cpuset=CPU_LIST=1;NCPUS=1;CPUSET_OPTIONS=CPUSET_CPU_EXCLUSIVE";

/// A step of a job that owns both CPUs.
fn step(cluster: &Cluster, options: &[&str]) -> Done {
    let words = [&["-n1", "--mincpus=2"], options, &["/bin/sh", "-c", LOOK]];
    cluster.run("srun", &words.concat())
}

/// Starts a job that has the cpuset until it is cancelled.
fn holder(cluster: &Cluster) -> String {
    let file = cluster.folder().join("log/held");
    let wrap = format!("--wrap=echo held > {}; exec sleep 300", file.display());
    let out = format!("--output={}.out", file.display());
    let words = ["--parsable", "-n1", "--mincpus=2", &out, WANTED, &wrap];
    let job = cluster.run("sbatch", &words).expect_ok().trim().to_owned();
    cluster.wait_for("the holder's start", || {
        std::fs::read_to_string(&file)
            .is_ok_and(|text| text == "held\n")
            .then_some(())
    });
    job
}

/// An srun from another shell, which requests no cpuset, is fenced in its job's cpuset. Where that cannot be done, its user
/// reads so.
#[test]
fn a_step_outside_of_its_jobs_cpuset_has_a_note() {
    if !berth_tests::two_cpus() {
        return;
    }
    let cluster = Cluster::builder().plugstack(Some("")).set(SHARED).up();
    let job = holder(&cluster);
    let inside = || {
        let words = ["--jobid", &job, "--overlap", "-n1", "/bin/sh", "-c", LOOK];
        cluster.run("srun", &words)
    };
    let is_outside = |step: &Done| step.stderr.contains("outside of its job's cpuset");
    let step = inside();
    assert!(step.stdout == "1\n" && !is_outside(&step), "{step:#?}");
    let base = cluster.folder().join("run/berth");
    let node = std::fs::read_dir(&base).unwrap().flatten().next().unwrap();
    let lock = node.path().join("steps.lock");
    std::fs::remove_file(&lock).unwrap();
    std::fs::create_dir(&lock).unwrap();
    let step = inside();
    assert!(step.ok() && is_outside(&step), "{step:#?}");
    std::fs::remove_dir(&lock).unwrap();
    cluster.run("scancel", &["--full", &job]).expect_ok();
}

/// slurmctld suspends a job and starts the one that preempts it at the same time: where the service runs, the CPUs may
/// become free. Releases of berth before this one had
/// `cpuset_fail=wait:`, which is `refuse` now.
#[test]
fn a_holder_gets_the_time_to_stop_and_no_more() {
    if !berth_tests::two_cpus() {
        return;
    }
    let builder = Cluster::builder().plugstack(Some("cpuset_fail=wait:300"));
    let cluster = builder.set(SHARED).up();
    let log = cluster.slurmd_log();
    let told = log.matches("cpuset_fail=wait:300").count();
    assert_eq!(told, 1, "{log}");
    assert!(log.contains("cpuset_fail=refuse is in force"), "{log}");
    let first = holder(&cluster);
    let why =
        "CPUs 1 of the job are held by others now, and later it may fit; berth has waited 5 s";
    let refused = step(&cluster, &[WANTED]);
    assert!(
        !refused.ok() && !refused.stderr.contains(why),
        "{refused:#?}"
    );
    let _service = Service::start(&cluster);
    let refused = step(&cluster, &[WANTED]);
    assert!(!refused.ok() && refused.stdout.is_empty(), "{refused:#?}");
    assert!(refused.stderr.contains(why), "{refused:#?}");
    let bound = step(&cluster, &[WANTED, "--binding=linear:1"]);
    assert!(!bound.ok() && bound.stderr.contains(why), "{bound:#?}");
    std::thread::scope(|scope| {
        let second = scope.spawn(|| step(&cluster, &[WANTED]));
        cluster.wait_for("the step's start", || {
            let shown = cluster.run("squeue", &["-h", "-t", "R", "-o", "%A"]).stdout;
            (shown.lines().count() == 2).then_some(())
        });
        cluster.scontrol(&["suspend", &first]).expect_ok();
        let second = second.join().expect("srun");
        assert_eq!(second.stdout, "1\n", "{second:#?}");
    });
    cluster.scontrol(&["resume", &first]).expect_ok();
    cluster.run("scancel", &["--full", &first]).expect_ok();
}
