//! `cpuset_fail=unbound` and memory outside a mandatory cpuset on a real cluster: a step that cannot have its
//! cpuset runs without it and is told so, and an explicit `--mem-bind` does not leave a mandatory one.

use berth_tests::{Cluster, Done};

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

#[test]
fn a_step_runs_unbound_where_the_site_says_so() {
    if !berth_tests::two_cpus() {
        return;
    }
    let builder = Cluster::builder().plugstack(Some("cpuset_fail=unbound"));
    let cluster = builder.set(SHARED).up();
    let job = holder(&cluster);
    let says = "runs without a cpuset";
    for options in [&[WANTED][..], &[WANTED, "--cpu-bind=none"]] {
        let done = step(&cluster, options);
        assert!(
            done.ok() && done.stdout == "0-1\n",
            "{options:?}: {done:#?}"
        );
        let is_told = done.stderr.contains(says) && done.stderr.contains("CPU_LIST");
        assert!(is_told, "{options:?}: {done:#?}");
    }
    // A batch script has nobody to tell but its log, and runs too.
    let script = cluster.sbatch(&["-n1", "--mincpus=2", WANTED], LOOK);
    assert_eq!(script.state, "COMPLETED", "{script:?}");
    assert!(script.output.ends_with("0-1\n"), "{script:?}");
    cluster.run("scancel", &["--full", &job]).expect_ok();
    // It is a fallback: a cpuset that is free again is given.
    cluster.wait_for("the CPUs of the ended job", || {
        let done = step(&cluster, &[WANTED]);
        assert!(done.ok(), "{done:#?}");
        (done.stdout == "1\n" && !done.stderr.contains(says)).then_some(())
    });
}

/// The machine's shape is made up, so that a host with one memory node has a second one to be refused.
#[test]
fn memory_outside_a_mandatory_cpuset_is_refused() {
    if !berth_tests::two_cpus() {
        return;
    }
    let cluster = Cluster::builder()
        .plugstack(Some(""))
        .env("HWLOC_SYNTHETIC", "pack:2 [numa] core:1 pu:1")
        .up();
    let cpuset = |options| format!("--cpuset=CPU_LIST=0;NCPUS=1;CPUSET_OPTIONS={options}");
    let mandatory = cpuset("CPUSET_MEMORY_MANDATORY");
    for (bind, outside) in [
        ("map_mem:1", "1"),
        ("mask_mem:0x2", "1"),
        ("mask_mem:0x3", "1"),
    ] {
        let bind = format!("--mem-bind={bind}");
        let done = step(&cluster, &[&mandatory, &bind]);
        let why = format!("names NUMA nodes {outside}");
        assert!(!done.ok() && done.stdout.is_empty(), "{bind}: {done:#?}");
        assert!(done.stderr.contains(&why), "{bind}: {done:#?}");
    }
    for bind in [
        "--mem-bind=map_mem:0",
        "--mem-bind=local",
        "--mem-bind=none",
    ] {
        let done = step(&cluster, &[&mandatory, bind]);
        assert!(done.ok() && done.stdout == "0\n", "{bind}: {done:#?}");
    }
}
