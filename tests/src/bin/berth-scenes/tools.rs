//! What the scenes share: the probe that every task runs, and sets of CPUs to compare.

use std::collections::BTreeSet;
use std::fs;
use std::process::ExitCode;
use std::thread::sleep;
use std::time::Duration;

use berth_tests::Cluster;
use berth_tests::process::own_status;

/// One task, as the kernel has it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Task {
    /// Number in its step.
    pub rank: u32,
    /// Its node's number in the step.
    pub node: u32,
    /// Where it may run.
    pub cpus: BTreeSet<u32>,
}

/// What each task does: prints one line, waits if it shall.
pub fn probe(seconds: Option<u64>) -> ExitCode {
    let cpus = own_status("Cpus_allowed_list");
    let first = |names: [&str; 3]| {
        let found = names.iter().find_map(|name| std::env::var(name).ok());
        found.unwrap_or_else(|| "0".into())
    };
    // Other launchers have other names for the rank.
    let rank = match std::env::var("OMPI_COMM_WORLD_RANK") {
        Ok(rank) => rank,
        Err(_) => first(["PMI_RANK", "SLURM_PROCID", "RANK"]),
    };
    let node = first(["SLURM_NODEID", "NODE", "NODE"]);
    // One line, one write: many tasks have one file.
    println!("task {rank} {node} {cpus}");
    sleep(Duration::from_secs(seconds.unwrap_or(0)));
    ExitCode::SUCCESS
}

/// This program as a task: `… probe`.
pub fn me() -> String {
    let me = std::env::current_exe().expect("this program's path");
    me.to_string_lossy().into_owned()
}

/// The tasks in a text that probes wrote, in their order.
pub fn tasks(text: &str) -> Vec<Task> {
    let mut tasks: Vec<Task> = text
        .lines()
        .filter_map(|line| {
            let mut words = line.strip_prefix("task ")?.split(' ');
            let (rank, node) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
            let cpus = cpus(words.next()?);
            Some(Task { rank, node, cpus })
        })
        .collect();
    tasks.sort();
    tasks
}

/// The tasks of `srun OPTIONS… probe`.
#[track_caller]
pub fn step(cluster: &Cluster, options: &[&str]) -> Vec<Task> {
    let me = me();
    tasks(
        &cluster
            .srun(&[options, &[&me, "probe"]].concat())
            .expect_ok(),
    )
}

/// Runs a shell script in an allocation of the whole node; `$probe` is the task to run.
#[track_caller]
pub fn in_allocation(cluster: &Cluster, options: &[&str], script: &str) -> String {
    let probe = format!("{} probe", me());
    let command = [&["-Q"], options, &["bash", "-c", script]].concat();
    let done = cluster.run_with("salloc", &command, &[("probe", &probe)]);
    assert!(done.ok(), "{script}: {done:#?}");
    // The script's end hides those of its steps.
    eprint!("{}", done.stderr);
    done.stdout
}

/// The tasks of one srun in an allocation of the whole node. (Without it, srun's `--exclusive` would
/// also mean `--exact`.)
#[track_caller]
pub fn whole_node(cluster: &Cluster, options: &[&str], request: &str) -> Vec<Task> {
    let options = [&["--exclusive"], options].concat();
    tasks(&in_allocation(
        cluster,
        &options,
        &format!("srun {request} $probe"),
    ))
}

/// `0-3,8` as a set.
pub fn cpus(list: &str) -> BTreeSet<u32> {
    let parts = list.split(',').filter(|part| !part.is_empty());
    parts
        .flat_map(|part| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let number = |text: &str| text.parse::<u32>().expect("a CPU number");
            number(first)..=number(last)
        })
        .collect()
}

/// Every task's CPUs.
pub fn all_cpus(tasks: &[Task]) -> Vec<BTreeSet<u32>> {
    tasks.iter().map(|task| task.cpus.clone()).collect()
}

/// As `cpus`, one for each task.
pub fn lists(lists: &[&str]) -> Vec<BTreeSet<u32>> {
    lists.iter().map(|list| cpus(list)).collect()
}

/// No CPU in two of them.
#[track_caller]
pub fn assert_disjoint(tasks: &[Task]) {
    let mut seen = BTreeSet::new();
    for task in tasks {
        for cpu in &task.cpus {
            assert!(seen.insert(*cpu), "CPU {cpu} twice in {tasks:#?}");
        }
    }
}

/// Sockets, cores and threads of this machine, as `2x4x2`, as it was before CPUs went offline.
pub fn machine() -> String {
    let read = |cpu: usize, name: &str| {
        let path = format!("/sys/devices/system/cpu/cpu{cpu}/topology/{name}");
        fs::read_to_string(path).map(|text| text.trim().to_owned())
    };
    let (mut sockets, mut cores, mut threads) = (BTreeSet::new(), BTreeSet::new(), 0);
    for cpu in 0.. {
        let (Ok(socket), Ok(core)) = (read(cpu, "physical_package_id"), read(cpu, "core_id"))
        else {
            break;
        };
        cores.insert((socket.clone(), core));
        sockets.insert(socket);
        threads += 1;
    }
    let (sockets, cores) = (sockets.len().max(1), cores.len().max(1));
    format!("{sockets}x{}x{}", cores / sockets, threads / cores)
}
