//! Open MPI's mapping language on a real cluster: what the kernel has is what `berth plan` shows,
//! and what is wrong or can never fit is refused where it is typed.

use berth_tests::{Cluster, Done};

/// One node with two CPUs.
fn cluster() -> Option<Cluster> {
    if !berth_tests::two_cpus() {
        return None;
    }
    Some(Cluster::builder().plugstack(Some("")).up())
}

/// What each task finds: the rule, and its CPUs as the kernel has them.
const LOOK: [&str; 3] = [
    "/bin/sh",
    "-c",
    "echo $SLURM_LOCALID $(sed -n 's/^Cpus_allowed_list:\\t//p' /proc/self/status) $BERTH_RULE",
];

fn looks(cluster: &Cluster, options: &[&str], variables: &[(&str, &str)]) -> Done {
    cluster.run_with("srun", &[options, &LOOK].concat(), variables)
}

/// The lines by task.
fn lines(done: &Done) -> Vec<String> {
    let mut lines: Vec<_> = done.stdout.lines().map(String::from).collect();
    lines.sort();
    lines
}

/// The same as `berth plan` shows it, where slurmd is.
fn planned(cluster: &Cluster, options: &[&str], rule: &str) -> Vec<String> {
    let berth = berth_tests::command();
    let ask = [&["plan", "--format=cpus"], options].concat();
    let done = cluster.run(&berth.to_string_lossy(), &ask);
    let tasks = done.stdout.lines().enumerate();
    tasks
        .map(|(task, cpus)| format!("{task} {cpus} {rule}"))
        .collect()
}

#[test]
fn the_kernel_has_what_is_planned() {
    let Some(cluster) = cluster() else { return };
    for (options, rule) in [
        (
            &["-n2", "--map-by=core"][..],
            "map:core,rank:fill,bind:core",
        ),
        (
            &["-n2", "--map-by=core", "--rank-by=slot"],
            "map:core,rank:slot,bind:core",
        ),
        (
            &["-n2", "--berth-map-by=hwthread"],
            "map:hwthread:hwtcpus,rank:fill,bind:hwthread",
        ),
        (
            &["-n1", "-c2", "--map-by=slot:pe=2"],
            "map:slot:pe=2,rank:slot,bind:core",
        ),
        (
            &["-n2", "--map-by=pe-list=1,0:ordered"],
            "map:pe-list=1,0:ordered,rank:slot,bind:core",
        ),
        (
            &["-n2", "--bind-to=package"],
            "map:package,rank:fill,bind:package",
        ),
    ] {
        let done = looks(&cluster, options, &[]);
        assert_eq!(
            lines(&done),
            planned(&cluster, options, rule),
            "{options:?} {done:#?}"
        );
        assert!(!lines(&done).is_empty(), "{done:#?}");
    }
}

#[test]
fn what_stays_unbound_and_what_gives_way() {
    let Some(cluster) = cluster() else { return };
    // Nothing is bound, and the user learns why.
    let done = looks(&cluster, &["-n4", "-O", "--map-by=slot"], &[]);
    assert!(done.stdout.contains("bind:none"), "{done:#?}");
    assert!(
        done.stderr.contains("berth: note: --map-by=slot binds no"),
        "{done:#?}"
    );
    // A level gives way, none overrides, and a batch script keeps the allocation.
    let done = looks(
        &cluster,
        &["-n2", "--cpu-bind=sockets", "--map-by=core"],
        &[],
    );
    assert!(done.stdout.contains("map:core"), "{done:#?}");
    let done = looks(&cluster, &["-n2", "--cpu-bind=none", "--map-by=core"], &[]);
    assert!(!done.stdout.contains("map:core"), "{done:#?}");
    let inner = "--wrap=echo script $BERTH_RULE; srun /bin/sh -c 'echo step $BERTH_RULE'";
    let output = cluster.folder().join("log/script.out");
    let output = output.to_string_lossy();
    let job = ["--wait", "-o", &output, "-n2", "--map-by=core", inner];
    let done = cluster.run("sbatch", &job);
    assert!(done.ok(), "{done:#?}");
    let said = std::fs::read_to_string(&*output).unwrap();
    assert!(said.starts_with("script batch:own-cpus\n"), "{said}");
    assert!(
        said.contains("step map:core,rank:fill,bind:core\n"),
        "{said}"
    );
}

/// The rule of a batch job's step, or what srun says first.
fn rule_of_step(cluster: &Cluster, job: &[&str], step: &str, variables: &[(&str, &str)]) -> String {
    let inner = format!("--wrap=srun {step} /bin/sh -c 'echo $BERTH_RULE' 2>&1");
    let output = cluster.folder().join("log/inner.out");
    let output = output.to_string_lossy();
    let job = [&["--wait", "-o", &output], job, &[inner.as_str()]].concat();
    cluster.run_with("sbatch", &job, variables);
    let said = std::fs::read_to_string(&*output).unwrap();
    said.lines().next().unwrap_or_default().to_string()
}

#[test]
fn what_is_typed_overrides_what_is_inherited() {
    let Some(cluster) = cluster() else { return };
    let rule = |options: &[&str], variables: &[(&str, &str)]| {
        let done = looks(&cluster, options, variables);
        let first = lines(&done).into_iter().next().unwrap_or_default();
        first
            .split_whitespace()
            .nth(2)
            .map(String::from)
            .unwrap_or(done.stderr)
    };
    let mapped = [("BERTH_MAP_BY", "core")];
    assert_eq!(rule(&["-n2"], &mapped), "map:core,rank:fill,bind:core");
    assert_eq!(
        rule(&["-n2", "--map-by=slot"], &mapped),
        "map:slot,rank:slot,bind:core"
    );
    let linear = "binding:linear:1";
    assert_eq!(rule(&["-n1", "--binding=linear:1"], &mapped), linear);
    let bound = [("BERTH_BINDING", "linear:1")];
    assert_eq!(
        rule(&["-n2", "--map-by=core"], &bound),
        "map:core,rank:fill,bind:core"
    );
    assert_eq!(
        rule(&["-n2", "--bind-to=core"], &bound),
        "map:core,rank:fill,bind:core"
    );
    // Two variables contradict each other.
    let both = [mapped[0], bound[0]];
    assert!(rule(&["-n1"], &both).contains("both choose the CPUs"));
    // In a batch job, whose steps take over its options.
    let of_step = |job: &[&str], step: &str, variables: &[(&str, &str)]| {
        rule_of_step(&cluster, job, step, variables)
    };
    let binding = ["-n2", "--binding=linear:1"];
    let map = "map:core,rank:fill,bind:core";
    assert_eq!(of_step(&binding, "-n2 --map-by=core", &[]), map);
    assert_eq!(of_step(&binding, "-n2", &mapped), linear);
    assert_eq!(of_step(&binding, "-n2 --bind-to=core", &mapped), map);
    let mapping = ["-n2", "--map-by=core"];
    assert_eq!(of_step(&mapping, "-n2", &bound), map);
    let sure = ["-n2", "--berth-map-by=core"];
    assert_eq!(of_step(&sure, "-n2", &bound), map);
    assert_eq!(of_step(&sure, "-n2", &[("BERTH_MAP_BY", "slot")]), map);
    // By either name the innermost one holds.
    let sure = ["-n2", "--berth-binding=striding:1:1"];
    assert_eq!(of_step(&sure, "-n2 --binding=linear:1", &[]), linear);
    assert_eq!(
        of_step(&["-n2", "--near=gpu"], "-n2 --map-by=core", &[]),
        map
    );
    assert_eq!(of_step(&mapping, "-n2 --near=none", &[]), map);
}

#[test]
fn refusals_reach_the_user() {
    let Some(cluster) = cluster() else { return };
    for (options, says) in [
        // In srun, before anything is queued.
        (&["-n1", "--map-by=cor"][..], "write the whole word: core"),
        (&["-n1", "--map-by=seq"], "--distribution=arbitrary"),
        (&["-n1", "--map-by=core:pe=2"], "use --map-by=slot:pe=2"),
        (
            &["-n1", "--map-by=core", "--bind-to=package"],
            "cannot be bound wider",
        ),
        (
            &["-n1", "--rank-by=fill", "--map-by=slot"],
            "object to object",
        ),
        (
            &["-n1", "--map-by=core", "--binding=linear:1"],
            "drop one of them",
        ),
        (&["-n2", "--map-by=slot:pe=2"], "-n2 -c2"),
        // On the node.
        (&["-n2", "--map-by=ppr:1:package"], "1 of them fit"),
        (&["-n1", "--map-by=pe-list=7"], "their numbers are 0 to"),
    ] {
        let done = looks(&cluster, options, &[]);
        assert!(
            !done.ok() && done.stderr.contains(says),
            "{options:?}: {done:#?}"
        );
        assert_eq!(done.stdout, "", "{options:?}");
    }
    // A node drained by a refusal would never be.
    cluster.wait_idle();
}
