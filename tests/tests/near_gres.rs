//! `--near` where Slurm gives out GPUs: a step's tasks get cores next to the GPUs that are theirs, which
//! Slurm itself tells them too.

use std::path::Path;

use berth_tests::{Cluster, Done};

/// The first GPU on the PCI bus is next to CPU 1, the second one next to CPU 0.
const MACHINE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/topologies/kinds-gpus-2.xml");

/// Jobs share cores here, and never GPUs.
const SHARED: &str = "PartitionName=main Nodes=ALL Default=YES OverSubscribe=FORCE:8";

/// What each task finds: its number, its CPUs as the kernel has them, and the GPUs that Slurm names.
const LOOK: [&str; 3] = [
    "/bin/sh",
    "-c",
    "echo $SLURM_LOCALID cpus $(sed -n 's/^Cpus_allowed_list:\\t//p' /proc/self/status) gpus \
     $CUDA_VISIBLE_DEVICES",
];

/// A cluster with that gres.conf.
fn cluster(gres_conf: &str, node: &str) -> Option<Cluster> {
    cluster_of(1, gres_conf, node)
}

/// A cluster of so many nodes with that gres.conf.
fn cluster_of(nodes: u32, gres_conf: &str, node: &str) -> Option<Cluster> {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("gres.conf");
    std::fs::write(&file, gres_conf).expect("a file");
    let up = |file: &Path| {
        Cluster::builder()
            .nodes(nodes)
            .env("HWLOC_XMLFILE", MACHINE)
            .set("SlurmdParameters=allow_ecores")
            .set("GresTypes=gpu,nic")
            .set(SHARED)
            .plugstack(Some(""))
            .node(node)
            .file(file)
            .up()
    };
    berth_tests::two_cpus().then(|| up(&file))
}

const TWO: &str = "Name=gpu File=/dev/null\nName=gpu File=/dev/zero\n";

/// A step in a job that has both cores and these GRES.
fn looks(cluster: &Cluster, gres: &str, options: &[&str]) -> Done {
    let words = [&["-Q", "-n2", gres, "srun"], options, &LOOK].concat();
    cluster.run("salloc", &words)
}

/// The lines by task.
fn lines(done: &Done) -> Vec<String> {
    let mut lines: Vec<_> = done.stdout.lines().map(String::from).collect();
    lines.sort();
    lines
}

#[test]
fn the_steps_own_gpus_count() {
    let Some(cluster) = cluster(TWO, "Gres=gpu:2") else {
        return;
    };
    let one = ["-n1", "--gres=gpu:1", "--near=gpu:strict"];
    for (options, expected) in [
        (&one[..], &["0 cpus 1 gpus 0"][..]),
        (&["-n1", "--near=gpu"], &["0 cpus 0-1 gpus 0,1"]),
        (
            &["-n2", "--near=gpu:strict"],
            &["0 cpus 1 gpus 0,1", "1 cpus 0 gpus 1,0"],
        ),
        // The second GPU by name: the step has it.
        (&["-n1", "--near=renderD129:strict"], &["0 cpus 0 gpus 0,1"]),
    ] {
        let done = looks(&cluster, "--gres=gpu:2", options);
        assert_eq!(lines(&done), expected, "{options:?} {done:#?}");
        assert_eq!(done.stderr, "", "{options:?}");
    }
    // Another job has the first GPU, and this one the same cores.
    let held = cluster.run("salloc", &["--no-shell", "-n2", "--gres=gpu:1"]);
    assert!(held.ok(), "{held:#?}");
    let done = looks(&cluster, "--gres=gpu:1", &["-n1", "--near=gpu:strict"]);
    assert_eq!(lines(&done), ["0 cpus 0 gpus 1"], "{done:#?}");
    assert_eq!(done.stderr, "");
}

/// Another job has the first GPU of the second node.
#[test]
fn each_node_of_a_step_has_gpus_of_its_own() {
    let Some(cluster) = cluster_of(2, TWO, "Gres=gpu:2") else {
        return;
    };
    let nodes = cluster.run("sinfo", &["-hNo%N"]).expect_ok();
    let second = format!("-w{}", nodes.lines().last().unwrap_or_default().trim());
    let held = ["--no-shell", "-n2", "--gres=gpu:1", &second];
    cluster.run("salloc", &held).expect_ok();
    let job = ["-Q", "-N2", "-n4", "--gres=gpu:1"];
    let step = ["srun", "-N2", "-n2", "--near=gpu:strict"];
    let done = cluster.run("salloc", &[&job[..], &step, &LOOK].concat());
    let expected = ["0 cpus 0 gpus 1", "0 cpus 1 gpus 0"];
    assert_eq!(lines(&done), expected, "{done:#?}");
}

#[test]
fn a_plan_inside_the_job_is_for_its_gpus() {
    let Some(cluster) = cluster(TWO, "Gres=gpu:2") else {
        return;
    };
    let held = cluster.run("salloc", &["--no-shell", "-n2", "--gres=gpu:1"]);
    assert!(held.ok(), "{held:#?}");
    let berth = berth_tests::command();
    let berth = berth.to_string_lossy();
    // The node's second GPU, on the machine that the cluster is told of.
    let plan = |gres: &str| {
        let ask = ["plan", "-n1", "--near=gpu:strict", "--allow-ecores"];
        let words = [&["-Q", "-n2", gres, &*berth][..], &ask].concat();
        let done = cluster.run_with("salloc", &words, &[("SLURMD_NODENAME", &node(&cluster))]);
        assert!(done.ok(), "{done:#?}");
        done.stdout
    };
    let found = plan("--gres=gpu:1");
    let devices = "devices     GPUs 1 (found: scontrol show job -d ";
    assert!(found.contains(devices), "{found}");
    assert!(found.contains("renderD129"), "{found}");
    assert!(!plan("--gres=none").contains("devices     GPUs"));
}

/// The node's name.
fn node(cluster: &Cluster) -> String {
    let shown = cluster.scontrol(&["-o", "show", "node"]).expect_ok();
    let name = shown.split_whitespace().next().unwrap_or_default();
    name.trim_start_matches("NodeName=").into()
}

#[test]
fn tasks_get_the_cores_of_those_that_slurm_binds_to_them() {
    let Some(cluster) = cluster(TWO, "Gres=gpu:2") else {
        return;
    };
    let in_order = &["0 cpus 1 gpus 0", "1 cpus 0 gpus 1"][..];
    let crossed = &["0 cpus 0 gpus 1", "1 cpus 1 gpus 0"][..];
    for (bind, expected) in [
        ("--gpu-bind=map_gpu:1,0", crossed),
        ("--gpu-bind=map_gpu:0,1", in_order),
        ("--gpu-bind=mask_gpu:0x2,0x1", crossed),
        ("--gpus-per-task=1", in_order),
        ("--gpu-bind=per_task:1", in_order),
        ("--gpu-bind=single:1", in_order),
    ] {
        let done = looks(
            &cluster,
            "--gres=gpu:2",
            &["-n2", "--near=gpu:strict", bind],
        );
        assert_eq!(lines(&done), expected, "{bind} {done:#?}");
        assert_eq!(done.stderr, "", "{bind}");
    }
    // Slurm leaves the choice open, or binds fewer than requested.
    let closest = ["-n2", "--near=gpu", "--gpu-bind=closest"];
    let done = looks(&cluster, "--gres=gpu:2", &closest);
    let expected = ["0 cpus 1 gpus 0,1", "1 cpus 0 gpus 0,1"];
    assert_eq!(lines(&done), expected, "{done:#?}");
    let fewer = ["-n2", "--near=gpu:2", "--gpu-bind=map_gpu:1,0"];
    let done = looks(&cluster, "--gres=gpu:2", &fewer);
    assert_eq!(lines(&done), crossed, "{done:#?}");
    let says = "Slurm binds 1 such device to task 0";
    assert!(done.stderr.contains(says), "{done:#?}");
}

#[test]
fn what_the_step_does_not_have_is_said() {
    let Some(cluster) = cluster(TWO, "Gres=gpu:2") else {
        return;
    };
    let says = "Slurm counts 2 GPUs on this node and gave this step none of those requested";
    for options in [
        ["-n1", "--gres=none", "--near=gpu"],
        ["-n1", "--gres=gpu:1", "--near=renderD129"],
    ] {
        let done = looks(&cluster, "--gres=gpu:2", &options);
        let is_said = done.ok() && done.stderr.contains(says);
        assert!(is_said, "{options:?} {done:#?}");
        let strict = format!("{}:strict", options[2]);
        let done = looks(&cluster, "--gres=gpu:2", &["-n1", options[1], &strict]);
        let refused = !done.ok() && done.stderr.contains(says);
        assert!(refused, "{options:?} {done:#?}");
    }
    // A job without GPUs: Slurm has not said which it may use.
    let none = looks(&cluster, "--gres=none", &["-n2", "--near=gpu:strict"]);
    assert_eq!(
        lines(&none),
        ["0 cpus 1 gpus 0,1", "1 cpus 0 gpus 1,0"],
        "{none:#?}"
    );
    assert_eq!(none.stderr, "");
}

#[test]
fn gpus_that_slurm_counts_otherwise_are_said() {
    let three = format!("{TWO}Name=gpu File=/dev/full\n");
    let Some(cluster) = cluster(&three, "Gres=gpu:3") else {
        return;
    };
    let done = looks(&cluster, "--gres=gpu:3", &["-n2", "--near=gpu"]);
    let says = "Slurm counts 3 such devices on this node, and this machine has 2";
    assert!(done.ok() && done.stderr.contains(says), "{done:#?}");
    let held = cluster.run("salloc", &["--no-shell", "-n2", "--gres=gpu:2"]);
    assert!(held.ok(), "{held:#?}");
    let done = looks(&cluster, "--gres=gpu:1", &["-n1", "--near=gpu:strict"]);
    let says = "this machine has 2, and those that Slurm gave this step are not among them";
    assert!(!done.ok() && done.stderr.contains(says), "{done:#?}");
}

#[test]
fn other_resources_are_not_guessed() {
    let both = format!("{TWO}Name=nic File=/dev/full\n");
    let Some(cluster) = cluster(&both, "Gres=gpu:2,nic:1") else {
        return;
    };
    // They say nothing of GPUs.
    let gpus = looks(
        &cluster,
        "--gres=gpu:1,nic:1",
        &["-n1", "--near=gpu:strict"],
    );
    assert_eq!(lines(&gpus), ["0 cpus 1 gpus 0"], "{gpus:#?}");
    assert_eq!(gpus.stderr, "");
    let named = ["-n1", "--near=renderD128"];
    let gpus = looks(&cluster, "--gres=gpu:1", &named);
    assert_eq!(gpus.stderr, "", "{gpus:#?}");
    let done = looks(&cluster, "--gres=gpu:1,nic:1", &named);
    let says = "generic resources (GRES nic), and berth cannot tell which devices these are";
    assert!(done.ok() && done.stderr.contains(says), "{done:#?}");
    let strict = ["-n1", "--near=renderD128:strict"];
    let done = looks(&cluster, "--gres=gpu:1,nic:1", &strict);
    assert!(!done.ok() && done.stderr.contains(says), "{done:#?}");
}
