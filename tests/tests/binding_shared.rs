//! `--binding` where jobs and steps share CPUs, on a real cluster: Grid Engine's default line, who
//! gets which core, what kills and suspensions leave, and what `berth status` says of it.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;

use berth_tests::{Cluster, Done, process};
use nix::sys::signal::Signal;

/// Jobs that share a node's CPUs: where collisions really happen.
const SHARED: &str = "PartitionName=main Nodes=ALL Default=YES OverSubscribe=FORCE:8";

/// One node with two CPUs, with these lines in its slurm.conf.
fn cluster(lines: &[&str]) -> Option<Cluster> {
    if !berth_tests::two_cpus() {
        return None;
    }
    let builder = Cluster::builder().plugstack(Some(""));
    let set = |builder: berth_tests::Builder, line: &&str| builder.set(line);
    Some(lines.iter().fold(builder, set).up())
}

/// A job whose one step is bound as asked and lasts until it is told to end.
struct Lasting<'a> {
    cluster: &'a Cluster,
    job: String,
}

impl Drop for Lasting<'_> {
    fn drop(&mut self) {
        self.cluster.run("scancel", &["--full", &self.job]);
    }
}

#[track_caller]
fn lasting<'a>(cluster: &'a Cluster, binding: &str, srun: &str) -> (Lasting<'a>, String) {
    let folder = cluster.folder().join("log");
    let script = format!(
        "srun {srun} --binding={binding} /bin/sh -c 'grep Cpus_allowed_list /proc/self/status | cut -f2 \
         > {folder}/$SLURM_JOB_ID.new; mv {folder}/$SLURM_JOB_ID.new {folder}/$SLURM_JOB_ID; sleep 300'",
        folder = folder.display()
    );
    let wrap = format!("--wrap={script}");
    let output = format!("{}/lasting-%j.out", folder.display());
    let done = cluster.run(
        "sbatch",
        &["--parsable", "-n1", "-c2", "-o", &output, &wrap],
    );
    let job = done.expect_ok().trim().to_string();
    let cpus = cluster.wait_for("the step's start", || {
        std::fs::read_to_string(folder.join(&job)).ok()
    });
    (Lasting { cluster, job }, cpus.trim().to_string())
}

fn note(done: &Done) -> &str {
    done.stderr
        .lines()
        .find(|line| line.contains("note:"))
        .unwrap_or_default()
}

/// What the public file says of the node.
fn in_use(cluster: &Cluster) -> String {
    let base = cluster.folder().join("run/berth");
    let nodes = std::fs::read_dir(base).unwrap().flatten();
    let texts = nodes.filter_map(|node| std::fs::read_to_string(node.path().join("topology")).ok());
    let text: String = texts.collect();
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("m_topology_inuse="));
    line.unwrap_or_default().to_string()
}

#[test]
fn jobs_on_the_same_cpus_get_cores_of_their_own() {
    let Some(cluster) = cluster(&[SHARED]) else {
        return;
    };
    let (first, cpus) = lasting(&cluster, "linear:1", "");
    assert_eq!(cpus, "0");
    let (_second, cpus) = lasting(&cluster, "linear:1", "");
    assert_eq!(cpus, "1");
    assert!(
        in_use(&cluster).chars().all(char::is_lowercase),
        "{}",
        in_use(&cluster)
    );
    for (binding, says) in [
        ("linear:1", "this step has 0 whole free cores on this node"),
        (
            "explicit:0,0",
            "another step is bound to core 0,0 on this node",
        ),
        (
            "striding:1:1:0,0",
            "another step is bound to core 0,0 on this node",
        ),
    ] {
        let full = cluster.srun(&["-n1", "-c2", &format!("--binding={binding}"), "true"]);
        assert!(full.ok() && note(&full).contains(says), "{full:#?}");
        let full = cluster.srun(&["-n1", "-c2", &format!("--binding=strict:{binding}"), "true"]);
        assert!(!full.ok() && full.stderr.contains(says), "{full:#?}");
    }
    // Whoever asks for nothing is not counted, and sees nothing of it.
    assert_eq!(cluster.task_masks(&["-n1", "-c2"]), ["0x3"]);
    // A slurmd that starts anew knows them too.
    cluster.restart_slurmd();
    let full = cluster.srun(&["-n1", "-c2", "--binding=linear:1", "true"]);
    assert!(note(&full).contains("0 whole free cores"), "{full:#?}");
    drop(first);
    let free = || cluster.task_masks(&["-n1", "-c2", "--binding=linear:1"]) == ["0x1"];
    cluster.wait_for("the first core", || free().then_some(()));
}

#[test]
fn a_killed_slurmstepd_leaves_nothing_taken() {
    let Some(cluster) = cluster(&[SHARED]) else {
        return;
    };
    let (_job, cpus) = lasting(&cluster, "linear:2", "");
    assert_eq!(cpus, "0-1");
    let full = cluster.srun(&["-n1", "-c2", "--binding=linear:1", "true"]);
    assert!(note(&full).contains("0 whole free cores"), "{full:#?}");
    let conf = cluster.folder().join("etc/slurm.conf");
    let stepds = process::find("slurmstepd", &conf.to_string_lossy());
    assert!(!stepds.is_empty(), "the step's own slurmstepd");
    for pid in stepds {
        process::signal(pid, Signal::SIGKILL);
    }
    let free = || cluster.task_masks(&["-n1", "-c2", "--binding=linear:2"]) == ["0x3"];
    cluster.wait_for("the cores of the dead", || free().then_some(()));
}

#[test]
#[expect(clippy::too_many_lines, reason = "one story of one cluster")]
fn who_is_bound_where() {
    let Some(cluster) = cluster(&[SHARED]) else {
        return;
    };
    let status = |options: &[&str]| {
        let state = cluster.folder().join("run/berth");
        let state = format!("--state-dir={}", state.display());
        let command = berth_tests::command();
        cluster.run(
            &command.to_string_lossy(),
            &[&["status", &state], options].concat(),
        )
    };
    assert!(
        status(&[])
            .expect_ok()
            .contains("no step is bound by --binding")
    );
    let (job, _) = lasting(&cluster, "linear:1", "");
    let text = status(&[]).expect_ok();
    assert!(
        text.contains("linear:1") && text.contains("running"),
        "{text}"
    );
    assert!(text.contains(&format!("{}.0", job.job)), "{text}");
    let (_other, _) = lasting(&cluster, "linear:1", "");
    let own = status(&["--job", &job.job, "--format=json"]).expect_ok();
    let in_use = own.lines().find(|line| line.contains("m_topology_inuse"));
    let small = |text: &str| text.chars().filter(|letter| *letter == 'c').count();
    assert_eq!(
        in_use.map(|line| small(&line.replace("m_topology_inuse", ""))),
        Some(1),
        "{own}"
    );
    cluster.run("scontrol", &["suspend", &job.job]).expect_ok();
    cluster.wait_for("the suspended job", || {
        status(&[]).stdout.contains("suspended").then_some(())
    });
    // Its core goes to whoever asks, and is taken from nobody; resumed, it is where it was.
    let both = cluster.srun(&[
        "-n1",
        "-c2",
        "--binding=linear:1:0,0",
        "/bin/sh",
        "-c",
        "echo $BERTH_CPUS",
    ]);
    assert_eq!(both.stdout, "0\n");
    assert!(both.stderr.contains("gives only 1"), "{both:#?}");
    cluster.run("scontrol", &["resume", &job.job]).expect_ok();
    cluster.wait_for("the resumed job", || {
        (!status(&[]).stdout.contains("suspended")).then_some(())
    });
    let full = cluster.srun(&["-n1", "-c2", "--binding=linear:1", "true"]);
    assert!(note(&full).contains("0 whole free cores"), "{full:#?}");
}

#[test]
fn preempted_by_suspension() {
    // ci/cluster takes `\n` within a line for its end.
    let partitions = "PartitionName=main Nodes=ALL Default=YES PriorityTier=1 OverSubscribe=FORCE:1\\n\
        PartitionName=high Nodes=ALL PriorityTier=9 OverSubscribe=FORCE:1";
    let lines = [
        "PreemptType=preempt/partition_prio",
        "PreemptMode=SUSPEND,GANG",
        partitions,
    ];
    let Some(cluster) = cluster(&lines) else {
        return;
    };
    let (low, cpus) = lasting(&cluster, "linear:2", "");
    assert_eq!(cpus, "0-1");
    let ask = [
        "-p",
        "high",
        "-n1",
        "-c2",
        "--binding=linear:2",
        "/bin/sh",
        "-c",
        "echo $BERTH_CPUS",
    ];
    let high = cluster.srun(&ask);
    assert_eq!(
        (high.stdout.as_str(), high.stderr.as_str()),
        ("0-1\n", ""),
        "{high:#?}"
    );
    let state = format!(
        "--state-dir={}",
        cluster.folder().join("run/berth").display()
    );
    cluster.wait_for("the preempted job", || {
        let berth = berth_tests::command();
        let status = cluster
            .run(&berth.to_string_lossy(), &["status", &state])
            .expect_ok();
        let own = format!("{}.0", low.job);
        let line = status
            .lines()
            .find(|line| line.starts_with(&own))?
            .to_string();
        line.ends_with("running").then_some(())
    });
}

#[test]
fn a_ledger_that_fails_costs_no_launch() {
    let Some(cluster) = cluster(&[SHARED]) else {
        return;
    };
    let base = cluster.folder().join("run/berth");
    let node = std::fs::read_dir(&base).unwrap().flatten().next().unwrap();
    let ledger = node.path().join("steps.lock");
    let script = "echo $BERTH_CPUS";
    let ask = ["-n1", "-c1", "--binding=linear:1", "sh", "-c", script];
    std::fs::create_dir(&ledger).unwrap();
    let step = cluster.srun(&ask);
    assert_eq!(step.stdout, "0\n", "{step:#?}");
    assert!(
        note(&step).contains("the node's ledger could not be used"),
        "{step:#?}"
    );
    assert!(cluster.slurmd_log().contains("opening it failed"));
    let strict = cluster.srun(&["-n1", "-c1", "--binding=strict:linear:1", "/bin/true"]);
    let why = "the task is not started: the node's ledger could not be used, so nobody knows";
    assert!(!strict.ok() && strict.stderr.contains(why), "{strict:#?}");
    std::fs::remove_dir(&ledger).unwrap();
    for damage in [
        &b"another program's bytes, in a file of root's"[..],
        &[0xff; 9000],
        b"",
    ] {
        let file = node.path().join("steps/9.0");
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, damage).unwrap();
        // srun says something of a job that has to wait for the one before it.
        cluster.wait_idle();
        let step = cluster.srun(&ask);
        assert_eq!(
            (step.stdout.as_str(), step.stderr.as_str()),
            ("0\n", ""),
            "{step:#?}"
        );
    }
    // Even the whole directory: slurmd puts its key back.
    cluster.wait_idle();
    std::fs::remove_dir_all(&base).unwrap();
    cluster.wait_for("slurmd's key", || {
        cluster.srun(&["true"]).expect_ok();
        node.path().join("key").exists().then_some(())
    });
    let step = cluster.srun(&ask);
    assert_eq!(
        (step.stdout.as_str(), step.stderr.as_str()),
        ("0\n", ""),
        "{step:#?}"
    );
    assert!(ledger.exists());
    cluster.wait_idle();
}

/// The node's prolog runs between planning and the start of slurmstepd; a job that is cancelled
/// meanwhile is never started.
#[test]
fn a_job_cancelled_in_its_prolog_leaves_nothing_taken() {
    let folder = tempfile::tempdir().unwrap();
    let prolog = folder.path().join("prolog");
    let marker = folder.path().join("began");
    let script = format!("#!/bin/sh\ntouch {}\nsleep 2\n", marker.display());
    std::fs::write(&prolog, script).unwrap();
    std::fs::set_permissions(&prolog, Permissions::from_mode(0o755)).unwrap();
    let line = format!("Prolog={}", prolog.display());
    let Some(cluster) = cluster(&[SHARED, &line]) else {
        return;
    };
    let ask = [
        "-n1",
        "-c2",
        "--binding=strict:linear:2",
        "-J",
        "gone",
        "true",
    ];
    let mut gone = cluster.program("srun").args(ask).spawn().unwrap();
    cluster.wait_for("the prolog", || marker.exists().then_some(()));
    cluster.run("scancel", &["-n", "gone"]).expect_ok();
    gone.wait().unwrap();
    cluster.wait_idle();
    let start = std::time::Instant::now();
    let next = ["-n1", "-c2", "--binding=strict:linear:2", "true"];
    cluster.wait_for("the cores", || cluster.srun(&next).ok().then_some(()));
    // Without an end of the launch an entry counts for a minute.
    assert!(start.elapsed().as_secs() < 30, "{:?}", start.elapsed());
}
