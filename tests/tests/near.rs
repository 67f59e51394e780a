//! `--near` on a real cluster: the kernel has what `berth plan` shows, and the user is told of a request
//! that cannot be served.

use berth_tests::{Cluster, Done};

/// The first GPU on the PCI bus is next to CPU 1, the second one next to CPU 0.
const MACHINE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/topologies/kinds-gpus-2.xml");

/// What each task finds: its number, its CPUs as the kernel has them, and the rule.
const LOOK: [&str; 3] = [
    "/bin/sh",
    "-c",
    "echo $SLURM_LOCALID $(sed -n 's/^Cpus_allowed_list:\\t//p' /proc/self/status) $BERTH_RULE",
];

fn builder(settings: &str) -> Option<berth_tests::Builder> {
    let builder = Cluster::builder()
        .env("HWLOC_XMLFILE", MACHINE)
        .set("SlurmdParameters=allow_ecores")
        .plugstack(Some(settings));
    berth_tests::two_cpus().then_some(builder)
}

/// A step in a job that has both cores.
fn looks(cluster: &Cluster, options: &[&str], variables: &[(&str, &str)]) -> Done {
    let words = [&["-Q", "-n2", "srun"], options, &LOOK].concat();
    cluster.run_with("salloc", &words, variables)
}

/// The lines by task.
fn lines(done: &Done) -> Vec<String> {
    let mut lines: Vec<_> = done.stdout.lines().map(String::from).collect();
    lines.sort();
    lines
}

/// The same as `berth plan` shows it on that machine.
fn planned(cluster: &Cluster, options: &[&str], rule: &str) -> Vec<String> {
    let berth = berth_tests::command();
    let machine = [
        "plan",
        "--machine",
        MACHINE,
        "--cores=all",
        "--allow-ecores",
    ];
    let ask = [&machine, &["--format=cpus"][..], options].concat();
    let done = cluster.run(&berth.to_string_lossy(), &ask);
    let tasks = done.stdout.lines().enumerate();
    tasks
        .map(|(task, cpus)| format!("{task} {cpus} {rule}"))
        .collect()
}

#[test]
fn the_kernel_has_what_is_planned() {
    let Some(builder) = builder("") else { return };
    let cluster = builder.up();
    let mapped = "near:gpu,map:core,rank:fill,bind:core";
    for (options, expected) in [
        (
            &["-n2", "--near=gpu"][..],
            &["0 1 near:gpu", "1 0 near:gpu"][..],
        ),
        (&["-n1", "--near=gpu:1:strict"], &["0 1 near:gpu:1:strict"]),
        (
            &["-n1", "--berth-near=renderD129"],
            &["0 0 near:renderD129"],
        ),
        (
            &["-n2", "--near=gpu", "--map-by=core"],
            &[&format!("0 1 {mapped}"), &format!("1 0 {mapped}")],
        ),
        (
            &["-n2", "--near=gpu", "--binding=auto"],
            &["0 1 near:gpu,binding:auto", "1 0 near:gpu,binding:auto"],
        ),
        (
            &["-n1", "--near=0302", "--core-kind=performance"],
            &["0 0 near:0302"],
        ),
    ] {
        let done = looks(&cluster, options, &[]);
        assert_eq!(lines(&done), expected, "{options:?} {done:#?}");
        let rule = expected[0].rsplit(' ').next().unwrap();
        let asked = planned(&cluster, options, rule);
        assert_eq!(asked, expected, "{options:?}");
    }
}

#[test]
fn what_is_typed_and_what_is_inherited() {
    let Some(builder) = builder("") else { return };
    let cluster = builder.up();
    let rule = |options: &[&str], variables: &[(&str, &str)]| {
        let done = looks(&cluster, options, variables);
        let first = lines(&done).into_iter().next().unwrap_or_default();
        let rule = first.split_whitespace().nth(2).map(String::from);
        rule.unwrap_or(done.stderr)
    };
    let near = [("BERTH_NEAR", "gpu")];
    assert_eq!(rule(&["-n1"], &near), "near:gpu");
    assert_eq!(
        rule(&["-n1", "--binding=linear:1"], &near),
        "binding:linear:1"
    );
    let bound = [("BERTH_BINDING", "linear:1")];
    assert_eq!(rule(&["-n1", "--near=gpu"], &bound), "near:gpu");
    assert!(!rule(&["-n2", "--near=none", "--cpu-bind=cores"], &near).contains("near"));
    let mapped = rule(&["-n1", "--map-by=package"], &near);
    assert!(mapped.starts_with("map:package"), "{mapped}");
    let mapped = [("BERTH_MAP_BY", "package")];
    assert_eq!(rule(&["-n1", "--near=gpu"], &mapped), "near:gpu");
    let both = rule(&["-n1", "--map-by=package", "--near=gpu"], &[]);
    assert!(both.contains("both choose the CPUs"), "{both}");
    let kept = rule(&["-n1", "--map-by=package", "--near=none"], &near);
    assert!(kept.starts_with("map:package"), "{kept}");
    // berth then binds nothing that comes from elsewhere; what the line itself asks for holds.
    for variables in [near, mapped] {
        let slurms = rule(&["-n2", "--binding=none", "--cpu-bind=cores"], &variables);
        let is_berths = slurms.contains("near") || slurms.contains("map:");
        assert!(slurms.contains("cores") && !is_berths, "{slurms}");
    }
    assert_eq!(
        rule(&["-n1", "--binding=none", "--near=gpu"], &[]),
        "near:gpu"
    );
}

#[test]
fn what_cannot_be_served_is_said() {
    let Some(lenient) = builder("") else { return };
    let cluster = lenient.up();
    // In srun, before anything is queued.
    for (options, says) in [
        (&["-n1", "--near=gpu:closest"][..], "is not a --near: gpu"),
        (
            &["-n1", "--near=gpu", "--binding=linear:1"],
            "both choose the CPUs",
        ),
        (
            &["-n1", "--near=gpu", "--cpu-bind=map_cpu:0"],
            "both choose the CPUs",
        ),
        (
            &["-n1", "--berth-near=gpu", "--near=network"],
            "--near=network and --berth-near=gpu are two names of one option",
        ),
        (&["-n1", "--near=network:strict"], "it has 2 GPUs"),
        (&["-n4", "-O", "--near=gpu:strict", "-c2"], "is strict"),
    ] {
        let done = looks(&cluster, options, &[]);
        let refused = !done.ok() && done.stderr.contains(says);
        assert!(refused, "{options:?}: {done:#?}");
    }
    let done = looks(&cluster, &["-n1", "--near=network"], &[]);
    let says = "next to a network adapter; this node has none; it has 2 GPUs";
    assert!(done.ok() && done.stderr.contains(says), "{done:#?}");
    assert!(done.stderr.contains("no task is bound"), "{done:#?}");
    assert_eq!(lines(&done), ["0 0-1 binding-failed:own-cpus"], "{done:#?}");
    let done = looks(&cluster, &["-n1", "--near=0302:own"], &[]);
    assert!(
        done.stderr.contains(":own changes nothing here") && done.stdout.contains("near:0302"),
        "{done:#?}"
    );
    cluster.wait_idle();
    drop(cluster);
    let Some(strict) = builder("binding_fail=refuse") else {
        return;
    };
    let cluster = strict.up();
    let done = looks(&cluster, &["-n1", "--near=network"], &[]);
    assert!(!done.ok() && done.stderr.contains(says), "{done:#?}");
}

#[test]
fn another_task_plugin_does_not_serve_it() {
    let Some(builder) = builder("") else { return };
    let cluster = builder.task_plugin("task/none").up();
    let done = looks(&cluster, &["-n1", "--near=gpu"], &[]);
    assert!(
        done.ok()
            && done
                .stderr
                .contains("--near and --cpuset are never honoured"),
        "{done:#?}"
    );
}
