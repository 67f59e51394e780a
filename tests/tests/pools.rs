//! Pools on a real cluster: what depends on the kernel, and a file that could not be read for a while. Weights need cgroups:
//! `berth-pools` has them, in a virtual machine.

use std::fs;
use std::path::Path;

use berth_tests::{Cluster, Done};

/// The example on a machine of eight cores, without cgroups.
fn cluster(file: Option<&Path>) -> Cluster {
    let builder = Cluster::builder()
        .example("pools")
        // These cores are not this host's, so cgroups cannot confine to them.
        .task_plugin("task/berth")
        .set("ProctrackType=proctrack/pgid")
        .env("HWLOC_SYNTHETIC", "pack:2 core:4 pu:1");
    match file {
        Some(file) => {
            let settings = format!("pools={} pool_reserve=2", file.display());
            builder.plugstack(Some(&settings)).up()
        }
        None => builder.up(),
    }
}

const SHOW: [&str; 3] = ["sh", "-c", "echo $NCPUS,$OMP_NUM_THREADS"];

fn told(cluster: &Cluster, options: &[&str]) -> Done {
    cluster.srun(&[options, &SHOW].concat())
}

/// Where niceness counts between sessions, normal jobs are nice instead.
#[test]
fn a_pool_that_gives_no_more_time_says_so() {
    let cluster = cluster(None);
    let done = told(&cluster, &["-pmulti8", "-n1", "-c4"]);
    let says = "this job is in the pool multi8, but gets no more CPU time";
    let of_sessions = fs::read_to_string("/proc/sys/kernel/sched_autogroup_enabled");
    let is_nice = !of_sessions.is_ok_and(|on| on.trim() == "1");
    assert_eq!(done.stderr.contains(says), !is_nice, "{done:#?}");
}

/// A file that could not be read for a reason outside of it is read when that reason is gone.
#[test]
fn a_file_that_others_could_write_is_read_when_they_cannot() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().expect("a folder");
    let below = folder.path().join("site");
    fs::create_dir(&below).expect("a folder");
    let mode =
        |mode| fs::set_permissions(&below, fs::Permissions::from_mode(mode)).expect("a mode");
    let file = below.join("pools.conf");
    fs::write(&file, "name=multi8 partition=multi8 cpus=8\n").expect("a file");
    // The file itself stays as it is.
    mode(0o777);
    let cluster = cluster(Some(&file));
    assert_eq!(told(&cluster, &["-pmulti8", "-n1"]).stdout.trim(), ",");
    mode(0o755);
    cluster.berth(&["reload"]).expect_ok();
    cluster.wait_for("the pool", || {
        let done = told(&cluster, &["-pmulti8", "-n1"]);
        (done.stdout.trim() == "1,1").then_some(())
    });
}

/// slurmd thaws what a slurmstepd has frozen that lives no more. It is known by its program's name, which each distribution
/// chooses.
#[test]
fn the_slurmstepd_of_this_slurm_is_known() {
    let cluster = cluster(None);
    let file = cluster.folder().join("parent");
    let line = format!(
        "echo $PPID > {0}.new; mv {0}.new {0}; sleep 60",
        file.display()
    );
    let mut step = cluster.program("srun");
    let mut step = step.args(["-n1", "sh", "-c", &line]).spawn().expect("srun");
    let parent: i32 = cluster.wait_for("the task", || {
        fs::read_to_string(&file).ok()?.trim().parse().ok()
    });
    assert!(
        berth_host::cgroup::is_slurmstepd(parent, &[parent]),
        "{:?}",
        fs::read_link(format!("/proc/{parent}/exe"))
    );
    step.kill().expect("it lives");
    step.wait().expect("a child");
}
