//! `--binding` without berth as a task plugin: the plugstack line alone, beside whatever binds
//! the other steps. What was asked, what the kernel says, and what others see of it.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;

use berth_tests::{Cluster, Done};

const BESIDE: [&str; 3] = ["task/affinity", "task/none", "task/affinity,task/berth"];

fn cluster(task_plugin: &str, arguments: &str) -> Cluster {
    Cluster::builder()
        .task_plugin(task_plugin)
        .plugstack(Some(arguments))
        .set("PartitionName=main Nodes=ALL Default=YES OverSubscribe=FORCE:8")
        .up()
}

fn note(done: &Done) -> &str {
    let mut lines = done.stderr.lines();
    lines
        .find(|line| line.contains("berth: note:"))
        .unwrap_or_default()
}

#[test]
#[expect(clippy::too_many_lines, reason = "one story of one cluster")]
fn beside_any_task_plugin() {
    if !berth_tests::two_cpus() {
        return;
    }
    for beside in BESIDE {
        let cluster = cluster(beside, "");
        for (options, masks) in [
            (&["-n2", "--binding=linear:1"][..], &["0x1", "0x2"][..]),
            (&["-n2", "--binding=host:linear:2"], &["0x3", "0x3"]),
            (&["-n1", "-c2", "--binding=explicit:0,0"], &["0x1"]),
            (
                &["-n1", "-c2", "--binding=striding:1:1", "--export=NONE"],
                &["0x1"],
            ),
            (&["-n1", "-c2", "--binding=env:linear:1"], &["0x3"]),
            (&["-n1", "-c2", "--binding=none"], &["0x3"]),
            (
                &["-n1", "-c2", "--binding=linear:1", "--cpu-bind=none"],
                &["0x3"],
            ),
        ] {
            assert_eq!(cluster.task_masks(options), masks, "{beside}: {options:?}");
        }
        let ask = "echo $BERTH_BINDING_CORES $SGE_BINDING $OMP_PLACES";
        let told = cluster.srun(&["-n1", "-c2", "--binding=env:linear:1", "/bin/sh", "-c", ask]);
        assert_eq!(told.expect_ok(), "0,0 0 {0}\n", "{beside}");
        let both = [
            "-n1",
            "-c2",
            "--binding=linear:1",
            "--cpu-bind=map_cpu:1",
            "true",
        ];
        let both = cluster.srun(&both);
        assert!(
            both.ok() && note(&both).contains("drop one of them"),
            "{beside}: {both:#?}"
        );
        let script = "while read -r key cpus; do case $key in Cpus_allowed_list:) echo $cpus;; esac; done < /proc/self/status";
        let job = cluster.sbatch(&["-n1", "-c2", "--binding=linear:1"], script);
        assert_eq!(job.output, "0\n", "{beside}");
        let job = cluster.sbatch(
            &["-n1", "-c2", "--binding=linear:1", "--export=NONE"],
            script,
        );
        assert_eq!(job.output, "0\n", "{beside}");
        let job = cluster.sbatch(&["-n2", "--binding=linear:1"], script);
        assert_eq!(
            job.output, "0-1\n",
            "{beside}: its sruns inherit the request"
        );
    }
}

#[test]
fn cpus_per_task_are_slurms_own_number() {
    if !berth_tests::two_cpus() {
        return;
    }
    let cluster = cluster("task/affinity", "");
    // Not every release's srun takes over the -c of the job around it; the environment has it.
    let masks = "srun -n2 --binding=auto /bin/sh -c 'while read -r key cpus; do case $key in \
                 Cpus_allowed_list:) echo $cpus;; esac; done < /proc/self/status' | sort";
    let job = cluster.sbatch(&["-n1", "-c2"], masks);
    assert_eq!(job.output, "0\n1\n");
    let short = cluster.srun(&["-n1", "-c2", "--map-by=core", "true"]);
    assert!(note(&short).contains("-c 2 is requested"), "{short:#?}");
}

#[test]
fn the_ledger_is_kept_all_the_same() {
    if !berth_tests::two_cpus() {
        return;
    }
    let cluster = cluster("task/affinity", "");
    let marker = cluster.folder().join("log/began");
    let work = format!("touch {}; sleep 300", marker.display());
    let wrap = format!("--wrap=srun --binding=linear:1 /bin/sh -c '{work}'");
    let job = cluster.run(
        "sbatch",
        &["--parsable", "-n1", "-c2", "-o", "/dev/null", &wrap],
    );
    let job = job.expect_ok().trim().to_string();
    cluster.wait_for("the step's start", || marker.exists().then_some(()));
    assert_eq!(
        cluster.task_masks(&["-n1", "-c2", "--binding=linear:1"]),
        ["0x2"]
    );
    let full = cluster.srun(&["-n1", "-c2", "--binding=linear:2", "true"]);
    assert!(full.ok(), "{full:#?}");
    assert!(
        note(&full).contains("this step has 1 whole free core on this node"),
        "{full:#?}"
    );
    let strict = cluster.srun(&["-n1", "-c2", "--binding=strict:linear:2", "true"]);
    assert!(!strict.ok(), "{strict:#?}");
    assert!(
        strict
            .stderr
            .contains("the task is not started: --binding=strict:linear:2"),
        "{strict:#?}"
    );
    cluster.run("scancel", &["--full", &job]).expect_ok();
    let free = || cluster.task_masks(&["-n1", "-c2", "--binding=linear:2"]) == ["0x3"];
    cluster.wait_for("the cores", || free().then_some(()));
    cluster.wait_idle();
}

#[test]
fn its_user_stands_in_the_ledger() {
    if !berth_tests::two_cpus() {
        return;
    }
    let cluster = cluster("task/affinity", "");
    // The user has to find the cluster's configuration.
    std::fs::set_permissions(cluster.folder(), Permissions::from_mode(0o755)).unwrap();
    let wrap = "--wrap=srun --binding=linear:1 sleep 300";
    let ask = ["--parsable", "--uid=nobody", "--chdir=/", "-n1", "-c2"];
    let job = cluster.run("sbatch", &[&ask[..], &["-o", "/dev/null", wrap]].concat());
    let job = job.expect_ok().trim().to_string();
    let state = format!(
        "--state-dir={}",
        cluster.folder().join("run/berth").display()
    );
    let berth = berth_tests::command();
    let running = || {
        let status = cluster.run(&berth.to_string_lossy(), &["status", &state]);
        let mut lines = status.stdout.lines();
        let line = lines.find(|line| line.contains("running"))?;
        Some(line.to_string())
    };
    let line = cluster.wait_for("the user's step", running);
    assert!(
        line.contains(&format!("{job}.0")) && line.contains("nobody"),
        "{line}"
    );
    cluster.run("scancel", &["--full", &job]).expect_ok();
    cluster.wait_idle();
}

#[test]
fn its_switches_hold() {
    if !berth_tests::two_cpus() {
        return;
    }
    let off = cluster("task/affinity", "binding=off");
    let step = off.srun(&["-n1", "-c2", "--binding=linear:1", "true"]);
    assert!(
        step.ok() && note(&step).contains("not honoured on this node (binding=off)"),
        "{step:#?}"
    );
    assert_eq!(step.stderr.matches("note").count(), 1, "{step:#?}");
    let script = off.sbatch(&["-n1", "-c2", "--binding=linear:1"], "true");
    assert_eq!(script.output, "", "a script's stderr stays clean");
    drop(off);
    let default = cluster("task/affinity", "binding_default=linear:1");
    assert_eq!(default.task_masks(&["-n1", "-c2"]), ["0x1"]);
    assert_eq!(
        default.task_masks(&["-n1", "-c2", "--binding=none"]),
        ["0x3"]
    );
    // A level or list of the step's own comes before the site's default, as with task/berth.
    for bind in ["sockets", "mask_cpu:0x3"] {
        let bind = format!("--cpu-bind={bind}");
        assert_eq!(default.task_masks(&["-n1", "-c2", &bind]), ["0x3"]);
    }
    // Nobody asked for both, so nobody is told of both.
    let list = ["-n1", "-c2", "--cpu-bind=map_cpu:1"];
    assert_eq!(default.task_masks(&list), ["0x2"]);
    let step = default.srun(&[&list[..], &["true"]].concat());
    assert!(step.ok() && note(&step).is_empty(), "{step:#?}");
    std::fs::write(default.folder().join("run/berth/off"), "").unwrap();
    assert_eq!(
        default.task_masks(&["-n1", "-c2", "--binding=linear:1"]),
        ["0x3"]
    );
}
