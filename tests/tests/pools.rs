//! Pools on a real cluster: when they are full, what holds when their file is wrong, and what depends on the kernel. Weights
//! need cgroups: `berth-pools` has them, in a virtual machine.

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

/// Starts a job that lasts, and waits until its script runs in its place.
fn run(cluster: &Cluster, options: &[&str]) {
    let words = [options, &["--parsable", "-o/dev/null", "--wrap=sleep 300"]].concat();
    let id = cluster.run("sbatch", &words).expect_ok();
    let line = format!("step={}.batch", id.trim());
    cluster.wait_for("the script", || {
        cluster.slurmd_log().contains(&line).then_some(())
    });
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

#[test]
fn a_full_pool_runs_normal_jobs_also_after_a_restart_of_slurmd() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("pools.conf");
    fs::write(
        &file,
        "name=multi8 partition=multi8 cpus=8 export=WORKERS\n",
    )
    .expect("a file");
    let cluster = cluster(Some(&file));
    run(&cluster, &["-pmulti8", "-n4"]);
    cluster.restart_slurmd();
    cluster.wait_for("slurmd", || cluster.scontrol(&["ping"]).ok().then_some(()));
    let show = ["sh", "-c", "echo $WORKERS,$NCPUS"];
    // Six of eight cores are the pools'.
    let done = cluster.srun(&[&["-pmulti8", "-n1", "-c4"][..], &show].concat());
    assert_eq!(done.stdout.trim(), ",", "{done:#?}");
    let says = "with its 4 CPUs all pools would own 8 of at most 6 here";
    assert!(done.stderr.contains(says), "{done:#?}");
    let done = cluster.srun(&[&["-pmulti8", "-n1", "-c2"][..], &show].concat());
    assert_eq!(done.stdout.trim(), "2,", "{done:#?}");
    assert_eq!(cluster.metric("pool_full"), Some(1));

    // A wrong file changes nothing.
    fs::write(&file, "name=multi8 partition=multi8 cpus=9\n").expect("a file");
    let why = "pools.conf, line 1: cpus=9 are more than the 8 CPUs of this node";
    let done = cluster.berth(&["reload"]);
    assert!(!done.ok() && done.stderr.contains(why), "{done:#?}");
    let doctor = cluster.berth(&["doctor"]);
    for says in [why, "; 1 pool in force"] {
        let is_said = !doctor.ok() && doctor.stdout.contains(says);
        assert!(is_said, "{says}: {doctor:#?}");
    }
    let done = cluster.srun(&[&["-pmulti8", "-n1"][..], &show].concat());
    assert_eq!(done.stdout.trim(), "1,", "{done:#?}");
    fs::write(&file, "name=multi8 partition=multi8 cpus=4\n").expect("a file");
    cluster.berth(&["reload"]).expect_ok();
    run(&cluster, &["-pnormal", "-n1"]);
    cluster.wait_for("the file in force", || {
        let done = cluster.berth(&["doctor"]);
        (!done.stdout.contains("has changed since")).then_some(())
    });
    let done = cluster.srun(&[&["-pmulti8", "-n1"][..], &show].concat());
    let says = "with its 1 CPU the pool would own 5 of at most 4 here";
    assert!(done.stderr.contains(says), "{done:#?}");
}

/// A file that is wrong or gone changes nothing, and is one error line with the place and the reason.
#[test]
fn a_wrong_file_leaves_the_pools_in_force() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("pools.conf");
    let right = "name=multi8 partition=multi8 cpus=8 export=WORKERS\n";
    fs::write(&file, right).expect("a file");
    let cluster = cluster(Some(&file));
    let member = || {
        let show = ["-pmulti8", "-n1", "-c2", "sh", "-c", "echo $WORKERS"];
        cluster.srun(&show).stdout.trim().to_owned()
    };
    assert_eq!(member(), "2");
    let two = format!("{right}name=other partition=multi8 cpus=4\n");
    let wrong = wrong_files(&two);
    let away = folder.path().join("away");
    for (text, why) in wrong {
        // It is right when the command looks, and wrong when slurmd reads it.
        fs::write(&file, right).expect("a file");
        cluster.berth(&["reload"]).expect_ok();
        match text {
            Some(text) => fs::write(&file, text).expect("a file"),
            None => fs::rename(&file, &away).expect("a file"),
        }
        let done = cluster.berth(&["reload"]);
        assert!(!done.ok() && done.stderr.contains(why), "{done:#?}");
        assert_eq!(member(), "2", "{why}");
        let doctor = cluster.wait_for(why, || {
            let done = cluster.berth(&["doctor"]);
            // slurmd's own line, beside what doctor finds in the file.
            let is_said = |line: &str| [why, STAYS].iter().all(|text| line.contains(text));
            let said = done.stdout.lines().find(|line| is_said(line));
            let is_wrong = said.is_some_and(|line| line.starts_with("WRONG"));
            is_wrong.then_some(done)
        });
        let well = doctor.stdout.contains("1 pool in force") && !doctor.ok();
        assert!(well, "{doctor:#?}");
        assert_eq!(member(), "2", "{why}");
    }
    // Each was said once.
    let log = cluster.slurmd_log();
    let lines: Vec<_> = log.lines().filter(|line| line.contains(STAYS)).collect();
    assert_eq!(lines.len(), wrong.len(), "{lines:#?}");
    for (line, (_, why)) in lines.iter().zip(wrong) {
        let is_error = line.contains("error: berth: ") && line.contains(why);
        assert!(is_error, "{line}");
    }
    fs::write(&file, right).expect("a file");
    cluster.berth(&["reload"]).expect_ok();
    assert_eq!(member(), "2");
    cluster.wait_for("the right file", || {
        let done = cluster.berth(&["doctor"]);
        (!done.stdout.contains(STAYS)).then_some(())
    });
}

/// What slurmd says of a file that it does not put in force.
const STAYS: &str = "; the file as it was read before stays in force";

/// Texts of a file, nothing for one that is gone, and the reasons why they do not hold.
fn wrong_files(two_for_one_partition: &str) -> [(Option<&str>, &str); 4] {
    [
        (
            Some("# a site's\nname=multi8 partition=multi8 cpus=8 colour=red\n"),
            "pools.conf, line 2: there is no key colour",
        ),
        (
            Some(two_for_one_partition),
            "pools.conf, line 2: line 1 has the pool multi8 for partition=multi8 already",
        ),
        (
            Some("name=multi8 partition=multi8 cpus=9\n"),
            "pools.conf, line 1: cpus=9 are more than the 8 CPUs of this node",
        ),
        (None, "pools.conf does not exist"),
    ]
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
