//! What slurmctld would give a line: on assumed idle nodes, and on a cluster from its slurm.conf.
//! The exit code says whether the line would run, and the text what would happen instead.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

const MACHINE: &str = "pack:2 core:4 pu:2";

fn berth(arguments: &[&str]) -> (Option<i32>, String, String) {
    let done = Command::new(env!("CARGO_BIN_EXE_berth"))
        .arg("plan")
        .args(arguments)
        .env("BERTH_STATE_DIR", "/nonexistent")
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (done.status.code(), text(done.stdout), text(done.stderr))
}

/// The cores of the job and of the step on each node, by name.
fn cores(arguments: &[&str]) -> Vec<String> {
    let (code, out, stderr) = berth(&[arguments, &["--format=json"]].concat());
    assert_eq!(code, Some(0), "{arguments:?}: {stderr}");
    let plan: Value = serde_json::from_str(&out).unwrap();
    let nodes = plan["nodes"].as_array().unwrap().iter();
    let text = |node: &Value, name: &str| node[name].as_str().unwrap().to_string();
    nodes
        .map(|node| {
            ["name", "cores", "step_cores"]
                .map(|name| text(node, name))
                .join(" ")
        })
        .collect()
}

fn refused(arguments: &[&str]) -> String {
    let (code, out, stderr) = berth(arguments);
    assert_eq!(
        (code, out.as_str()),
        (Some(1), ""),
        "{arguments:?}: {stderr}"
    );
    stderr
}

#[test]
fn one_idle_node_like_the_machine() {
    let on = |options: &str| {
        let mut words = vec!["--machine", MACHINE, "--slurm=22.05"];
        words.extend(options.split(' '));
        cores(&words).concat()
    };
    for (options, expected) in [
        ("-n4", "node0 0,4 0,4"),
        ("-n4 -c2", "node0 0-3 0-3"),
        ("-n1 --select CR_Socket", "node0 0-3 0-3"),
        (
            "-n3 --select CR_Core,CR_CORE_DEFAULT_DIST_BLOCK",
            "node0 0-1 0-1",
        ),
        ("-n5 --cores 0-6", "node0 0-6 0-6"),
        ("-n5 --cores all", "node0 0-7 0-7"),
        ("-n5 --cores 1-2,4", "node0 1-2,4 1-2,4"),
    ] {
        assert_eq!(on(options), expected, "{options}");
    }
    let inside = [
        "--machine",
        MACHINE,
        "--slurm=22.05",
        "--job",
        "salloc -n4 -c2",
    ];
    let step = |options: &[&str]| cores(&[&inside, options].concat()).concat();
    assert_eq!(step(&["-n2"]), "node0 0-3 0-3");
    assert_eq!(step(&["-n2", "-c2", "--exact"]), "node0 0-3 0-1");
}

/// As many tasks as the job's CPUs hold, however the options say that it has the node.
#[test]
fn tasks_by_their_cpus() {
    let masks = |options: &str| {
        let words =
            format!("--machine|pack:1 core:4 pu:2|-c2|--cpu-bind=cores|--format=masks|{options}");
        let words: Vec<_> = words.split('|').filter(|word| !word.is_empty()).collect();
        let (code, out, stderr) = berth(&words);
        assert_eq!(code, Some(0), "{words:?}: {stderr}");
        out.trim().to_string()
    };
    for whole in ["--cores=all", "--cores=0-3", "--cpus=0-7", "--exclusive"] {
        assert_eq!(masks(whole), "0x03,0x0C,0x30,0xC0", "{whole}");
        // One thread of each core may be used.
        let hint = format!("{whole}|--threads-per-core=1");
        assert_eq!(masks(&hint), "0x0F,0xF0", "{hint}");
    }
    assert_eq!(masks(""), "0x03");
    assert_eq!(masks("--cores=0-2"), "0x03,0x0C,0x30");
    assert_eq!(masks("--cores=all|-c9"), "0xFF");
}

#[test]
fn what_would_happen_instead() {
    let on = |options: &str| {
        let mut words = vec!["--machine", MACHINE, "--slurm=22.05"];
        words.extend(options.split(' '));
        refused(&words)
    };
    for (options, says) in [
        ("-n17", "waits for a second node"),
        ("-n40", "waits for 3 nodes"),
        ("-N1 -n17", "the job never starts"),
        ("-B 4:1 -n1", "-B asks for 4 sockets; this machine has 2"),
        ("-n2 --relative=1", "not modelled: --relative"),
        ("-n 999991023 -O", "Slurm counts only to 65535"),
    ] {
        let stderr = on(options);
        assert!(stderr.contains(says), "{options}: {stderr}");
    }
    // srun itself does not take it.
    let (code, ..) = berth(&["--machine", MACHINE, "--exclusive=user", "--overlap"]);
    assert_eq!(code, Some(2));
}

fn conf(folder: &Path) -> String {
    let path = folder.join("slurm.conf");
    let text = "ClusterName=c\nSlurmctldHost=h\nSelectType=select/cons_tres\nSelectTypeParameters=CR_Core\n\
                TaskPlugin=task/affinity\nTaskPluginParam=autobind=threads\nInclude nodes.conf\n\
                PartitionName=small Nodes=a[1-2] Default=YES\nPartitionName=large Nodes=b1\n";
    fs::write(&path, text).unwrap();
    let nodes = "NodeName=a[1-2] Sockets=1 CoresPerSocket=4 ThreadsPerCore=1\n\
                 NodeName=b1 Sockets=2 CoresPerSocket=8 ThreadsPerCore=2\n";
    fs::write(folder.join("nodes.conf"), nodes).unwrap();
    path.to_string_lossy().into_owned()
}

#[test]
fn a_cluster_from_its_configuration() {
    let folder = tempfile::tempdir().unwrap();
    let conf = conf(folder.path());
    let words =
        |more: &[&'static str]| [&["--slurm=22.05", "--cluster", conf.as_str()], more].concat();
    assert_eq!(cores(&words(&["-n3"])), ["a1 0-2 0-2"]);
    assert_eq!(cores(&words(&["-n6"])), ["a1 0-3 0-3", "a2 0-1 0-1"]);
    assert_eq!(cores(&words(&["srun -p large -n4 ./app"])), ["b1 0,8 0,8"]);
    let says = |more: &[&'static str]| refused(&words(more));
    assert!(says(&["-p", "huge", "-n1"]).contains("there is no partition huge"));
    assert!(says(&["-n9"]).contains("the job never starts"));
    let (_, out, _) = berth(&words(&["-p", "large", "-n3", "--format=json"]));
    let plan: Value = serde_json::from_str(&out).unwrap();
    let site = &plan["assumed"][0];
    assert_eq!(site["value"], "compat=affinity, autobind=threads");
    assert_eq!(site["by"], "found");
    let (code, _, missing) = berth(&["--cluster", "/no/such/slurm.conf", "-n1"]);
    assert_eq!(code, Some(2));
    assert!(
        missing.contains("/no/such/slurm.conf cannot be read"),
        "{missing}"
    );
}

/// Two nodes could hold three tasks; no others than those two could hold six.
#[test]
fn nodes_are_assumed_where_there_was_a_choice() {
    let folder = tempfile::tempdir().unwrap();
    let conf = conf(folder.path());
    for (words, assumed) in [
        (&["-n3"][..], true),
        (&["--job", "salloc -n3", "srun -n2"], true),
        (&["salloc -n3"], true),
        (&["-n6"], false),
        (&["-n3", "-w", "a2"], false),
        (&["-p", "large", "-n3"], false),
    ] {
        let words = [&["--cluster", conf.as_str()], words].concat();
        let (code, out, stderr) = berth(&[&words[..], &["--format=json"]].concat());
        assert_eq!(code, Some(0), "{words:?}: {stderr}");
        let plan: Value = serde_json::from_str(&out).unwrap();
        let found = plan.get("nodes_assumed").and_then(Value::as_bool);
        assert_eq!(found, assumed.then_some(true), "{words:?}");
        let (_, _, stderr) = berth(&words);
        assert_eq!(
            stderr.contains("nodes assumed"),
            assumed,
            "{words:?}: {stderr}"
        );
    }
    let (_, _, stderr) = berth(&["--machine", MACHINE, "-N2", "-n4"]);
    assert!(!stderr.contains("nodes assumed"), "{stderr}");
}

/// salloc and sbatch pass some options on by variables, which srun of the release reads; and their
/// nodes are the job's.
#[test]
fn a_step_takes_over_what_its_job_passes_on() {
    let masks = |release: &str, job: &str| {
        let words = ["--slurm", release, "--machine", MACHINE, "--job", job];
        let (code, out, stderr) = berth(&[&words[..], &["--format=masks", "srun ./app"]].concat());
        assert_eq!(code, Some(0), "{stderr}");
        out
    };
    assert_eq!(masks("24.11", "sbatch -n2 -c4"), "0x000F,0x00F0\n");
    assert_eq!(masks("22.05", "sbatch -n2 -c4"), "0x00FF\n");
    assert_eq!(masks("24.11", "salloc -N2 -n2 -c2"), "0x0003\n0x0003\n");
}

/// The value of `--job` is one word too, and no line.
#[test]
fn a_job_of_one_word_is_no_line() {
    let line = "--job salloc";
    let mut words: Vec<_> = line.split(' ').collect();
    words.extend(["--machine", MACHINE, "srun -n4 ./app"]);
    let (code, _, stderr) = berth(&words);
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stderr.contains("More processors requested"), "{stderr}");
}
