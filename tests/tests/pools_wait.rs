//! Jobs beyond what the pool's partition may have: with the example's `MaxCPUsPerNode` they wait, although cores are free.

use berth_tests::Cluster;

#[test]
fn a_job_beyond_the_example_s_limit_waits_for_the_pool() {
    let cluster = Cluster::builder()
        .example("pools")
        // These cores are not this host's, so cgroups cannot confine to them.
        .task_plugin("task/berth")
        .set("ProctrackType=proctrack/pgid")
        .set("SchedulerParameters=batch_sched_delay=0,bf_interval=1,sched_interval=1")
        .env("HWLOC_SYNTHETIC", "pack:2 core:8 pu:1")
        .up();
    let submit = |tasks: &str, script: &str| {
        let wrap = format!("--wrap={script}");
        let words = ["-pmulti8", tasks, "--parsable", "-o/dev/null", &wrap];
        cluster.run("sbatch", &words).expect_ok().trim().to_owned()
    };
    let state = |job: &str| {
        let words = ["-h", "-tall", "-j", job, "-o%T %r"];
        cluster.run("squeue", &words).stdout.trim().to_owned()
    };
    let first = submit("-n6", "exec sleep 300");
    cluster.wait_for("the first job", || {
        state(&first).starts_with("RUNNING").then_some(())
    });
    // 6 + 4 of 16 cores, and of 8 that the partition may have.
    let beyond = submit("-n4", "true");
    let within = submit("-n2", "exec sleep 300");
    cluster.wait_for("the job with room", || {
        state(&within).starts_with("RUNNING").then_some(())
    });
    assert!(state(&beyond).starts_with("PENDING"), "{}", state(&beyond));
    cluster.run("scancel", &[&first]).expect_ok();
    cluster.wait_for("the job beyond", || {
        state(&beyond).starts_with("COMPLETED").then_some(())
    });
    assert!(!cluster.slurmd_log().contains("as a normal job"));
}
