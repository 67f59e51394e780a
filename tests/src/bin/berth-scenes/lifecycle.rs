//! What changes while a node works: CPUs, slurmd, and where slurmd has its configuration from.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use berth_tests::{Cluster, process};
use nix::sys::signal::Signal;

use crate::jobs::with_cgroups;
use crate::tools::{
    all_cpus, assert_disjoint, cpus, in_allocation, lists, step, tasks, whole_node,
};
use crate::{Outcome, berth};

/// A CPU that is brought back whatever happens.
pub struct Offline(&'static str);

impl Offline {
    pub fn take(file: &'static str) -> Self {
        fs::write(file, "0").expect("a CPU goes offline");
        Offline(file)
    }
}

impl Drop for Offline {
    fn drop(&mut self) {
        let _ = fs::write(self.0, "1");
    }
}

/// Between two launches: the next one is planned without the CPU, and slurmd discovers the machine beside it. Back again,
/// it is used again.
pub fn cpu_offline() -> Outcome {
    let cluster = berth();
    let request = "-n4 --cpu-bind=cores -m block:block";
    let whole = lists(&["0-1", "2-3", "4-5", "6-7"]);
    let without = lists(&["0-1", "2-3", "4", "6-7"]);
    assert_eq!(all_cpus(&whole_node(&cluster, &[], request)), whole);
    let before = discoveries(&cluster);
    let offline = Offline::take("/sys/devices/system/cpu/cpu5/online");
    assert_eq!(all_cpus(&whole_node(&cluster, &[], request)), without);
    is_planned_so(&cluster);
    discovered(&cluster, before);
    assert_eq!(all_cpus(&whole_node(&cluster, &[], request)), without);
    is_planned_so(&cluster);
    fifteen_cpus(&cluster);
    let named = cluster.srun(&["-n1", "--exclusive", "--cpu-bind=map_cpu:5", "true"]);
    assert!(
        !named.ok() && named.stderr.contains("map_cpu:5"),
        "{named:#?}"
    );
    cluster.wait_idle();
    let before = discoveries(&cluster);
    drop(offline);
    discovered(&cluster, before);
    assert_eq!(all_cpus(&whole_node(&cluster, &[], request)), whole);
    Ok(())
}

/// The last step was planned as it ran: the kernel had nothing to leave out.
fn is_planned_so(cluster: &Cluster) {
    let log = cluster.slurmd_log();
    let line = log.lines().rfind(|line| line.contains("berth: step="));
    let line = line.unwrap_or_default();
    assert!(line.contains("deviations=\"none\""), "{line}");
}

/// With CPU 5 gone: whatever is asked, no task has it, and no CPU has two tasks.
fn fifteen_cpus(cluster: &Cluster) {
    let requests = [
        "-n15 --cpu-bind=threads -m block:block",
        "-n15 --cpu-bind=threads -m block:cyclic",
        "-n15",
        "-n8 --cpu-bind=cores -m block:fcyclic",
        "-n7 -c2 --cpu-bind=threads",
        "-n8 --hint=nomultithread",
        "-n2 --cpu-bind=sockets -m block:cyclic",
        "-n4 --binding=linear:2",
        "-n8 --binding=striding:1:1",
    ];
    let script: String = requests
        .iter()
        .map(|request| format!("srun {request} $probe; echo end\n"))
        .collect();
    let printed = in_allocation(cluster, &["--exclusive"], &script);
    for (request, text) in requests.iter().zip(printed.split("end\n")) {
        let tasks = tasks(text);
        assert!(!tasks.is_empty(), "{request}: {printed}");
        assert_disjoint(&tasks);
        let all: BTreeSet<u32> = tasks.iter().flat_map(|task| task.cpus.clone()).collect();
        assert!(all.is_subset(&cpus("0-4,6-15")), "{request}: {tasks:#?}");
        let is_bound = tasks.iter().all(|task| (1..=8).contains(&task.cpus.len()));
        assert!(is_bound, "{request}: {tasks:#?}");
    }
}

/// How often slurmd has discovered the machine again: also where its first discovery was late.
fn discoveries(cluster: &Cluster) -> usize {
    let line = "berth: the machine was discovered again";
    cluster.slurmd_log().matches(line).count()
}

/// Launches steps until slurmd has discovered the machine more often than before: a launch has it do so, at most once a
/// minute.
fn discovered(cluster: &Cluster, before: usize) {
    cluster.wait_for("slurmd to discover the machine again", || {
        cluster.srun(&["true"]).expect_ok();
        (discoveries(cluster) > before).then_some(())
    });
}

/// The CPUs of every sleeping task of a node.
fn sleepers(seconds: &str) -> Vec<BTreeSet<u32>> {
    let of = |pid: &i32| Some(cpus(&process::status(*pid, "Cpus_allowed_list")?));
    let found = process::find("sleep", &format!("\0{seconds}\0"));
    let mut sets: Vec<_> = found.iter().filter_map(of).collect();
    sets.sort();
    sets
}

/// Steps that run keep their masks through restart and SIGHUP; new ones are bound as ever.
pub fn restarted() -> Outcome {
    let cluster = berth();
    let sleeping = cluster
        .program("srun")
        .args(["-n4", "-c2", "--cpu-bind=cores", "sleep", "7123"])
        .spawn();
    let mut sleeping = sleeping.expect("srun starts");
    let want = lists(&["0-1", "2-3", "4-5", "6-7"]);
    let masks = || (sleepers("7123").len() == 4).then(|| sleepers("7123"));
    let before = cluster.wait_for("four tasks", masks);
    cluster.restart_slurmd();
    cluster.scontrol(&["reconfigure"]).expect_ok();
    for pid in slurmds() {
        // SIGHUP, as `systemctl reload` sends it.
        process::signal(pid, Signal::SIGHUP);
    }
    sleep(Duration::from_secs(5));
    let beside = step(&cluster, &["-n4", "-c2", "--cpu-bind=cores"]);
    assert_eq!(beside.len(), 4, "{beside:#?}");
    assert!(
        beside
            .iter()
            .all(|task| task.cpus.len() == 2 && task.cpus.is_subset(&cpus("8-15"))),
        "{beside:#?}"
    );
    assert_eq!(sleepers("7123"), before);
    let mut sorted = want;
    sorted.sort();
    assert_eq!(before, sorted);
    cluster.run("scancel", &["--user=root"]).expect_ok();
    let _ = sleeping.wait();
    cluster.wait_idle();
    Ok(())
}

fn slurmds() -> Vec<i32> {
    process::find("slurmd", "\0-N\0berth")
}

/// slurmd without files of its own: everything from slurmctld, plugstack.conf and cgroup.conf too.
pub fn configless() -> Outcome {
    let cluster = with_cgroups()?
        .set("SlurmctldParameters=enable_configless")
        .up();
    let conf = fs::read_to_string(cluster.folder().join("etc/slurm.conf")).expect("slurm.conf");
    let value = |key: &str| {
        let line = conf.lines().find_map(|line| line.strip_prefix(key));
        line.unwrap_or_default().to_owned()
    };
    let node = value("NodeName=");
    let node = node.split(' ').next().unwrap_or_default();
    for pid in slurmds() {
        process::signal(pid, Signal::SIGTERM);
    }
    cluster.wait_for("slurmd's end", || slurmds().is_empty().then_some(()));
    // Before it has a configuration, slurmd looks for munged where every installation has it.
    let _ = fs::create_dir_all("/run/munge");
    let socket = std::path::Path::new("/run/munge/munge.socket.2");
    let _ = fs::remove_file(socket);
    std::os::unix::fs::symlink(cluster.folder().join("munge/socket"), socket).expect("a link");
    let log = cluster.folder().join("log/slurmd-configless.log");
    let started = Command::new("slurmd")
        .env_remove("SLURM_CONF")
        .args(["-N", node, "--conf-server"])
        .arg(format!("127.0.0.1:{}", value("SlurmctldPort=")))
        .arg("-L")
        .arg(&log)
        .status();
    assert!(started.is_ok_and(|status| status.success()));
    assert_eq!(
        all_cpus(&whole_node(&cluster, &[], "-n4 --cpu-bind=cores")),
        lists(&["0-1", "8-9", "2-3", "10-11"])
    );
    let bound = whole_node(&cluster, &[], "-n2 --binding=linear:1");
    assert_eq!(all_cpus(&bound), lists(&["0-1", "2-3"]));
    // It knows what slurmctld sent for plugstack.conf before it gets ready.
    let log = fs::read_to_string(&log).expect("slurmd's own log");
    assert_eq!(log.matches("berth: ready:").count(), 1, "{log}");
    let told = cluster
        .folder()
        .join("run/berth")
        .join(node)
        .join("slurmd.json");
    let told = fs::read_to_string(told).expect("slurmd's announcement");
    assert!(told.contains("\"constrain_cores\": true"), "{told}");
    Ok(())
}

/// An object without a table for the Slurm that runs: one loud line, no record touched, jobs run.
pub fn unknown_line() -> Outcome {
    let version = Command::new("slurmd").arg("-V").output();
    let version = version.map_err(|why| why.to_string())?.stdout;
    let version = String::from_utf8_lossy(&version).into_owned();
    let number = version.split_whitespace().last().unwrap_or_default();
    let line: Vec<&str> = number.split('.').take(2).collect();
    let line = line.join(".");
    let here = std::env::current_exe().map_err(|why| why.to_string())?;
    let built = here.ancestors().nth(2).unwrap_or(&here);
    let object = built.join(format!("without-{line}/debug/libtask_berth.so"));
    if !object.is_file() {
        return Err(format!(
            "{} is not built (ci/vm-matrix does)",
            object.display()
        ));
    }
    let cluster = Cluster::builder().plugin(&object).plugstack(Some("")).up();
    let all = whole_node(&cluster, &[], "-n2 --cpu-bind=cores");
    assert_eq!(all_cpus(&all), lists(&["0-15", "0-15"]), "nobody binds");
    let asked = whole_node(&cluster, &[], "-n2 --binding=linear:2");
    assert_eq!(all_cpus(&asked), lists(&["0-15", "0-15"]), "nor here");
    let job = cluster.sbatch(&["-n1"], "echo ran");
    assert_eq!(job.output, "ran\n");
    let log = cluster.slurmd_log();
    let loud: Vec<_> = log
        .lines()
        .filter(|line| line.contains("error: berth:"))
        .collect();
    assert_eq!(loud.len(), 1, "{loud:#?}");
    assert!(
        loud[0].contains("install a release of berth that supports it"),
        "{loud:#?}"
    );
    let health = Command::new(berth_tests::command())
        .args(["doctor", "--quiet", "--state-dir"])
        .arg(cluster.folder().join("run/berth"))
        .output()
        .map_err(|why| why.to_string())?;
    let told = String::from_utf8_lossy(&health.stdout).into_owned();
    assert!(!health.status.success(), "{told}");
    assert!(
        told.contains("install a release of berth that supports it"),
        "{told}"
    );
    cluster.wait_idle();
    Ok(())
}
