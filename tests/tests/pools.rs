//! Pools on a real cluster: the example as it stands, who is in a pool, what its tasks are told, when it is full, and
//! what holds when its file is wrong. Weights need cgroups: `berth-pools` has them, in a virtual machine.

use std::fs;
use std::path::Path;

use berth_tests::{Builder, Cluster, Done};

/// The example on a machine of eight cores, without cgroups.
fn cluster(file: Option<&Path>) -> Cluster {
    let settings = file.map(|file| format!("pools={} pool_reserve=2", file.display()));
    match &settings {
        Some(settings) => builder().plugstack(Some(settings)).up(),
        None => builder().up(),
    }
}

fn builder() -> Builder {
    builder_on("pack:2 core:4 pu:1")
}

fn builder_on(machine: &str) -> Builder {
    Cluster::builder()
        .example("pools")
        // These cores are not this host's, so cgroups cannot confine to them.
        .task_plugin("task/berth")
        .set("ProctrackType=proctrack/pgid")
        .set("LaunchParameters=use_interactive_step")
        .set("InteractiveStepOptions=\"--interactive --preserve-env sh -c 'echo interactive $NCPUS,$OMP_NUM_THREADS'\"")
        .env("HWLOC_SYNTHETIC", machine)
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

#[test]
fn the_example_as_it_stands() {
    let cluster = cluster(None);
    let doctor = cluster.berth(&["doctor"]);
    // The example is for larger nodes: here its reserve is one of the pool's eight.
    let beyond =
        "beyond the 7 CPUs that the pool multi8 can have beside the node's reserve (cpus=8)";
    for says in ["1 pool in force", beyond] {
        assert!(doctor.stdout.contains(says), "{says}: {doctor:#?}");
    }
    // Without cgroups nobody counts what the jobs outside of pools have.
    let status = cluster.berth(&["status", "--pools"]).stdout;
    let last = status.lines().last().unwrap_or_default();
    assert!(last.trim().ends_with("0.00       unknown"), "{status}");
    // A pool job starts on a node that is full, and is told what it got.
    run(&cluster, &["-pnormal", "-n8"]);
    let done = told(&cluster, &["-pmulti8", "-n1", "-c4"]);
    assert_eq!(done.stdout.trim(), "4,4", "{done:#?}");
    // Where niceness counts between sessions, normal jobs are nice instead.
    let says = "this job is in the pool multi8, but gets no more CPU time";
    let is_told = done.stderr.contains(says);
    let of_sessions = fs::read_to_string("/proc/sys/kernel/sched_autogroup_enabled");
    let is_nice = !of_sessions.is_ok_and(|on| on.trim() == "1");
    assert_eq!(is_told, !is_nice, "{done:#?}");
    // salloc's own shell gets the pool's variables too.
    let done = cluster.run("salloc", &["-pmulti8", "-n1", "-c4"]);
    assert_eq!(done.stdout.trim(), "interactive 4,", "{done:#?}");
    // `--pool=none` takes a job out of its pool; no option puts one in.
    let done = told(&cluster, &["-pmulti8", "--pool=none", "-n1"]);
    // srun may report its own wait, so only berth's lines count.
    let is_quiet = !done.stderr.contains("berth");
    assert_eq!((done.stdout.trim(), is_quiet), (",", true), "{done:#?}");
    let done = cluster.srun(&["-pmulti8", "--pool=multi8", "-n1", "true"]);
    assert!(!done.ok() && done.stderr.contains("--pool: "), "{done:#?}");
    assert_eq!(cluster.metric("pool_steps"), Some(2));
    let log = cluster.slurmd_log();
    assert!(
        log.contains("pool=multi8 cpus-asked=4 cpus-delivered=unknown stalled=unknown"),
        "{log}"
    );
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

/// Where slurmd counts cores, a task finds what it asked for, and so does the step's line.
#[test]
fn a_task_counts_cores_where_slurmd_does() {
    let builder = builder_on("pack:2 core:4 pu:2");
    let cluster = builder
        .shape("CPUs=8 Sockets=2 CoresPerSocket=4 ThreadsPerCore=2")
        .up();
    let done = told(&cluster, &["-pmulti8", "-n1", "-c4"]);
    assert_eq!(done.stdout.trim(), "4,4", "{done:#?}");
    let done = cluster.run("salloc", &["-pmulti8", "-n1", "-c4"]);
    assert_eq!(done.stdout.trim(), "interactive 4,", "{done:#?}");
    // One thread of each core.
    let single = ["-pmulti8", "-n1", "-c4", "--hint=nomultithread"];
    let done = told(&cluster, &single);
    assert_eq!(done.stdout.trim(), "4,4", "{done:#?}");
    let log = cluster.slurmd_log();
    assert!(log.contains("pool=multi8 cpus-asked=4 "), "{log}");
}

/// The partition is everybody's; the job's reservation decides.
#[test]
fn the_jobs_of_a_reservation_are_in_its_pool() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("pools.conf");
    fs::write(&file, "name=night8 reservation=night cpus=8\n").expect("a file");
    let cluster = cluster(Some(&file));
    assert_eq!(told(&cluster, &["-pnormal", "-n1"]).stdout.trim(), ",");
    for (name, expected) in [("night", "2,2"), ("day", ",")] {
        let named = format!("ReservationName={name}");
        let when = ["StartTime=now", "Duration=60"];
        let whose = ["Users=root", "Nodes=ALL", "Flags=IGNORE_JOBS"];
        let create = [&["create", "reservation", &named], &when[..], &whose].concat();
        cluster.scontrol(&create).expect_ok();
        let option = format!("--reservation={name}");
        let done = told(&cluster, &["-pnormal", &option, "-n1", "-c2"]);
        assert_eq!(done.stdout.trim(), expected, "{done:#?}");
        // Not while its job is about to end.
        cluster.wait_for("the reservation's end", || {
            cluster.scontrol(&["delete", &named]).ok().then_some(())
        });
    }
}

/// A member gets its cores whoever is bound there. A job for which the pool is full is planned as a normal one.
#[test]
fn a_job_outside_of_its_full_pool_is_planned_as_a_normal_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("pools.conf");
    fs::write(&file, "name=multi8 partition=multi8 cpus=2\n").expect("a file");
    let cluster = cluster(Some(&file));
    let cores = "--binding=explicit:0,0:0,1:0,2:0,3";
    run(&cluster, &["-pnormal", "-n1", "-c8", cores]);
    let ask = ["-pmulti8", "-n1", "-c2", "--binding=linear:2", "sh", "-c"];
    let bound = || cluster.srun(&[&ask[..], &["echo $BERTH_BOUND"]].concat());
    let member = bound();
    assert_eq!(member.stdout.trim(), "1", "{member:#?}");
    run(&cluster, &["-pmulti8", "-n2"]);
    let outside = bound();
    assert_eq!(outside.stdout.trim(), "0", "{outside:#?}");
    for says in ["runs as a normal job", "0 whole free cores"] {
        assert!(outside.stderr.contains(says), "{says}: {outside:#?}");
    }
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

/// What the example has in comments: the users of a pool ask for a resource, and begin at the last cores.
#[test]
fn a_resource_puts_a_pool_s_jobs_on_the_last_cores() {
    let folder = tempfile::tempdir().expect("a folder");
    let gres = folder.path().join("gres.conf");
    let line = "Name=late File=/sys/devices/system/cpu Cores=4-7\n";
    fs::write(&gres, line).expect("a file");
    let builder = builder().set("GresTypes=late");
    let cluster = builder.node("Gres=late:no_consume:1").file(&gres).up();
    let show = "scontrol show job -d $SLURM_JOB_ID | grep -o 'CPU_IDs=[^ ]*'";
    let cores = |options: &[&str]| {
        let done = cluster.srun(&[options, &["-N1", "-n1", "sh", "-c", show]].concat());
        done.stdout.trim().to_owned()
    };
    // The second job of the pool needs no resource of its own.
    run(&cluster, &["-pmulti8", "-n1", "-c2", "--gres=late"]);
    assert_eq!(cores(&["-pmulti8", "-c2", "--gres=late"]), "CPU_IDs=6-7");
    let beyond = cores(&["-pmulti8", "-c4", "--gres=late"]);
    assert!(
        beyond.ends_with("6-7") && beyond != "CPU_IDs=6-7",
        "{beyond}"
    );
}

/// One error line says why, and the pool has weights.
#[test]
fn a_class_of_earlier_releases_is_read_as_weight() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("pools.conf");
    let line = "name=multi8 partition=multi8 cpus=8 class=realtime\n";
    fs::write(&file, line).expect("a file");
    let cluster = cluster(Some(&file));
    let why = "class=realtime of the pool multi8 (line 1) is read as weight";
    let log = cluster.slurmd_log();
    let lines: Vec<_> = log.lines().filter(|line| line.contains(why)).collect();
    assert!(
        lines.len() == 1 && lines[0].contains("error: berth: "),
        "{lines:#?}"
    );
    let doctor = cluster.berth(&["doctor"]);
    let line = doctor.stdout.lines().find(|line| line.contains(why));
    assert!(
        line.is_some_and(|line| line.contains("warning")),
        "{doctor:#?}"
    );
    // Its number of CPUs, and how its task is scheduled.
    let show = "echo $NCPUS,$(cut -d' ' -f41 /proc/$$/stat)";
    let done = cluster.srun(&["-pmulti8", "-n1", "sh", "-c", show]);
    assert_eq!(done.stdout.trim(), "1,0", "{done:#?}");
}
