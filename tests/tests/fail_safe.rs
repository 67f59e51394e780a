//! What an administrator's slip costs, and what a user reads of a refusal, on real clusters:
//! settings that cannot be read, the switch-off file, and a step that several nodes refuse.

use std::fs;
use std::process::Command;

use berth_tests::{Cluster, command, two_cpus};
use serde_json::Value;

/// What `berth doctor` says: each check as `verdict what: text`, and whether all is well.
fn doctor(cluster: &Cluster, options: &[&str]) -> (Vec<String>, bool) {
    let done = Command::new(command())
        .args(["doctor", "--format=json", "--state-dir"])
        .arg(cluster.folder().join("run/berth"))
        .args(options)
        .output()
        .unwrap();
    let document: Value = serde_json::from_slice(&done.stdout).unwrap();
    let text = |check: &Value, name: &str| check[name].as_str().unwrap().to_owned();
    let checks = document["checks"].as_array().unwrap().iter();
    let checks = checks.map(|check| {
        let [verdict, what, text] = ["verdict", "what", "text"].map(|name| text(check, name));
        format!("{verdict} {what}: {text}")
    });
    (checks.collect(), done.status.success())
}

#[track_caller]
fn has(lines: &[String], parts: &[&str]) {
    let found = lines
        .iter()
        .any(|line| parts.iter().all(|part| line.contains(part)));
    assert!(found, "{parts:?} in {lines:#?}");
}

#[test]
fn an_unreadable_compat_is_affinity() {
    if !two_cpus() {
        return;
    }
    let cluster = Cluster::builder()
        .plugstack(Some("compat=afinity later=1"))
        .up();
    let log = cluster.slurmd_log();
    let complaint = "error: berth: plugstack.conf: compat=afinity: the value must be one of \
                     berth, affinity; compat=affinity is in force";
    assert_eq!(log.matches(complaint).count(), 1, "{log}");
    assert!(
        log.contains("berth: ready:") && log.contains(", compat=affinity"),
        "{log}"
    );
    assert_eq!(
        cluster.task_masks(&["-n2", "--cpu-bind=cores"]),
        ["0x1", "0x2"]
    );
    let (checks, is_well) = doctor(&cluster, &[]);
    assert!(!is_well);
    has(&checks, &["wrong complaint", "compat=afinity"]);
    has(&checks, &["note warning", "later=1", "no such key"]);
}

#[test]
fn a_key_of_a_later_release_is_no_fault() {
    if !two_cpus() {
        return;
    }
    let cluster = Cluster::builder().plugstack(Some("frobnicate=1")).up();
    let (checks, is_well) = doctor(&cluster, &[]);
    assert!(is_well, "{checks:#?}");
    has(&checks, &["note warning", "frobnicate=1"]);
    let (checks, is_well) = doctor(&cluster, &["--strict"]);
    assert!(!is_well, "{checks:#?}");
}

#[test]
fn a_wrong_node_list_is_loud_on_every_node() {
    if !two_cpus() {
        return;
    }
    let cluster = Cluster::builder()
        .nodes(2)
        .plugstack(Some(
            "notes=log nodes=n[1- binding=off compat=berth nodes=ALL",
        ))
        .up();
    let log = cluster.slurmd_log();
    let complaint = "the words that follow it apply on no node: binding=off compat=berth; \
                     compat=affinity is in force";
    assert_eq!(log.matches(complaint).count(), 2, "{log}");
    assert_eq!(log.matches("ready: berth").count(), 2, "{log}");
    assert_eq!(log.matches(", compat=affinity\n").count(), 2, "{log}");
    // binding=off is not in force, so a --binding is served.
    let bound = ["-N1", "-n1", "--exclusive", "--binding=linear:1"];
    assert_eq!(cluster.task_masks(&bound), ["0x1"]);
}

/// slurmd gets ready once, with its settings, wherever Slurm finds plugstack.conf: beside slurm.conf, or where
/// PlugStackConfig says. Before it knows them, it would make a key and read files in folders that are not its own.
#[test]
fn slurmd_knows_its_settings_when_it_gets_ready() {
    if !two_cpus() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let state = format!("state_dir={} strict=on", folder.path().display());
    let cluster = Cluster::builder().plugstack(Some(&state)).up();
    let etc = cluster.folder().join("etc");
    let conf = fs::read_to_string(etc.join("slurm.conf")).unwrap();
    assert!(!conf.contains("PlugStackConfig"), "{conf}");
    let turned = ["-n2", "--cpu-bind=map_cpu:1,0"];
    let ready = |log: &str| {
        let lines = log.lines().filter(|line| line.contains("ready: berth"));
        let lines: Vec<_> = lines.collect();
        assert!(
            lines.iter().all(|line| line.ends_with("compat=berth")),
            "{lines:#?}"
        );
        lines.len()
    };
    assert_eq!(ready(&cluster.slurmd_log()), 1);
    // slurmstepd trusts slurmd by the key in that folder.
    assert_eq!(cluster.task_masks(&turned), ["0x2", "0x1"]);
    let other = cluster.folder().join("other.conf");
    fs::rename(etc.join("plugstack.conf"), &other).unwrap();
    let named = format!("{conf}PlugStackConfig={}\n", other.display());
    fs::write(etc.join("slurm.conf"), named).unwrap();
    cluster.restart_slurmd();
    cluster.wait_for("the second start", || {
        (ready(&cluster.slurmd_log()) > 1).then_some(())
    });
    assert_eq!(cluster.task_masks(&turned), ["0x2", "0x1"]);
    assert_eq!(ready(&cluster.slurmd_log()), 2);
    // A file that does not name it: nobody is going to tell it any settings.
    fs::write(&other, "# optional task_berth.so\ninclude none.d/*.conf\n").unwrap();
    cluster.restart_slurmd();
    cluster.wait_for("the third start", || {
        (ready(&cluster.slurmd_log()) > 2).then_some(())
    });
}

/// Without slurmd's key no slurmstepd believes slurmd's plan.
#[test]
fn what_a_state_directory_loses_comes_back_without_a_restart() {
    if !two_cpus() {
        return;
    }
    let cluster = Cluster::builder().up();
    let masks = || cluster.task_masks(&["-n2", "--cpu-bind=cores"]);
    assert_eq!(masks(), ["0x1", "0x2"]);
    let base = cluster.folder().join("run/berth");
    let node = fs::read_dir(&base).unwrap().flatten().next().unwrap();
    let node = node.path();
    let files = ["key", "machine.json", "slurmd.json"].map(|name| node.join(name));
    for is_all in [false, true] {
        match is_all {
            false => fs::remove_file(&files[0]).unwrap(),
            true => fs::remove_dir_all(&base).unwrap(),
        }
        // The first slurmstepd that finds no key asks slurmd for it.
        cluster.wait_for("the files", || {
            cluster.srun(&["true"]).expect_ok();
            files.iter().all(|file| file.exists()).then_some(())
        });
        assert_eq!(masks(), ["0x1", "0x2"], "all was lost: {is_all}");
        let (checks, is_well) = doctor(&cluster, &[]);
        assert!(is_well, "{checks:#?}");
    }
    assert!(cluster.slurmd_log().contains("slurmd's key is in"));
    // The slurmd of a reconfiguration announces itself, and fails later: the one before goes on.
    let own = fs::read_to_string(&files[2]).unwrap();
    let dead = own.replacen("\"start\": ", "\"start\": 9", 1);
    assert_ne!(own, dead, "a start time");
    fs::write(&files[2], dead).unwrap();
    assert!(!doctor(&cluster, &[]).1, "nobody who lives is announced");
    cluster.berth(&["reload"]).expect_ok();
    cluster.srun(&["true"]).expect_ok();
    cluster.wait_for("the announcement", || doctor(&cluster, &[]).1.then_some(()));
}

#[test]
fn the_switch_off_file_is_said() {
    if !two_cpus() {
        return;
    }
    for list in ["task/berth", "task/none"] {
        let cluster = Cluster::builder()
            .task_plugin(list)
            .plugstack(Some(""))
            .up();
        fs::write(cluster.folder().join("run/berth/off"), "").unwrap();
        let bound = ["-n2", "--exclusive", "--binding=linear:1", "true"];
        let told = cluster.srun(&bound);
        let note = "berth: note: --binding=linear:1 is not applied: the administrator has \
                    switched berth off on this node";
        assert!(told.ok(), "{list}: {told:#?}");
        assert_eq!(told.stderr.matches(note).count(), 1, "{list}: {told:#?}");
        for silent in ["--binding=none", "--cpu-bind=cores"] {
            let told = cluster.srun(&["-n2", "--exclusive", silent, "true"]);
            assert!(!told.stderr.contains("berth"), "{list}: {told:#?}");
        }
        let (checks, is_well) = doctor(&cluster, &[]);
        assert!(is_well, "{checks:#?}");
        has(
            &checks,
            &["note switch", "run/berth/off", "switches berth off"],
        );
        assert!(!doctor(&cluster, &["--strict"]).1);
        cluster.restart_slurmd();
        cluster.wait_idle();
        let log = cluster.slurmd_log();
        assert!(
            log.contains("/off switches berth off: it binds no task"),
            "{log}"
        );
    }
}

/// The lines of stderr in which berth explains something.
fn explained(stderr: &str) -> Vec<&str> {
    let lines = stderr.lines().filter(|line| line.contains("berth: "));
    lines.collect()
}

#[test]
fn a_refusal_is_explained_once_a_step() {
    if !two_cpus() {
        return;
    }
    let cluster = Cluster::builder().nodes(3).plugstack(Some("")).up();
    let names = cluster.run("sinfo", &["-h", "-N", "-o", "%N"]).expect_ok();
    let names: Vec<_> = names.split_whitespace().collect();
    let last = names[1..].join(",");
    for (options, speaker, what) in [
        (&["-N3", "-n6", "--cpu-bind=map_cpu:77"][..], 0, "CPU 77"),
        (&["-N3", "-n3", "--cpu-bind=mask_cpu:0x0"], 0, "empty mask"),
        // The first node has two tasks and both CPUs, and no reason to refuse.
        (&["-N3", "-n4", "--cpu-bind=map_cpu:0,1"], 1, "names CPU 1"),
        // A step on the job's last two nodes.
        (
            &["-N2", "-n2", "-w", &last, "--cpu-bind=map_cpu:9"],
            1,
            "CPU 9",
        ),
    ] {
        let refused = cluster.srun(&[options, &["true"]].concat());
        assert!(!refused.ok(), "{refused:#?}");
        let lines = explained(&refused.stderr);
        assert_eq!(lines.len(), 1, "{options:?}: {refused:#?}");
        let head = format!("srun: error: berth: node {}: ", names[speaker]);
        assert!(
            lines[0].starts_with(&head) && lines[0].contains(what),
            "{lines:?}"
        );
        cluster.wait_idle();
    }
    let one = cluster.srun(&["-N1", "-n1", "--cpu-bind=map_cpu:77", "true"]);
    assert!(
        explained(&one.stderr)[0].starts_with("srun: error: berth: --cpu-bind=map_cpu:77"),
        "{one:#?}"
    );
}

#[test]
fn a_refusal_of_slurmstepd_is_explained_once_a_node() {
    if !two_cpus() {
        return;
    }
    let cluster = Cluster::builder()
        .nodes(2)
        .task_plugin("task/none")
        .plugstack(Some(""))
        .set("PartitionName=main Nodes=ALL Default=YES State=UP OverSubscribe=FORCE:4")
        .up();
    let marker = cluster.folder().join("log/began");
    let work = format!("touch {}.$SLURM_NODEID; sleep 300", marker.display());
    let held = ["-N2", "-n2", "--binding=linear:1", "/bin/sh", "-c", &work];
    let mut held = cluster.program("srun").args(held).spawn().unwrap();
    cluster.wait_for("the first step", || {
        let began = |node| fs::exists(format!("{}.{node}", marker.display())).unwrap();
        (began(0) && began(1)).then_some(())
    });
    let full = ["-N2", "-n2", "-c2", "--binding=strict:linear:2", "true"];
    let refused = cluster.srun(&full);
    let lines = explained(&refused.stderr);
    assert!(!refused.ok() && lines.len() == 2, "{refused:#?}");
    let short = lines
        .iter()
        .filter(|line| line.contains("berth: error: node "));
    assert_eq!(short.count(), 1, "{refused:#?}");
    held.kill().unwrap();
    held.wait().unwrap();
}
