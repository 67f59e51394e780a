//! `berth-scenes [NAME…]`: what sites do with Slurm beside plain steps, on the machine it runs on, with
//! what the kernel says of every task. Meant for the virtual machines of `ci/vm`; which scenes fit depends
//! on the machine. Most are files of facts in `tests/scenes`, in a folder for each machine; the others need code.
//! Names choose; without any, all that fit are played.

mod cgroup_v1;
mod command;
mod early;
mod jobs;
mod launchers;
mod lifecycle;
mod nodes;
mod rank_files;
mod specialised;
mod tools;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use berth_tests::Cluster;
use berth_tests::facts::{hold, wait_for_machine};
use berth_tests::verdicts::Verdicts;

/// `Err` says why a scene was not played; a failed assertion fails it.
pub type Outcome = Result<(), String>;

/// Name, the machine it is made for (sockets, cores, threads), and what is played.
type Scene = (&'static str, &'static str, fn() -> Outcome);

/// Two sockets of four cores of two threads, numbered core by core: core K has the CPUs 2K and 2K+1.
const SMT: &str = "2x4x2";
/// The paper's node: four sockets of two cores.
const PAPER: &str = "4x2x1";

const SCENES: &[Scene] = &[
    ("confined by cgroups v1", SMT, cgroup_v1::confined),
    ("accounts and QOS", SMT, jobs::accounts),
    (
        "specialised cores of the node",
        SMT,
        specialised::of_the_node,
    ),
    ("specialised cores of the job", SMT, specialised::of_the_job),
    ("NUMA nodes as sockets", SMT, specialised::numa_as_socket),
    ("L3 caches as sockets", SMT, specialised::l3_as_socket),
    ("an unknown line", SMT, lifecycle::unknown_line),
    ("PMI variants", SMT, launchers::mpi_types),
    ("a CPU goes offline", SMT, lifecycle::cpu_offline),
    ("health and counters", SMT, command::health),
    ("slurmd restarts", SMT, lifecycle::restarted),
    ("configless", SMT, lifecycle::configless),
    ("Open MPI's mpirun", SMT, launchers::open_mpi),
    ("rank files", SMT, rank_files::open_mpi),
    ("MPICH's mpirun", SMT, launchers::mpich),
    ("layouts over nodes", PAPER, nodes::layouts),
    ("planned over nodes", PAPER, command::planned_over_nodes),
];

fn main() -> ExitCode {
    let names: Vec<String> = std::env::args().skip(1).collect();
    if names.first().is_some_and(|name| name == "probe") {
        return tools::probe(names.get(1).and_then(|seconds| seconds.parse().ok()));
    }
    // CPUs go offline here, slurmds are ended and munged's usual place is taken: no host for that.
    if std::env::var_os("BERTH_VM_OUT").is_none() {
        eprintln!(
            "berth-scenes: only inside a machine of ci/vm: ci/vm run -- target/debug/berth-scenes"
        );
        return ExitCode::from(2);
    }
    let here = tools::machine();
    let syslog = early::Syslog::serve();
    let mut counts = Verdicts::default();
    let mut play = |name: &str, play: &dyn Fn() -> Option<String>| {
        if names.is_empty() || names.iter().any(|wanted| wanted == name) {
            let passed = counts.judge(name, play);
            syslog.end_scene(!passed);
        }
    };
    for file in facts(&here) {
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        play(&name, &|| hold(&file));
    }
    for (name, machine, scene) in SCENES {
        if *machine == here {
            play(name, &|| scene().err());
        }
    }
    counts.end("scenes")
}

/// The files of facts about a machine.
fn facts(machine: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("scenes")
        .join(machine);
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<_> = files.map(|file| file.path()).collect();
    files.sort();
    files
}

/// A cluster with berth as it comes.
fn berth() -> Cluster {
    let cluster = Cluster::builder().plugstack(Some("")).up();
    wait_for_machine(&cluster);
    cluster
}
