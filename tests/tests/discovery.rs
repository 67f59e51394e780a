//! slurmd discovers the machine beside its launches, never within one: after a failure it is tried
//! again, and no launch waits for it.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use berth_tests::{Cluster, Preload, command};
use serde_json::Value;

/// A discovering command that takes this long must not be felt in a launch.
const SLOW: Duration = Duration::from_secs(8);

fn put(path: &Path, text: &str) {
    let beside = path.with_extension("new");
    fs::write(&beside, text).unwrap();
    fs::set_permissions(&beside, Permissions::from_mode(0o755)).unwrap();
    fs::rename(beside, path).unwrap();
}

/// A command that hands over to the real one.
fn works() -> String {
    format!("#!/bin/sh\nexec {} \"$@\"\n", command().display())
}

fn fails_slowly() -> String {
    format!(
        "#!/bin/sh\nsleep {}\necho broken firmware >&2\nexit 3\n",
        SLOW.as_secs()
    )
}

/// How long a step takes.
fn launch(cluster: &Cluster) -> Duration {
    let since = Instant::now();
    cluster
        .srun(&["-n2", "--cpu-bind=cores", "true"])
        .expect_ok();
    since.elapsed()
}

fn has_line(cluster: &Cluster, words: &str) -> Option<()> {
    cluster.slurmd_log().contains(words).then_some(())
}

fn count(cluster: &Cluster, words: &str) -> usize {
    cluster.slurmd_log().matches(words).count()
}

fn doctor(cluster: &Cluster) -> Vec<Value> {
    let done = Command::new(command())
        .args(["doctor", "--quiet", "--format=json", "--state-dir"])
        .arg(cluster.folder().join("run/berth"))
        .output()
        .unwrap();
    let document: Value = serde_json::from_slice(&done.stdout).unwrap();
    let checks = document["checks"].as_array().unwrap().iter();
    let wrong = checks.filter(|check| check["verdict"] == "wrong");
    wrong.cloned().collect()
}

fn node_folder(cluster: &Cluster) -> PathBuf {
    let node = cluster.run("sinfo", &["-h", "-N", "-o", "%N"]).stdout;
    cluster.folder().join("run/berth").join(node.trim())
}

/// slurmd's threads, by name.
fn threads(cluster: &Cluster) -> Vec<String> {
    let file = node_folder(cluster).join("slurmd.json");
    let words: Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
    let tasks = PathBuf::from(format!("/proc/{}/task", words["pid"]));
    let tasks = fs::read_dir(tasks).into_iter().flatten().flatten();
    let name = |task: fs::DirEntry| fs::read_to_string(task.path().join("comm")).ok();
    tasks
        .filter_map(name)
        .map(|name| name.trim().to_owned())
        .collect()
}

#[test]
fn a_discovery_that_failed_at_start_is_tried_again() {
    if !berth_tests::two_cpus() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("berth");
    put(&program, "#!/bin/sh\necho broken firmware >&2\nexit 3\n");
    let cluster = Cluster::builder()
        .plugstack(Some(""))
        .command(&program)
        .up();
    has_line(&cluster, "broken firmware").expect("slurmd says what went wrong");
    assert_eq!(
        threads(&cluster),
        Vec::<String>::new(),
        "no thread at start"
    );
    launch(&cluster);
    assert!(!doctor(&cluster).is_empty());
    put(&program, &works());
    cluster.berth(&["reload"]).expect_ok();
    launch(&cluster);
    cluster.wait_for("the machine", || {
        has_line(&cluster, "the machine was discovered again")
    });
    cluster.wait_for("doctor to be content", || {
        doctor(&cluster).is_empty().then_some(())
    });
    launch(&cluster);
    cluster.wait_for("the thread's end", || {
        (!threads(&cluster).contains(&"berth".to_owned())).then_some(())
    });
    assert_eq!(count(&cluster, "the machine was discovered again"), 1);

    // What slurmd does with its plugins and its threads goes on as ever.
    cluster.scontrol(&["reconfigure"]).expect_ok();
    launch(&cluster);
    cluster.restart_slurmd();
    cluster.wait_idle();
    launch(&cluster);
    assert!(!cluster.slurmd_log().contains("fatal: "));
}

/// A hanging command must not hold slurmd's start: the machine is found in the background.
#[test]
fn slurmd_starts_although_its_discovery_takes_long() {
    if !berth_tests::two_cpus() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("berth");
    let hangs = format!("#!/bin/sh\nsleep 20\nexec {} \"$@\"\n", command().display());
    put(&program, &hangs);
    let since = Instant::now();
    let cluster = Cluster::builder()
        .plugstack(Some(""))
        .command(&program)
        .up();
    assert!(
        since.elapsed() < 2 * SLOW,
        "slurmd waited for its discovery"
    );
    has_line(
        &cluster,
        "takes more than 1.5 s and goes on in the background",
    )
    .unwrap();
    launch(&cluster);
    for option in ["--cpu-bind=ldoms", "--map-by=l3cache", "--mem-bind=local"] {
        let step = cluster.srun(&["-n1", option, "true"]);
        let says = "the node is still being discovered; try again";
        assert!(!step.ok() && step.stderr.contains(says), "{step:#?}");
    }
    cluster.wait_for("the machine", || {
        has_line(&cluster, "the machine was discovered again")
    });
    cluster
        .srun(&["-n1", "--cpu-bind=ldoms", "true"])
        .expect_ok();
}

/// Without berth as a task plugin nothing of it runs in slurmd after its start.
#[test]
fn a_slow_discovery_serves_bindings_without_the_task_plugin() {
    if !berth_tests::two_cpus() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("berth");
    let slow = format!("#!/bin/sh\nsleep 3\nexec {} \"$@\"\n", command().display());
    put(&program, &slow);
    let cluster = Cluster::builder()
        .task_plugin("task/none")
        .plugstack(Some(""))
        .command(&program)
        .up();
    has_line(&cluster, "goes on in the background").unwrap();
    let machine = node_folder(&cluster).join("machine.json");
    cluster.wait_for("the machine file", || machine.exists().then_some(()));
    let masks = cluster.task_masks(&["-n2", "--binding=linear:1"]);
    assert_eq!(masks, ["0x1", "0x2"]);
    cluster.wait_for("doctor to be content", || {
        doctor(&cluster).is_empty().then_some(())
    });
}

#[test]
fn no_launch_waits_for_a_discovery() {
    if !berth_tests::two_cpus() {
        return;
    }
    let online = fs::read_to_string("/sys/devices/system/cpu/online").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (program, list) = (folder.path().join("berth"), folder.path().join("online"));
    put(&program, &works());
    fs::write(&list, &online).unwrap();
    let preload = Preload::other_file("/sys/devices/system/cpu/online");
    let cluster = Cluster::builder()
        .plugstack(Some(""))
        .command(&program)
        .env("LD_PRELOAD", preload.object())
        .env("OTHER_FILE", list.to_str().unwrap())
        .up();
    launch(&cluster);
    let unchanged = "the online CPUs are no longer";
    assert_eq!(count(&cluster, unchanged), 0, "{}", cluster.slurmd_log());

    put(&program, &fails_slowly());
    fs::write(&list, "0,2-9\n").unwrap();
    for _ in 0..3 {
        let took = launch(&cluster);
        assert!(took < SLOW / 2, "a launch took {took:?}");
    }
    cluster.wait_for("the failure", || has_line(&cluster, "broken firmware"));
    assert_eq!(count(&cluster, unchanged), 1, "{}", cluster.slurmd_log());
    assert!(!doctor(&cluster).is_empty());

    // CPUs are back and the command is mended.
    fs::write(&list, &online).unwrap();
    put(&program, &works());
    cluster.berth(&["reload"]).expect_ok();
    launch(&cluster);
    cluster.wait_for("the machine", || {
        has_line(&cluster, "the machine was discovered again")
    });
    assert_eq!(count(&cluster, "broken firmware"), 1, "said once");
    launch(&cluster);
}
