//! `--core-kind` on a real cluster: what the kernel has is what `berth plan` shows, and a node without
//! such cores refuses it.

use berth_tests::{Cluster, Done};

/// CPU 0 is a performance core, CPU 1 an efficiency core; slurmd counts both.
const MACHINE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/topologies/kinds-gpus-2.xml");

/// What each task finds: its CPUs as the kernel has them, and the rule.
const LOOK: [&str; 3] = [
    "/bin/sh",
    "-c",
    "echo $(sed -n 's/^Cpus_allowed_list:\\t//p' /proc/self/status) $BERTH_RULE",
];

fn cluster(settings: &str) -> Option<Cluster> {
    if !berth_tests::two_cpus() {
        return None;
    }
    let cluster = Cluster::builder()
        .env("HWLOC_XMLFILE", MACHINE)
        .set("SlurmdParameters=allow_ecores")
        .plugstack(Some(settings));
    Some(cluster.up())
}

/// A step in a job that has both cores.
fn looks(cluster: &Cluster, options: &[&str], variables: &[(&str, &str)]) -> Done {
    let words = [&["-Q", "-n2", "srun"], options, &LOOK].concat();
    cluster.run_with("salloc", &words, variables)
}

/// The CPUs of the tasks, as `berth plan` shows them on that machine.
fn planned(cluster: &Cluster, options: &[&str]) -> String {
    let berth = berth_tests::command();
    let machine = [
        "plan",
        "--machine",
        MACHINE,
        "--cores=all",
        "--allow-ecores",
    ];
    let ask = [&machine, &["--format=cpus"][..], options].concat();
    cluster.run(&berth.to_string_lossy(), &ask).stdout
}

#[test]
fn the_kernel_has_what_is_planned() {
    let Some(cluster) = cluster("") else { return };
    for (kind, cpu) in [("performance", "0"), ("efficiency", "1")] {
        let kind = format!("--core-kind={kind}");
        for (own, rule) in [
            (&["-n1"][..], "auto"),
            (&["-n1", "--cpu-bind=cores"], "cores"),
            (&["-n1", "--binding=linear:1"], "binding:linear:1"),
            (&["-n1", "--map-by=core"], "map:core"),
            (&["-n1", "--binding=auto"], "binding:auto"),
        ] {
            let options = [own, &[&kind]].concat();
            let done = looks(&cluster, &options, &[]);
            let found = done.stdout.split_whitespace().next();
            assert_eq!(found, Some(cpu), "{options:?} {done:#?}");
            assert!(done.stdout.contains(rule), "{options:?} {done:#?}");
            let planned = planned(&cluster, &options);
            assert_eq!(planned.trim(), cpu, "{options:?}");
        }
    }
    // A level gives way to nothing, a list must name cores of the kind.
    let list = ["-n1", "--cpu-bind=map_cpu:1", "--core-kind=performance"];
    let done = looks(&cluster, &list, &[]);
    assert!(
        !done.ok() && done.stderr.contains("this step owns CPU 0 on"),
        "{done:#?}"
    );
    cluster.wait_idle();
}

#[test]
fn it_comes_from_a_variable_and_from_the_job_too() {
    let Some(cluster) = cluster("binding_default=linear:1") else {
        return;
    };
    let frugal = [("BERTH_CORE_KIND", "efficiency")];
    // It narrows the site's default binding as well.
    let done = looks(&cluster, &["-n1"], &frugal);
    assert_eq!(done.stdout, "1 binding:linear:1\n", "{done:#?}");
    let typed = ["-n1", "--berth-core-kind=performance"];
    let done = looks(&cluster, &typed, &frugal);
    assert_eq!(done.stdout, "0 binding:linear:1\n", "{done:#?}");
    let any = looks(&cluster, &["-n1", "--core-kind=any"], &frugal);
    assert_eq!(any.stdout, "0 binding:linear:1\n", "{any:#?}");

    let inner = format!("--wrap={}; srun -n1 -c2 {}", own(), quoted());
    let output = cluster.folder().join("log/script.out");
    let output = output.to_string_lossy();
    let job = [
        "--wait",
        "-o",
        &output,
        "--exclusive",
        "--core-kind=efficiency",
    ];
    let done = cluster.run(
        "sbatch",
        &[&job[..], &["--binding=linear:1", &inner]].concat(),
    );
    assert!(done.ok(), "{done:#?}");
    let said = std::fs::read_to_string(&*output).unwrap();
    let lines: Vec<_> = said.lines().collect();
    let note = "berth: note: -c requests 2 CPUs for each task, but --binding=linear:1 gives only 1; use a larger amount or a \
                smaller -c";
    assert_eq!(lines, ["1 binding:linear:1", note, "1 binding:linear:1"]);
}

/// The look in the script's own shell, and in a shell of its steps.
fn own() -> &'static str {
    LOOK[2]
}

fn quoted() -> String {
    format!("/bin/sh -c '{}'", LOOK[2].replace('\'', "'\\''"))
}

#[test]
fn a_node_that_does_not_serve_it_says_so() {
    if !berth_tests::two_cpus() {
        return;
    }
    // In srun, before anything is queued; then where all cores are alike; then binding=off.
    let cluster = Cluster::builder().plugstack(Some("")).up();
    let done = looks(&cluster, &["-n1", "--core-kind=fast"], &[]);
    let says = "--core-kind: \"fast\" is not performance, efficiency or any";
    assert!(!done.ok() && done.stderr.contains(says), "{done:#?}");
    let done = looks(&cluster, &["-n1", "--core-kind=performance"], &[]);
    assert!(
        !done.ok()
            && done
                .stderr
                .contains("this node has no such cores that Slurm knows"),
        "{done:#?}"
    );
    cluster.wait_idle();
    drop(cluster);
    let cluster = Cluster::builder().plugstack(Some("binding=off")).up();
    let done = looks(&cluster, &["-n1", "--core-kind=performance"], &[]);
    assert!(
        done.ok()
            && done
                .stderr
                .contains("--core-kind=performance is not honoured"),
        "{done:#?}"
    );
    drop(cluster);
    // Where another task plugin binds, a kind alone is not honoured, and the user learns it.
    let cluster = Cluster::builder()
        .task_plugin("task/none")
        .plugstack(Some(""))
        .up();
    let done = looks(&cluster, &["-n1", "--core-kind=performance"], &[]);
    assert!(
        done.ok() && done.stderr.contains("only beside --binding or --map-by"),
        "{done:#?}"
    );
}

#[test]
fn a_node_with_another_task_plugin_says_that_it_does_not_serve_it() {
    if !berth_tests::two_cpus() {
        return;
    }
    let cluster = Cluster::builder().task_plugin("task/none");
    let cluster = cluster.plugstack(Some("")).up();
    let says = "--core-kind=performance is not honoured on this node, where another plugin";
    for bind in ["--cpu-bind=cores", "--cpu-bind=none"] {
        let done = looks(&cluster, &["-n1", "--core-kind=performance", bind], &[]);
        assert!(done.ok() && done.stderr.contains(says), "{bind}: {done:#?}");
    }
}
