//! The monitoring examples name counters that berth writes, and the health check does what its page says.

use crate::run::{Done, root};
use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

fn example(name: &str) -> PathBuf {
    root().join("slurm-conf-examples/monitoring").join(name)
}

/// Words of a text that are names of counters.
fn names(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let names = words.filter(|word| word.starts_with("berth_"));
    names.map(str::to_owned).collect()
}

/// The counters as the code names them.
fn written() -> BTreeSet<String> {
    let code = ["mod.rs", "text.rs"].map(|name| {
        let text = fs::read_to_string(root().join("plugin/host/src/metrics").join(name)).unwrap();
        text.split("#[cfg(test)]").next().unwrap().to_owned()
    });
    let check = fs::read_to_string(example("health-check.sh")).unwrap();
    names(&(code.concat() + &check))
}

#[test]
fn alerts_and_their_page_name_counters_that_are_written() {
    let written = written();
    assert!(written.len() > 15, "{written:?}");
    let alerts = fs::read_to_string(example("alerts.yml")).unwrap();
    let page = fs::read_to_string(root().join("docs/administrators/monitoring.md")).unwrap();
    let named = names(&alerts);
    assert!(named.len() > 8, "{named:?}");
    for name in named.union(&names(&page)) {
        assert!(written.contains(name), "nothing writes {name}");
    }
    // Each alert is explained on the page.
    let alerts = alerts
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- alert: "));
    for alert in alerts {
        assert!(page.contains(&format!("| `{alert}` |")), "{alert}");
    }
}

#[test]
fn the_dashboard_shows_every_counter_and_no_other() {
    let text = fs::read_to_string(example("dashboard.json")).unwrap();
    let dashboard: serde_json::Value = serde_json::from_str(&text).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let targets = panels.iter().flat_map(|panel| {
        let targets = panel["targets"].as_array().unwrap();
        targets
            .iter()
            .map(|target| target["expr"].as_str().unwrap())
    });
    let shown: BTreeSet<_> = targets.flat_map(names).collect();
    assert_eq!(shown, written());
}

/// An example for the node n17, with the programs of a folder first in PATH.
fn script(name: &str, programs: &Path) -> Command {
    let mut script = Command::new(example(name));
    script.env("PATH", format!("{}:/usr/bin:/bin", programs.display()));
    script.env("SLURMD_NODENAME", "n17");
    script
}

/// The folder of the built command.
fn built() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_berth")).parent().unwrap()
}

#[test]
fn the_health_check_fails_and_says_why_where_no_slurmd_runs_berth() {
    let folder = tempfile::tempdir().unwrap();
    let mut check = script("health-check.sh", built());
    check.env("BERTH_STATE_DIR", folder.path());
    let done = Done::of(check.output().unwrap());
    assert_eq!(done.code, 1, "{done:?}");
    assert!(!done.stdout.trim().is_empty());
}

#[test]
fn the_health_check_leaves_its_result_for_the_collector() {
    let (state, collector) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    // As slurmd starts it: nearly without variables, and the host's name is not the node's.
    let mut check = Command::new(example("health-check.sh"));
    check.env_clear().env("SLURMD_NODENAME", "n17");
    check.env("PATH", format!("{}:/usr/bin:/bin", built().display()));
    check.env("BERTH_STATE_DIR", state.path());
    check.env("BERTH_COLLECTOR", collector.path());
    let done = Done::of(check.output().unwrap());
    assert_eq!(done.code, 1, "{done:?}");
    let files: Vec<_> = fs::read_dir(collector.path()).unwrap().flatten().collect();
    assert_eq!(files.len(), 1, "{files:?}");
    assert_eq!(files[0].file_name(), "n17-berth-doctor.prom");
    let text = fs::read_to_string(files[0].path()).unwrap();
    assert!(
        text.ends_with("\nberth_doctor_ok{node=\"n17\"} 0\n"),
        "{text}"
    );
}

#[test]
fn the_health_check_asks_for_its_own_node_alone() {
    let folder = tempfile::tempdir().unwrap();
    // A host has the folder of a slurmd that is stopped too, so doctor finds a fault where no node is named.
    let doctor = "[ \"$*\" = 'doctor --quiet --node n17' ] || exit 1";
    program(folder.path(), "berth", doctor);
    let done = script("health-check.sh", folder.path()).output().unwrap();
    assert!(done.status.success(), "{done:?}");
}

/// A program in a folder: these lines of a shell.
fn program(folder: &Path, name: &str, lines: &str) {
    let path = folder.join(name);
    fs::write(&path, format!("#!/bin/sh\n{lines}\n")).unwrap();
    fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
}

/// Runs the health check with `drain` and these programs first in PATH; what it printed.
fn check_and_drain(programs: &Path) -> String {
    let mut check = script("health-check.sh", programs);
    let done = Done::of(check.arg("drain").output().unwrap());
    assert_eq!(done.code, 1, "{done:?}");
    done.stdout
}

#[test]
fn the_health_check_has_a_reason_where_doctor_says_nothing() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["scontrol", "logger"] {
        program(folder.path(), name, "");
    }
    // As the real one ends if its command does not.
    program(folder.path(), "timeout", "exit 124");
    let text = check_and_drain(folder.path());
    assert!(text.contains("did not end within 20 s"), "{text}");
    program(folder.path(), "timeout", "exit 127");
    let text = check_and_drain(folder.path());
    assert!(
        text.contains("the command berth was not found in PATH"),
        "{text}"
    );
}

/// A process by the name of Debian's slurmd that has a library by the object's name loaded.
struct Slurmd(Child);

impl Slurmd {
    fn start(folder: &Path) -> Self {
        let maps = fs::read_to_string("/proc/self/maps").unwrap();
        let mut paths = maps
            .lines()
            .filter_map(|line| line.split_whitespace().nth(5));
        let library = paths.find(|path| path.contains("/libc.so") || path.contains("/libc-"));
        let (program, object) = (folder.join("slurmd-wlm"), folder.join("task_berth.so"));
        fs::copy(library.expect("a libc"), &object).unwrap();
        fs::copy("/bin/sleep", &program).unwrap();
        let child = Command::new(program)
            .arg("60")
            .env("LD_PRELOAD", object)
            .spawn()
            .unwrap();
        let started = Self(child);
        while !has_berth(&PathBuf::from(format!("/proc/{}", started.0.id()))) {
            std::thread::yield_now();
        }
        started
    }
}

impl Drop for Slurmd {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn has_berth(process: &Path) -> bool {
    let program = fs::read_link(process.join("exe")).unwrap_or_default();
    let maps = fs::read(process.join("maps")).unwrap_or_default();
    program.to_string_lossy().contains("/slurmd")
        && String::from_utf8_lossy(&maps).contains("/task_berth.so")
}

/// `scontrol` and `berth` for a node in this state whose doctor ends so; whether it was drained, and what was printed.
fn drained(folder: &Path, state: &str, doctor: &str) -> (bool, String) {
    let update = folder.join("update");
    fs::write(&update, "").unwrap();
    program(folder, "logger", "");
    program(folder, "berth", doctor);
    let lines = format!(
        "case $1 in show) echo '   State={state} ThreadsPerCore=1' ;; *) echo \"$@\" > {} ;; esac",
        update.display()
    );
    program(folder, "scontrol", &lines);
    let printed = check_and_drain(folder);
    let update = fs::read_to_string(&update).unwrap();
    (update.contains("update nodename=n17 state=drain"), printed)
}

#[test]
fn the_health_check_drains_where_a_slurmd_with_berth_is_wrong_and_nowhere_else() {
    let folder = tempfile::tempdir().unwrap();
    let wrong = "echo wrong; exit 1";
    let mut processes = fs::read_dir("/proc").unwrap().flatten();
    if processes.any(|entry| has_berth(&entry.path())) {
        eprintln!("skipped: a slurmd with berth runs on this machine");
    } else {
        // The way in and the way back: doctor misses berth, and the node's steps do without it.
        assert!(!drained(folder.path(), "IDLE", wrong).0);
    }
    let _slurmd = Slurmd::start(folder.path());
    assert!(drained(folder.path(), "MIXED", wrong).0);
    // A wrong line in a site's file, or what a job met: tasks are placed as before.
    let other = "case $* in *--placement*) exit 0 ;; esac; echo wrong; exit 1";
    let (is_drained, text) = drained(folder.path(), "IDLE", other);
    assert!(!is_drained && text.contains("wrong"), "{text}");
    // Whoever has drained the node before has had a reason.
    assert!(!drained(folder.path(), "IDLE+DRAIN", wrong).0);
    // The command is not found, hangs, or cannot be run.
    for code in [127, 124, 126, 2] {
        let (is_drained, text) = drained(folder.path(), "IDLE", &format!("exit {code}"));
        assert!(!is_drained, "{code}: {text}");
    }
    let (_, text) = drained(folder.path(), "IDLE", "exit 127");
    assert!(text.contains("not found in PATH"), "{text}");
}

#[test]
fn the_metrics_of_all_node_names_are_one_file() {
    let (state, collector) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for node in ["n1", "n2"] {
        fs::create_dir(state.path().join(node)).unwrap();
        fs::write(state.path().join(node).join("slurmd.json"), "{}").unwrap();
    }
    let write = |folder: &Path| {
        let mut write = script("write-metrics.sh", built());
        write.arg(folder).env("BERTH_STATE_DIR", state.path());
        Done::of(write.output().unwrap())
    };
    // A second run replaces the file.
    for _ in 0..2 {
        let done = write(collector.path());
        assert_eq!((done.code, done.stdout.as_str()), (0, ""));
    }
    let files: Vec<_> = fs::read_dir(collector.path()).unwrap().flatten().collect();
    assert_eq!(files.len(), 1, "{files:?}");
    let text = fs::read_to_string(collector.path().join("berth.prom")).unwrap();
    for node in ["n1", "n2"] {
        let line = format!("berth_launches_total{{node=\"{node}\"}} 0");
        assert!(text.lines().any(|found| found == line), "{line}: {text}");
    }
    let nowhere = write(&collector.path().join("nowhere"));
    assert_ne!(nowhere.code, 0, "{nowhere:?}");
}
