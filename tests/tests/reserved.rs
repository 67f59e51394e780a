//! `reserved=` on a real cluster: no task gets these CPUs while its step has others, under either
//! `compat`, and the administrator learns of steps that have no others.

use berth_tests::{Cluster, Done};

const LOOK: &str = "sed -n 's/^Cpus_allowed_list:\\t//p' /proc/self/status";

fn cluster(settings: &str) -> Option<Cluster> {
    let builder = Cluster::builder().plugstack(Some(settings));
    berth_tests::two_cpus().then(|| builder.up())
}

/// Each task's CPUs as the kernel has them, in the order of the tasks' ends.
fn cpus(done: &Done) -> Vec<String> {
    done.stdout.lines().map(String::from).collect()
}

fn step(cluster: &Cluster, options: &[&str]) -> Done {
    let words = [options, &["/bin/sh", "-c", LOOK][..]].concat();
    cluster.run("srun", &words)
}

fn doctor(cluster: &Cluster) -> Done {
    let berth = berth_tests::command();
    let state = cluster.folder().join("run/berth");
    let words = ["doctor", "--state-dir", state.to_str().expect("a path")];
    cluster.run(&berth.to_string_lossy(), &words)
}

#[test]
fn no_task_gets_reserved_cpus() {
    for compat in ["berth", "affinity"] {
        let Some(cluster) = cluster(&format!("compat={compat} reserved=0")) else {
            return;
        };
        for options in [
            &["-n2"][..],
            &["-n2", "--cpu-bind=cores"],
            &["-n2", "--cpu-bind=threads"],
            &["-n1", "-c2", "--cpu-bind=none"],
            &["-n1", "-c2", "--binding=linear:1"],
            &["-n1", "-c2", "--map-by=core"],
        ] {
            let done = step(&cluster, options);
            assert!(done.ok(), "{compat} {options:?}: {done:#?}");
            assert!(
                cpus(&done).iter().all(|cpus| cpus == "1"),
                "{compat} {options:?}: {done:#?}"
            );
        }
        let shared = step(&cluster, &["-n2", "--cpu-bind=cores"]);
        let says = "2 tasks share the others, CPUs 1";
        // Under compat=affinity a step prints what task/affinity prints.
        let is_told = compat == "berth";
        assert_eq!(shared.stderr.contains(says), is_told, "{shared:#?}");
        let named = step(&cluster, &["-n1", "-c2", "--cpu-bind=map_cpu:0"]);
        let refused = !named.ok() && named.stderr.contains("names CPU 0");
        assert!(refused, "{compat}: {named:#?}");
        let script = format!("#!/bin/sh\n{LOOK}\n");
        let (path, out) = (
            cluster.folder().join("s.sh"),
            cluster.folder().join("s.out"),
        );
        std::fs::write(&path, script).expect("a script");
        let (path, out) = (path.to_string_lossy(), out.to_string_lossy());
        let batch = cluster.run("sbatch", &["--wait", "-n2", "-o", &out, &path]);
        assert!(batch.ok(), "{batch:#?}");
        let found = std::fs::read_to_string(&*out).expect("an output");
        assert_eq!(found.trim(), "1", "{compat}: {batch:#?}");
        let planned = cluster.run(
            &berth_tests::command().to_string_lossy(),
            &["plan", "--format=cpus", "-n2", "--cpu-bind=cores"],
        );
        assert!(planned.ok(), "{planned:#?}");
    }
}

/// A job's cpuset is chosen from the others, and a NUMA node without its reserved CPUs is a whole one.
#[test]
fn no_cpuset_has_reserved_cpus() {
    let Some(cluster) = cluster("reserved=0") else {
        return;
    };
    let whole = |cpuset: &str, bind: &str| {
        let cpuset = format!("--cpuset={cpuset}");
        step(&cluster, &["-n1", "--mincpus=2", &cpuset, bind])
    };
    for cpuset in [
        "CPUSET[]",
        "NCPUS=1",
        "NCPUS=2",
        "CPU_LIST=0,1",
        "NODE_EX=Y",
        "NODE_EX=Y;CPU_LIST=0-1",
        "CPUSET_OPTIONS=CPUSET_MEMORY_MANDATORY",
    ] {
        for bind in ["--cpu-bind=cores", "--cpu-bind=none", "--binding=linear:1"] {
            let done = whole(cpuset, bind);
            assert!(done.ok(), "{cpuset} {bind}: {done:#?}");
            assert_eq!(cpus(&done), ["1"], "{cpuset} {bind}: {done:#?}");
        }
    }
    for (cpuset, why) in [
        ("CPU_LIST=0;NCPUS=1", "CPU_LIST"),
        ("NODE_EX=Y;CPU_LIST=0;NCPUS=1", "no free CPU"),
    ] {
        let done = whole(cpuset, "--cpu-bind=cores");
        let refused = !done.ok() && done.stdout.is_empty() && done.stderr.contains(why);
        assert!(refused, "{cpuset}: {done:#?}");
    }
    let options = ["-n1", "--mincpus=2", "--cpuset=NODE_EX=Y"];
    let batch = cluster.sbatch(&options, LOOK);
    assert_eq!(batch.output.lines().last(), Some("1"), "{batch:?}");
}

#[test]
fn a_step_that_has_no_others_runs_there_and_the_administrator_is_told() {
    let Some(cluster) = cluster("reserved=0") else {
        return;
    };
    let told = doctor(&cluster).stdout;
    assert!(told.contains("reserved=0"), "{told}");
    assert!(
        told.contains("CPUs 0 are kept free here, and slurmctld may give them"),
        "{told}"
    );
    // Slurm begins with the first core.
    let done = step(&cluster, &["-n1", "--cpu-bind=cores"]);
    assert!(done.ok() && cpus(&done) == ["0"], "{done:#?}");
    let says = "Slurm has given this step no others; it runs there";
    assert!(done.stderr.contains(says), "{done:#?}");
    let fails = || {
        let done = doctor(&cluster);
        let says = "Slurm gave a step only CPUs that are reserved";
        (!done.ok() && done.stdout.contains(says)).then_some(())
    };
    cluster.wait_for("the doctor to fail", fails);
    assert!(
        cluster
            .slurmd_log()
            .contains("CPUs 0: Slurm gave a step only CPUs")
    );
}

#[test]
fn cpus_that_slurm_keeps_free_too_are_well() {
    if !berth_tests::two_cpus() {
        return;
    }
    let builder = Cluster::builder().node("CpuSpecList=0");
    let cluster = builder.plugstack(Some("reserved=0")).up();
    let told = doctor(&cluster).stdout;
    assert!(
        told.contains("CPUs 0, which CpuSpecList= of slurm.conf names too"),
        "{told}"
    );
    let done = step(&cluster, &["-n1", "--cpu-bind=cores"]);
    assert!(done.ok() && cpus(&done) == ["1"], "{done:#?}");
}

#[test]
fn reserved_cpus_that_are_not_there_are_told() {
    let Some(cluster) = cluster("reserved=1,9000") else {
        return;
    };
    let says = "names CPUs 9000, which are not online on this node";
    assert!(cluster.slurmd_log().contains(says));
    let told = || {
        let done = doctor(&cluster);
        (done.ok() && done.stdout.contains(says)).then_some(())
    };
    cluster.wait_for("the doctor to tell", told);
}
