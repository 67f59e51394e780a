//! Launches inside launches: never everything on one core, never refused for a mask that the
//! user did not write.

use std::fs;

use berth_tests::Cluster;

const PROBE: &str = "while read -r key mask; do case $key in
Cpus_allowed:) echo $SLURM_PROCID $mask;; esac; done < /proc/self/status\n";

fn cluster(arguments: &str) -> Option<Cluster> {
    if !berth_tests::two_cpus() {
        return None;
    }
    let cluster = Cluster::builder().plugstack(Some(arguments)).up();
    fs::write(cluster.folder().join("etc/probe"), PROBE).unwrap();
    Some(cluster)
}

/// Runs `srun OUTER srun --overlap INNER`, or deeper, in a job of two CPUs; the innermost
/// tasks' masks in order, or what was said.
fn nested(cluster: &Cluster, steps: &[&str]) -> String {
    let probe = cluster.folder().join("etc/probe");
    let words: Vec<String> = steps.iter().map(|step| format!("srun {step}")).collect();
    let script = format!("{} /bin/sh {}", words.join(" "), probe.display());
    let batch = cluster.sbatch(&["-n2"], &script);
    let mut lines: Vec<&str> = batch.output.lines().collect();
    lines.sort_unstable();
    lines.join(", ")
}

/// What `berth plan` inside the outer step says of the inner one: each task's CPUs.
fn planned(cluster: &Cluster, outer: &str, inner: &str) -> String {
    let state = cluster.folder().join("run/berth");
    let command = berth_tests::command();
    let ask = format!(
        "{} plan --format cpus 'srun {inner} ./app'",
        command.display()
    );
    let script = format!(
        "BERTH_STATE_DIR={} srun {outer} {ask} 2> /dev/null",
        state.display()
    );
    let batch = cluster.sbatch(&["-n2"], &script);
    batch.output.lines().collect::<Vec<_>>().join(", ")
}

const ONE_CORE: &str = "-n1 --cpu-bind=map_cpu:1";

#[test]
fn an_inner_step_is_placed_anew() {
    let Some(cluster) = cluster("") else { return };
    let inner = "--overlap -n2";
    assert_eq!(nested(&cluster, &[ONE_CORE, inner]), "0 1, 1 2");
    assert_eq!(planned(&cluster, ONE_CORE, inner), "0, 1");
    assert_eq!(
        nested(&cluster, &[ONE_CORE, "--overlap -n1", inner]),
        "0 1, 1 2"
    );
    // What the user writes in the inner line holds, and is refused as ever.
    let list = "--overlap -n2 --cpu-bind=map_cpu:1,1";
    assert_eq!(nested(&cluster, &[ONE_CORE, list]), "0 2, 1 2");
    let none = "--overlap -n2 --cpu-bind=none";
    assert_eq!(nested(&cluster, &[ONE_CORE, none]), "0 3, 1 3");
    let wrong = nested(&cluster, &[ONE_CORE, "--overlap -n2 --cpu-bind=map_cpu:77"]);
    assert!(wrong.contains("map_cpu:77 names CPU 77"), "{wrong}");
    cluster.wait_idle();
}

#[test]
fn as_task_affinity_where_that_is_asked_for() {
    let Some(theirs) = cluster("compat=affinity") else {
        return;
    };
    let inner = "--overlap -n2";
    assert_eq!(nested(&theirs, &[ONE_CORE, inner]), "0 2, 1 2");
    assert_eq!(planned(&theirs, ONE_CORE, inner), "1, 1");
    drop(theirs);
    let Some(fixed) = cluster("compat=affinity fixes=+inherited-mask") else {
        return;
    };
    assert_eq!(nested(&fixed, &[ONE_CORE, inner]), "0 1, 1 2");
}
