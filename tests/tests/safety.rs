//! What must never take a node down: an unknown release, a record that makes no
//! sense, task/affinity beside us, wrong settings, a missing command.

use berth_tests::{Builder, Cluster, Preload, command, two_cpus};

const CORES: [&str; 3] = ["-n2", "--exclusive", "--cpu-bind=cores"];

fn berth() -> Builder {
    Cluster::builder().plugstack(Some(""))
}

/// slurmd runs, the node is idle, and a step runs with these masks.
#[track_caller]
fn lives(cluster: &Cluster, masks: [&str; 2]) {
    assert_eq!(cluster.task_masks(&CORES), masks);
    assert!(cluster.sbatch(&[], "true").state == "COMPLETED");
    cluster.wait_idle();
}

#[test]
fn an_unknown_release_line_makes_it_inert() {
    if !two_cpus() {
        return;
    }
    // 99: a line that Slurm will have some day.
    let source = "long slurm_api_version(void) { return 99L << 16; }";
    let future = Preload::build(source);
    let cluster = berth().env("LD_PRELOAD", future.object()).up();
    lives(&cluster, ["0x3", "0x3"]);
    let log = cluster.slurmd_log();
    let loud: Vec<_> = log
        .lines()
        .filter(|line| line.contains("error: berth:"))
        .collect();
    assert_eq!(loud.len(), 1, "one loud line, at start: {log}");
    for part in [
        "berth knows only 22.05",
        "26.05",
        "install a release of berth that supports it",
    ] {
        assert!(loud[0].contains(part), "no {part:?} in {loud:?}");
    }
    assert!(!log.contains("berth: ready"), "{log}");
    // SPANK's hooks bind nothing there either, and the user who asks for it knows.
    let ours = ["-n2", "--exclusive", "--binding=linear:1"];
    assert_eq!(cluster.task_masks(&ours), ["0x3", "0x3"]);
    let step = cluster.srun(&[&ours[..], &["true"]].concat());
    let note = "berth: note: --binding=linear:1 is not honoured: berth is inert here";
    assert_eq!(step.stderr.matches(note).count(), 1, "{step:#?}");
}

#[test]
fn a_record_that_fails_its_check_is_not_used() {
    if !two_cpus() {
        return;
    }
    // The check has the kernel look at each pointer first; here it finds nothing there.
    let source = "#include <errno.h>\n#include <sys/types.h>\n\
                  ssize_t process_vm_readv(void) { errno = EFAULT; return -1; }";
    let blind = Preload::build(source);
    let cluster = berth().env("LD_PRELOAD", blind.object()).up();
    // Bound to the step's cores all the same, by Slurm's public interface.
    assert_eq!(
        cluster.task_masks(&["-n1", "-c1", "--cpu-bind=cores"]),
        ["0x1"]
    );
    lives(&cluster, ["0x3", "0x3"]);
    let log = cluster.slurmd_log();
    assert!(
        log.contains("error: berth: slurmd's settings (conf)"),
        "{log}"
    );
    assert!(
        log.contains("is bound to the step's CPUs 0, without placement"),
        "{log}"
    );
}

#[test]
fn beside_task_affinity_it_steps_aside() {
    if !two_cpus() {
        return;
    }
    let cluster = berth().task_plugin("task/affinity,task/berth").up();
    // Later lines sort the list. A mask that both would bind, and a refusal that only one can be
    // the author of.
    lives(&cluster, ["0x1", "0x2"]);
    let far = cluster.srun(&["-n1", "--cpu-bind=map_cpu:9", "true"]);
    assert!(!far.ok() && !far.stderr.contains("berth:"), "{far:#?}");
    let log = cluster.slurmd_log();
    assert!(
        log.contains("lists task/affinity, which binds every task a second time"),
        "{log}"
    );
    assert!(!log.contains("berth: step="), "{log}");
}

#[test]
fn binding_off_is_said_to_who_asks() {
    if !two_cpus() {
        return;
    }
    let cluster = Cluster::builder()
        .plugstack(Some("binding=off binding_default=linear:2"))
        .up();
    let step = cluster.srun(&["-n2", "--exclusive", "--binding=linear:1", "true"]);
    assert!(step.ok(), "{step:#?}");
    assert_eq!(step.stderr.matches("berth: note:").count(), 1, "{step:#?}");
    assert!(
        step.stderr
            .contains("not honoured on this node (binding=off)"),
        "{step:#?}"
    );
    // Else srun may say that its job waits for resources.
    cluster.wait_idle();
    let silent = cluster.srun(&["-n2", "--exclusive", "true"]);
    assert_eq!(silent.stderr, "", "who requests nothing reads nothing");
}

#[test]
fn wrong_settings_are_said() {
    if !two_cpus() {
        return;
    }
    let cluster = Cluster::builder()
        .plugstack(Some("frobnicate=1 notes=loud shadow=yes"))
        .up();
    lives(&cluster, ["0x1", "0x2"]);
    let log = cluster.slurmd_log();
    for part in [
        "frobnicate=1: there is no such key; the keys are compat, ",
        "notes=loud: the value must be one of user, log, off; notes=user is in force",
        "shadow=yes: the value must be one of off, on; shadow=off is in force",
    ] {
        assert_eq!(log.matches(part).count(), 1, "{part:?} once in {log}");
    }
}

#[test]
fn without_the_command_slurmds_own_map_is_used() {
    if !two_cpus() {
        return;
    }
    let cluster = Cluster::builder()
        .plugstack(Some("command=/nonexistent/berth"))
        .up();
    lives(&cluster, ["0x1", "0x2"]);
    let log = cluster.slurmd_log();
    assert!(log.contains("/nonexistent/berth is not there"), "{log}");
    assert!(log.contains("berth uses slurmd's own map"), "{log}");
    let domains = cluster.srun(&["-n1", "--exclusive", "--cpu-bind=ldoms", "true"]);
    assert!(
        !domains.ok() && domains.stderr.contains("does not know those of this node"),
        "{domains:#?}"
    );
    cluster.wait_idle();
}

#[test]
fn without_a_plugstack_line_the_defaults_hold() {
    if !two_cpus() {
        return;
    }
    let cluster = Cluster::builder().plugstack(None).up();
    lives(&cluster, ["0x1", "0x2"]);
    assert!(
        cluster.slurmd_log().contains("berth: ready:"),
        "{}",
        cluster.slurmd_log()
    );
}

#[test]
fn restarted_and_reconfigured_while_a_step_runs() {
    if !two_cpus() {
        return;
    }
    let cluster = berth().up();
    let mut sleeper = cluster
        .program("srun")
        .args(["-n1", "-c1", "--cpu-bind=cores", "sleep", "60"])
        .spawn()
        .unwrap();
    cluster.wait_for("the step", || {
        cluster.slurmd_log().contains("bound=1/1").then_some(())
    });
    cluster.restart_slurmd();
    cluster.scontrol(&["reconfigure"]).expect_ok();
    assert_eq!(
        cluster.task_masks(&["-n1", "-c1", "--cpu-bind=cores"]),
        ["0x2"]
    );
    assert!(sleeper.try_wait().unwrap().is_none(), "the step went on");
    sleeper.kill().unwrap();
    sleeper.wait().unwrap();
    cluster.wait_idle();
}

#[test]
fn a_machine_pretended_to_slurmd_is_said_loudly() {
    let cluster = berth().env("HWLOC_SYNTHETIC", "pack:2 core:4 pu:2").up();
    let log = cluster.slurmd_log();
    assert!(
        log.contains(
            "this node pretends to be another machine: HWLOC_SYNTHETIC=pack:2 core:4 pu:2"
        ),
        "{log}"
    );
    assert!(
        log.contains("S:C:T 2:4:2 (SCTTCTTCTTCTTSCTTCTTCTTCTT)"),
        "{log}"
    );
}

#[test]
fn the_machine_file_is_roots_alone_to_write() {
    use std::os::unix::fs::PermissionsExt;
    let cluster = berth().up();
    let state = cluster.folder().join("run/berth");
    let node = std::fs::read_dir(&state)
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    for (path, mode) in [
        (&state, 0o755),
        (&node, 0o755),
        (&node.join("machine.json"), 0o644),
    ] {
        let found = std::fs::metadata(path).unwrap().permissions().mode() & 0o7777;
        assert_eq!(found, mode, "{}", path.display());
    }
    assert!(command().is_file());
}
