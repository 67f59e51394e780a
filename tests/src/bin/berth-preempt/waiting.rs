//! Jobs that wait for one another's CPUs.

use std::time::{Duration, Instant};

use berth_tests::Cluster;

use crate::job::Job;

/// Jobs whose cpuset another one has: Slurm ends one, and the next gets its CPUs.
pub fn waits() {
    let cluster = Cluster::builder()
        .plugstack(Some("cpuset_fail=wait:300"))
        .set("PartitionName=main Nodes=ALL Default=YES OverSubscribe=FORCE:8")
        .up();
    let wanted = "--cpuset=CPU_LIST=1;NCPUS=1;CPUSET_OPTIONS=CPUSET_CPU_EXCLUSIVE";
    let submit = || Job::submit(&cluster, "main", &["-n1", "-c16", wanted]);
    let waiter = || {
        let job = submit();
        let line = format!("step={}.batch: note: others have CPUs 1 now", job.id);
        cluster.wait_for("that it waits", || {
            cluster.slurmd_log().contains(&line).then_some(())
        });
        job
    };
    let holder = submit();
    assert_eq!(holder.said(1).0.to_string(), "1");
    let cancelled = waiter();
    let start = Instant::now();
    cancelled.cancel();
    cluster.wait_for("the end of the job that waits", || {
        (!["RUNNING", "COMPLETING"].contains(&cancelled.state().as_str())).then_some(())
    });
    let took = start.elapsed();
    let said = cluster.folder().join(format!("log/{}.said", cancelled.id));
    assert!(!said.exists(), "its script has started");
    // KillWait is 30 s, and a waiting task must not need it.
    assert!(took < Duration::from_secs(20), "{took:?}");
    let served = waiter();
    holder.cancel();
    assert_eq!(served.said(1).0.to_string(), "1");
    served.cancel();
    cluster.wait_idle();
    println!("  cancelled in {:.1} s", took.as_secs_f64());
}
