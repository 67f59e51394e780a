//! `berth-scenes [NAME…]`: what sites do with Slurm beside plain steps, on the machine it runs on, with
//! what the kernel says of every task. Meant for the virtual machines of `ci/vm`; which scenes fit depends
//! on the machine. Names choose; without any, all that fit are played.

mod binding;
mod cgroup_v1;
mod command;
mod early;
mod jobs;
mod launchers;
mod lifecycle;
mod nodes;
mod rank_files;
mod specialised;
mod steps;
mod tools;

use std::panic::catch_unwind;
use std::process::ExitCode;
use std::time::Instant;

use berth_tests::Cluster;

/// `Err` says why a scene was not played; a failed assertion fails it.
pub type Outcome = Result<(), String>;

/// Name, the machine it is made for (sockets, cores, threads), and what is played.
type Scene = (&'static str, &'static str, fn() -> Outcome);

/// Two sockets of four cores of two threads, numbered core by core: core K has the CPUs 2K and 2K+1.
const SMT: &str = "2x4x2";
/// The paper's node: four sockets of two cores.
const PAPER: &str = "4x2x1";

const SCENES: &[Scene] = &[
    ("exact steps at once", SMT, steps::exact_at_once),
    ("overlapping steps", SMT, steps::overlapping),
    ("several programs", SMT, steps::several_programs),
    ("heterogeneous step", SMT, steps::heterogeneous_step),
    ("heterogeneous job", SMT, jobs::heterogeneous_job),
    ("job array", SMT, jobs::array),
    ("confined by cgroups", SMT, jobs::confined),
    ("confined by cgroups v1", SMT, cgroup_v1::confined),
    ("batch, interactive, extern", SMT, jobs::every_kind),
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
    ("srun inside", SMT, launchers::srun_inside),
    ("Open MPI's mpirun", SMT, launchers::open_mpi),
    ("rank files", SMT, rank_files::open_mpi),
    ("MPICH's mpirun", SMT, launchers::mpich),
    (
        "one task that starts many",
        SMT,
        launchers::one_task_starts_many,
    ),
    ("binding: strategies", SMT, binding::strategies),
    ("binding: default line", SMT, binding::default_line),
    ("binding: shared node", SMT, binding::shared_node),
    ("binding: overlapping steps", SMT, binding::overlapping),
    (
        "binding: without the task plugin",
        SMT,
        binding::without_task_plugin,
    ),
    ("the paper's 32 tasks", PAPER, nodes::paper),
    ("layouts over nodes", PAPER, nodes::layouts),
    ("planned over nodes", PAPER, command::planned_over_nodes),
    ("a host file", PAPER, nodes::host_file),
    ("uneven nodes", PAPER, nodes::uneven),
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
    let wanted = |name: &str| names.is_empty() || names.iter().any(|wanted| wanted == name);
    let syslog = early::Syslog::serve();
    let (mut passed, mut failed, mut skipped) = (0, 0, 0);
    for (name, _, play) in SCENES
        .iter()
        .filter(|(name, machine, _)| *machine == here && wanted(name))
    {
        let start = Instant::now();
        let outcome = catch_unwind(play);
        syslog.end_scene(outcome.is_err());
        let seconds = start.elapsed().as_secs_f32();
        match outcome {
            Ok(Ok(())) => {
                passed += 1;
                println!("pass {name} ({seconds:.0} s)");
            }
            Ok(Err(why)) => {
                skipped += 1;
                println!("skip {name}: {why}");
            }
            Err(_) => {
                failed += 1;
                println!("FAIL {name} ({seconds:.0} s)");
            }
        }
    }
    println!("{here}: {passed} scenes passed, {failed} failed, {skipped} skipped");
    ExitCode::from(u8::from(failed > 0 || passed == 0))
}

/// A cluster with berth as it comes.
fn berth() -> Cluster {
    let cluster = Cluster::builder().plugstack(Some("")).up();
    tools::wait_for_machine(&cluster);
    cluster
}
