//! A confined task cannot leave its CPUs, on this host's own cgroups; `berth-confine` plays the same and
//! more in the virtual machines.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use berth_tests::confine::{SITES, cgroups, play, settings};
use berth_tests::{Cluster, skip, two_cpus};

/// Each test looks at all cgroups of this host, so one is played at a time.
static ONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The tasks' program.
const PROGRAM: &str = env!("CARGO_BIN_EXE_berth-confine");

/// Whether this host's cpusets are of this version, and ours to write.
fn has_cpusets(is_v1: bool) -> bool {
    let v1 = Path::new("/sys/fs/cgroup/cpuset/cpuset.cpus");
    let v2 = std::fs::read_to_string("/sys/fs/cgroup/cgroup.subtree_control").unwrap_or_default();
    let has_v2 = v2.split_whitespace().any(|one| one == "cpuset");
    let has = if is_v1 {
        v1.exists()
    } else {
        !v1.exists() && has_v2
    };
    if !has {
        let version = if is_v1 { 1 } else { 2 };
        skip(&format!(
            "there are no cpusets of cgroup version {version} here"
        ));
        return false;
    }
    if is_v1 {
        let probe = v1.with_file_name("berth-probe");
        if std::fs::create_dir(&probe)
            .and_then(|()| std::fs::remove_dir(&probe))
            .is_err()
        {
            skip("no cgroup can be made here");
            return false;
        }
    }
    true
}

/// What the kernel says of two tasks that have asked for every CPU; with task/affinity as the task plugin, and berth as
/// a SPANK plugin alone.
fn beside_another_task_plugin(is_v1: bool) {
    const WIDENS: &str = "own() { grep Cpus_allowed_list /proc/$$/status | cut -f2; }; \
                          before=$(own); taskset -p ffffffff $$ > /dev/null; echo $before $(own)";
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("cgroup.conf");
    let plugin = if is_v1 { "cgroup/v1" } else { "cgroup/v2" };
    std::fs::write(
        &file,
        format!("CgroupPlugin={plugin}\nConstrainCores=yes\n"),
    )
    .expect("cgroup.conf");
    for plugins in ["task/affinity", "task/cgroup,task/affinity"] {
        let cluster = Cluster::builder()
            .example("cgroup")
            .file(&file)
            .task_plugin(plugins)
            .plugstack(Some(""))
            .up();
        for confine in ["task", "off"] {
            let is_fenced = confine == "task";
            let confine = format!("--confine={confine}");
            let words = ["-n2", "--binding=linear:1", &confine, "bash", "-c", WIDENS];
            let done = cluster.srun(&words);
            let told = |line: &str| line.split_once(' ').map(|(before, after)| before == after);
            let kept: Vec<_> = done.stdout.lines().map(told).collect();
            let as_said = kept == [Some(is_fenced), Some(is_fenced)];
            assert!(
                as_said && !done.stderr.contains("berth: note"),
                "{plugins} {confine}: {done:#?}"
            );
        }
        assert_nothing_is_left(&cluster);
        assert!(
            cluster.slurmd_log().contains(" confined=2/2 "),
            "{}",
            cluster.slurmd_log()
        );
    }
}

/// Nothing of ours may be there once the steps have ended.
fn assert_nothing_is_left(cluster: &Cluster) {
    cluster.wait_idle();
    let node = cluster.run("sinfo", &["-h", "-o", "%N"]).stdout;
    let is_ours = |path: &String| path.contains(node.trim()) && path.contains("/berth_");
    let left: Vec<_> = cgroups(cluster).into_iter().filter(is_ours).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_binding_is_a_fence_without_berth_as_a_task_plugin() {
    let _alone = alone();
    for is_v1 in [true, false] {
        if two_cpus() && has_cpusets(is_v1) {
            beside_another_task_plugin(is_v1);
        }
    }
}

#[test]
fn tasks_stay_inside_with_cgroup_v1() {
    let _alone = alone();
    if two_cpus() && has_cpusets(true) {
        SITES
            .iter()
            .filter(|site| site.is_v1)
            .for_each(|site| play(site, Path::new(PROGRAM)));
    }
}

#[test]
fn tasks_stay_inside_with_cgroup_v2() {
    let _alone = alone();
    if two_cpus() && has_cpusets(false) {
        SITES
            .iter()
            .filter(|site| !site.is_v1)
            .for_each(|site| play(site, Path::new(PROGRAM)));
        settings(Path::new(PROGRAM));
    }
}
