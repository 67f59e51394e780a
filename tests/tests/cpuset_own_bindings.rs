//! Steps that `--binding` binds inside the cpuset of their own job, on a real cluster: they keep no step of the job off,
//! and nobody is told of others where there are none.

use berth_tests::{Cluster, two_cpus};

/// What a step says that found others on its CPUs.
const FALSE_NOTES: [&str; 4] = [
    "others have CPUs",
    "started long after",
    "used by others",
    "tasks wait",
];
/// Pairs of steps that begin at the same moment.
const PAIRS: usize = 8;

/// Runs a script in a job of both CPUs; returns everything that it and its steps say.
fn said(cluster: &Cluster, cpuset: &str, script: &str) -> String {
    let cpuset = format!("--cpuset={cpuset}");
    let words = ["-n2", "--exclusive", &cpuset, "/bin/sh", "-c", script];
    let done = cluster.run("salloc", &words);
    let text = format!("{}{}", done.stdout, done.stderr);
    assert!(done.ok(), "{text}");
    text
}

#[track_caller]
fn nothing_false(text: &str, cluster: &Cluster) {
    let log = cluster.slurmd_log();
    for note in FALSE_NOTES {
        assert!(!text.contains(note), "{note}: {text}");
        let lines = log.lines().filter(|line| line.contains("berth: "));
        let line = lines.clone().find(|line| line.contains(note));
        assert_eq!(line, None, "{note}");
    }
}

#[test]
fn a_step_beside_a_bound_one_in_a_static_cpuset() {
    if !two_cpus() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("cpusets.conf");
    std::fs::write(&file, "name=BOTH cpus=0-1\n").expect("a file");
    let cluster = Cluster::builder()
        .file(&file)
        .plugstack(Some("cpusets=/etc/slurm/cpusets.conf"))
        .up();
    // The second step begins when the first one runs.
    let beside = cluster.folder().join("log/runs");
    let script = format!(
        "srun --exact -n1 --binding=linear:1 /bin/sh -c 'echo first $BERTH_BOUND; touch {runs}; sleep 20' & \
         until [ -e {runs} ]; do sleep 0.1; done; \
         srun --exact -n1 --binding=linear:1 /bin/sh -c 'echo second $BERTH_BOUND'; \
         srun --overlap -n1 /bin/sh -c 'echo third $BERTH_BOUND'; kill $!; wait",
        runs = beside.display()
    );
    let text = said(&cluster, "CPUSET_NAME=BOTH", &script);
    for step in ["first 1", "second 1", "third"] {
        assert!(text.contains(step), "{step}: {text}");
    }
    nothing_false(&text, &cluster);
}

#[test]
fn bound_steps_that_begin_together() {
    if !two_cpus() {
        return;
    }
    let cluster = Cluster::builder().plugstack(Some("")).up();
    let script = format!(
        "for i in $(seq {PAIRS}); do \
         srun --exact -n1 --binding=linear:1 /bin/sh -c 'echo bound $BERTH_BOUND' & \
         srun --exact -n1 --binding=linear:1 /bin/sh -c 'echo bound $BERTH_BOUND' & \
         wait; done"
    );
    let cpuset = "NCPUS=2;CPUSET_OPTIONS=CPUSET_CPU_EXCLUSIVE";
    let text = said(&cluster, cpuset, &script);
    assert_eq!(text.matches("bound 1").count(), 2 * PAIRS, "{text}");
    nothing_false(&text, &cluster);
}
