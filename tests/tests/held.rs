//! CPUs that other software holds for itself by a cgroup: discovery finds them, and no task gets them while
//! its step has others.

use std::fs;
use std::path::{Path, PathBuf};

use berth_tests::{Cluster, command, two_cpus};

const LOOK: &str = "sed -n 's/^Cpus_allowed_list:\\t//p' /proc/self/status";

/// A cgroup with CPU 1 for itself; it goes with this value.
struct Holder(PathBuf);

impl Holder {
    /// None where no such cgroup can be made.
    fn new() -> Option<Self> {
        Self::of("/sys/fs/cgroup/cpuset", "cpuset.cpu_exclusive", "1")
            .or_else(|| Self::of("/sys/fs/cgroup", "cpuset.cpus.partition", "root"))
    }

    fn of(top: &str, file: &str, value: &str) -> Option<Self> {
        if !Path::new(top).join("cgroup.procs").exists() {
            return None;
        }
        // Present in the unified hierarchy alone.
        let _ = fs::write(Path::new(top).join("cgroup.subtree_control"), "+cpuset");
        let own = Self(Path::new(top).join("berth-test-holder"));
        fs::create_dir(&own.0).ok()?;
        fs::write(own.0.join("cpuset.cpus"), "1").ok()?;
        fs::write(own.0.join(file), value).ok()?;
        let now = fs::read_to_string(own.0.join(file)).ok()?;
        (now.trim() == value).then_some(own)
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        fs::remove_dir(&self.0).expect("the cgroup is empty");
    }
}

#[test]
fn no_task_gets_what_others_hold() {
    if !two_cpus() {
        return;
    }
    let Some(_holder) = Holder::new() else {
        return berth_tests::skip("no cgroup can hold a CPU for itself here");
    };
    let berth = command().to_string_lossy().into_owned();
    for (compat, expected) in [("berth", "0"), ("affinity", "0-1")] {
        let builder = Cluster::builder().plugstack(Some(&format!("compat={compat}")));
        let cluster = builder.up();
        let topo = cluster.run(&berth, &["topo", "--format=json"]);
        assert!(topo.stdout.contains("\"held\": \"1\""), "{topo:#?}");
        let words = ["-n1", "-c2", "--cpu-bind=cores", "/bin/sh", "-c", LOOK];
        let done = cluster.run("srun", &words);
        assert!(done.ok(), "{compat}: {done:#?}");
        // In the unified hierarchy the kernel itself keeps every process off.
        let is_unified = !Path::new("/sys/fs/cgroup/cpuset").exists();
        let expected = if is_unified { "0" } else { expected };
        assert_eq!(done.stdout.trim(), expected, "{compat}: {done:#?}");
        let planned = cluster.run(
            &berth,
            &["plan", "--format=cpus", "-c2", "--cpu-bind=cores"],
        );
        assert!(planned.ok(), "{planned:#?}");
        assert!(planned.stdout.trim().ends_with(expected), "{planned:#?}");
    }
}
