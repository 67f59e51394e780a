//! What holds where the line says nothing: `CpuBind=` of nodes and partitions, and `BERTH_BINDING`.

use std::fs;
use std::process::Command;

use crate::plan_json::{plan, rule_and_site};
use serde_json::Value;

/// The words behind `-n3 -p cores`, the level that the plan binds to, and how the answer ends that
/// says where the level comes from.
const ASKED: [(&str, &str, &str); 8] = [
    ("-p plain", "sockets", "CpuBind=sockets"),
    ("-w a1", "cores", "CpuBind=cores of partition cores"),
    ("-w b1", "threads", "CpuBind=threads of the job's nodes"),
    (
        "-N2 -w a1,b1",
        "threads",
        "CpuBind=threads of the job's nodes",
    ),
    // They differ, and one of them is no binding at all.
    ("-N2 -w c1,b1", "cores", "CpuBind=cores of partition cores"),
    // An own --cpu-bind goes before it.
    (
        "-w b1 --cpu-bind=cores",
        "cores",
        "CpuBind=threads of the job's nodes",
    ),
    (
        "-w b1 --default-cpu-bind=sockets",
        "sockets",
        "CpuBind=sockets",
    ),
    ("-w c1", "auto", "CpuBind=off of the job's nodes"),
];

#[test]
fn the_default_binding_is_that_of_the_job_s_nodes_then_of_its_partition() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("slurm.conf");
    let conf = "SelectType=select/cons_tres\nSelectTypeParameters=CR_Core\nTaskPlugin=task/berth\n\
                TaskPluginParam=sockets\nNodeName=DEFAULT Sockets=2 CoresPerSocket=4 ThreadsPerCore=2\n\
                NodeName=a1\nNodeName=b1 CpuBind=threads\nNodeName=c1 CpuBind=off\n\
                PartitionName=plain Nodes=a1 Default=YES\nPartitionName=cores Nodes=ALL CpuBind=cores\n";
    fs::write(&path, conf).unwrap();
    let path = path.to_str().unwrap();
    let ask = |words: &[&str]| {
        let before = ["--slurm=22.05", "--cluster", path];
        rule_and_site(&plan(&[&before[..], words].concat(), &[]))
    };
    for (words, level, says) in ASKED {
        let line = format!("-p cores -n3 {words}");
        let (rule, site) = ask(&line.split(' ').collect::<Vec<_>>());
        assert!(rule.contains(level), "{words}: {rule}");
        assert!(site.split(", ").any(|part| part == says), "{words}: {site}");
    }
    // The step has its job's default, whatever its own nodes are.
    let job = "salloc -N2 -n4 -p cores -w a1,b1";
    let (rule, _) = ask(&["--job", job, "-N1", "-n2", "-w", "a1"]);
    assert!(rule.contains("threads"), "{rule}");
}

#[test]
fn the_user_s_default_is_a_binding_as_if_typed() {
    let here = ["--machine=live", "-n1"];
    let rule = |words: &[&str], variables: &[(&str, &str)]| {
        let plan = plan(words, variables);
        (rule_and_site(&plan).0, plan["assumed"].to_string())
    };
    let (own, facts) = rule(&here, &[("BERTH_BINDING", "linear:1")]);
    assert_eq!(own, "binding:linear:1");
    assert!(
        facts.contains("BERTH_BINDING=linear:1") && facts.contains("variables"),
        "{facts}"
    );
    let routed = "SLURM_SPANK__SLURM_SPANK_OPTION_berth_binding";
    // An outer command's option goes before it, an outer command's default does not.
    let outer = [("BERTH_BINDING", "linear:1"), (routed, "striding:1:1")];
    assert_eq!(rule(&here, &outer).0, "binding:striding:1:1");
    let outer = [outer[0], outer[1], ("BERTH_BINDING_ROUTED", "striding:1:1")];
    assert_eq!(rule(&here, &outer).0, "binding:linear:1");
    let typed = ["--machine=live", "-n1", "--binding=striding:1:2"];
    assert_eq!(rule(&typed, &outer).0, "binding:striding:1:2");
    // Another machine is not where the variables are; those of the line are.
    let (other, _) = rule(&["--machine", "core:2 pu:1", "-n1"], &outer);
    assert!(!other.contains("binding:"), "{other}");
    let line = "BERTH_BINDING=linear:1 srun -n1 ./app";
    let (other, _) = rule(&["--machine", "core:2 pu:1", line], &[]);
    assert_eq!(other, "binding:linear:1");
    let wrong = Command::new(env!("CARGO_BIN_EXE_berth"))
        .args(["plan", "-n1"])
        .env("BERTH_BINDING", "linear:x")
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&wrong.stderr);
    assert_eq!(wrong.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("BERTH_BINDING: --binding"), "{stderr}");
}

/// The rule of the plan, or what is wrong.
fn mapped(words: &[&str], variables: &[(&str, &str)]) -> Result<String, String> {
    let done = Command::new(env!("CARGO_BIN_EXE_berth"))
        .arg("plan")
        .args(words)
        .args(["--format=json", "--machine=pack:2 core:8 pu:2"])
        .env("BERTH_STATE_DIR", "/nonexistent")
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&done.stderr).into_owned();
    if !done.status.success() {
        return Err(stderr);
    }
    let plan: Value = serde_json::from_slice(&done.stdout).unwrap();
    Ok(rule_and_site(&plan).0)
}

#[test]
fn a_job_s_mapping_is_that_of_its_steps() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("job.sh");
    let text =
        "#!/bin/sh\n#SBATCH -n4 -c4 --map-by=slot:pe=2\n#SBATCH --berth-rank-by=slot\nsrun ./a\n";
    fs::write(&script, text).unwrap();
    let sbatch = format!("sbatch {}", script.display());
    let of_line = "salloc -n4 -c4 --map-by=slot:pe=2 --berth-rank-by=slot";
    for job in [of_line, &sbatch] {
        let step = |line: &str| mapped(&["--job", job, line], &[]).unwrap();
        let given = "map:slot:pe=2,rank:slot,bind:core";
        assert_eq!(step("srun -n4 ./a"), given, "{job}");
        // A variable is only read where the job has no option.
        let both = step("BERTH_MAP_BY=core BERTH_BIND_TO=hwthread srun -n4 ./a");
        assert_eq!(
            both, "map:slot:pe=2:hwtcpus,rank:slot,bind:hwthread",
            "{job}"
        );
        let other = step("srun -n4 --map-by=core ./a");
        assert_eq!(other, "map:core,rank:slot,bind:core", "{job}");
        let binding = step("srun -n4 --binding=linear:1 ./a");
        assert_eq!(binding, "binding:linear:1", "{job}");
        // A variable for another choice gives way to the job's option.
        let inside = step("BERTH_BINDING=linear:1 srun -n4 ./a");
        assert_eq!(inside, given, "{job}");
    }
    let line = "salloc -n4 --bind-to=package srun -n4 --map-by=core ./a";
    let wrong = mapped(&[line], &[]).unwrap_err();
    assert!(wrong.contains("--job: --map-by=core"), "{wrong}");
    let wrong = mapped(&["salloc -n4 --map-by=what srun -n4 ./a"], &[]).unwrap_err();
    assert!(wrong.contains("--job: --map-by: expected"), "{wrong}");
}

#[test]
fn a_job_s_binding_overrides_variables_for_a_mapping() {
    for (line, given) in [
        (
            "BERTH_MAP_BY=core salloc -n4 -c2 --binding=linear:1 srun -n4 ./a",
            "binding:linear:1",
        ),
        // The line's own option overrides the job's, and the variable counts again.
        (
            "BERTH_MAP_BY=core salloc -n4 -c2 --binding=linear:1 srun -n4 --bind-to=hwthread ./a",
            "map:core,rank:fill,bind:hwthread",
        ),
    ] {
        assert_eq!(mapped(&[line], &[]).as_deref(), Ok(given), "{line}");
    }
}

#[test]
fn a_kind_of_cores_narrows_whatever_chooses() {
    let machine = "../../tests/topologies/hybrid-2x6.xml";
    for (line, cpus) in [
        (
            "BERTH_CORE_KIND=efficiency srun -n1 --binding=linear:1 ./a",
            "4",
        ),
        (
            "BERTH_CORE_KIND=efficiency salloc --core-kind=performance srun -n1 ./a",
            "0-3,8-11",
        ),
        (
            "salloc --core-kind=efficiency --exclusive srun -n1 --map-by=core ./a",
            "4",
        ),
        (
            "BERTH_CORE_KIND=efficiency srun -n1 --core-kind=any --binding=linear:1 ./a",
            "0-1",
        ),
    ] {
        let words = [
            "--machine",
            machine,
            "--allow-ecores",
            "--select=linear",
            line,
        ];
        let plan = plan(&words, &[]);
        assert_eq!(plan["tasks"][0]["cpus"], cpus, "{line}");
    }
}

#[test]
fn a_typed_mapping_option_and_a_variable_for_another_go_together() {
    for (line, given) in [
        (
            "BERTH_BIND_TO=hwthread srun -n1 --map-by=core ./a",
            "map:core,rank:fill,bind:hwthread",
        ),
        (
            "BERTH_MAP_BY=core srun -n1 --bind-to=hwthread ./a",
            "map:core,rank:fill,bind:hwthread",
        ),
        (
            "BERTH_MAP_BY=package srun -n1 --map-by=core ./a",
            "map:core,rank:fill,bind:core",
        ),
        // Alone these two contradict each other.
        (
            "BERTH_MAP_BY=package srun -n1 --rank-by=span --bind-to=none ./a",
            "map:package,rank:span,bind:none",
        ),
        // What is typed removes other wishes wholly.
        (
            "BERTH_BINDING=linear:1 srun -n1 --map-by=core ./a",
            "map:core,rank:fill,bind:core",
        ),
        (
            "BERTH_MAP_BY=core BERTH_BIND_TO=core srun -n1 --binding=linear:1 ./a",
            "binding:linear:1",
        ),
    ] {
        assert_eq!(mapped(&[line], &[]).as_deref(), Ok(given), "{line}");
    }
    let wrong = mapped(&["BERTH_BIND_TO=package srun -n1 --map-by=core ./a"], &[]).unwrap_err();
    assert!(wrong.contains("BERTH_BIND_TO: --map-by=core"), "{wrong}");
    let wrong = mapped(&["srun -n1 --map-by=core --bind-to=package ./a"], &[]).unwrap_err();
    assert!(wrong.contains("use --map-by=package"), "{wrong}");
}

/// berth then binds nothing that comes from elsewhere; what the line itself asks for holds.
#[test]
fn no_binding_overrides_what_is_inherited() {
    let none = "srun -n1 --binding=none --cpu-bind=cores ./a";
    for line in [
        format!("BERTH_NEAR=gpu BERTH_MAP_BY=numa {none}"),
        format!("salloc -n2 --near=gpu {none}"),
        "BERTH_MAP_BY=numa salloc -n2 --binding=none srun -n1 --cpu-bind=cores ./a".into(),
    ] {
        assert_eq!(
            mapped(&[&line], &[]).as_deref(),
            Ok("cores:cyclic"),
            "{line}"
        );
    }
    let own = mapped(&["srun -n1 --binding=none --map-by=numa ./a"], &[]);
    assert_eq!(own.as_deref(), Ok("map:numa,rank:fill,bind:numa"));
}

#[test]
fn a_typed_option_overrides_what_is_inherited() {
    for (line, given) in [
        (
            "BERTH_NEAR=gpu srun -n1 --map-by=numa ./a",
            "map:numa,rank:fill,bind:numa",
        ),
        (
            "salloc -n2 --near=gpu srun -n1 --map-by=package ./a",
            "map:package,rank:fill,bind:package",
        ),
        // A default gives way to the job's option.
        (
            "BERTH_NEAR=gpu salloc -n2 --map-by=numa srun -n1 ./a",
            "map:numa,rank:fill,bind:numa",
        ),
        // By either name, the innermost one holds.
        (
            "salloc -n2 --berth-binding=linear:2 srun -n1 --binding=linear:1 ./a",
            "binding:linear:1",
        ),
        // So does a --binding, whatever it names.
        ("BERTH_NEAR=gpu srun -n1 --binding=auto ./a", "binding:auto"),
        // No device leaves everything else as it is.
        (
            "BERTH_MAP_BY=core srun -n1 --near=none ./a",
            "map:core,rank:fill,bind:core",
        ),
        (
            "salloc -n2 --binding=linear:1 srun -n1 --near=none ./a",
            "binding:linear:1",
        ),
        (
            "BERTH_MAP_BY=core salloc -n2 --near=none srun -n1 ./a",
            "map:core,rank:fill,bind:core",
        ),
    ] {
        assert_eq!(mapped(&[line], &[]).as_deref(), Ok(given), "{line}");
    }
    let wrong = mapped(&["srun -n1 --near=gpu --map-by=package ./a"], &[]).unwrap_err();
    assert!(wrong.contains("both choose the CPUs"), "{wrong}");
    // This machine has no devices, so the mapping is gone and the note is about them.
    for line in [
        "BERTH_BINDING=auto srun -n1 --near=gpu ./a",
        // These go together.
        "srun -n1 --near=gpu --binding=auto ./a",
        "BERTH_NEAR=gpu BERTH_BINDING=auto srun -n1 ./a",
        "BERTH_MAP_BY=numa srun -n1 --near=gpu ./a",
        "salloc -n2 --map-by=numa srun -n1 --near=gpu ./a",
    ] {
        let rule = mapped(&[line], &[]).unwrap_or_else(|why| why);
        assert!(
            !rule.contains("both choose") && !rule.contains("map:"),
            "{line}: {rule}"
        );
    }
}
