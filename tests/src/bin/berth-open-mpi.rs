//! `berth-open-mpi [--seed S]`: a hundred random requests in Open MPI's mapping language, on the
//! machine it runs on. What the kernel says of srun's tasks must be what `berth plan` says, and what
//! mpirun binds on the same node; a difference to mpirun may have a reason that is listed.
//! Meant for the virtual machines of `ci/vm` whose Open MPI is 5.

use std::path::PathBuf;
use std::process::ExitCode;

use berth_tests::Cluster;
use berth_tests::open_mpi::{self, Ranks, reason};
use berth_tests::real::{self, Answer, Rules, lstopo, plans, probe, same_as_plan};
use berth_tests::srun_lines::release;

/// So many are played.
const REQUESTS: usize = 100;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let seed = match words.as_slice() {
        ["probe", ..] => return probe(),
        ["rank", ..] => return open_mpi::rank(),
        ["--seed", seed] => seed.parse().expect("--seed takes a number"),
        [] => fastrand::u64(..1_000_000),
        _ => panic!("usage: berth-open-mpi [--seed S]"),
    };
    println!("seed {seed}, {}", open_mpi::version());
    let cores = std::thread::available_parallelism().map_or(1, usize::from) as u32 / 2;
    let mut random = fastrand::Rng::with_seed(seed);
    let requests = open_mpi::requests(&mut random, REQUESTS, cores.max(2));
    let requests: Vec<&str> = requests.iter().map(String::as_str).collect();
    match played(&requests) {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

/// Plays every request, and counts the differences that have no reason.
fn played(requests: &[&str]) -> usize {
    let (kernel, planned) = ours(requests);
    let (mut wrong, mut named, mut refused) = (0, 0, 0);
    for ((request, kernel), planned) in requests.iter().zip(&kernel).zip(&planned) {
        if !same_as_plan(kernel, planned) {
            wrong += 1;
            println!(
                "DIFFERENT srun {request}\n  kernel: {}\n  berth plan: {planned}",
                kernel.show()
            );
        }
        let (ours, theirs) = (of_srun(kernel), of_mpirun(open_mpi::ask(request)));
        if [&ours, &theirs]
            .iter()
            .all(|said| said.starts_with("refused"))
        {
            refused += 1;
        } else if ours != theirs {
            let why = reason(request, &ours, &theirs);
            let shown = why.unwrap_or("DIFFERENT");
            println!("{shown}: {request}\n  srun:   {ours}\n  mpirun: {theirs}");
            *if why.is_some() {
                &mut named
            } else {
                &mut wrong
            } += 1;
        }
    }
    println!(
        "{} requests, {refused} refused by both, {named} otherwise for a listed reason: {wrong} differences",
        requests.len()
    );
    wrong
}

/// What the kernel says of the steps, and `berth plan` of the same.
fn ours(requests: &[&str]) -> (Vec<Answer>, Vec<String>) {
    let out = std::env::var_os("BERTH_VM_OUT").map_or_else(std::env::temp_dir, PathBuf::from);
    let topology = out.join("topology.xml");
    lstopo(&topology);
    let cluster = Cluster::builder().plugstack(Some("")).up();
    let line = release(&cluster).name();
    let kernel = real::ask(&cluster, &["-N1", "--exclusive"], requests);
    let log = cluster.slurmd_log();
    let planned = plans(
        &topology,
        Rules::new("berth", line),
        requests,
        &kernel,
        &log,
    );
    (kernel, planned)
}

/// Each task's CPUs in one text.
fn of_srun(answer: &Answer) -> String {
    match answer.tasks.is_empty() {
        true => answer.show(),
        false => answer.cpus().join(" "),
    }
}

fn of_mpirun(ranks: Ranks) -> String {
    match ranks {
        Ok(ranks) => ranks.into_values().collect::<Vec<_>>().join(" "),
        Err(why) => format!("refused: {why}"),
    }
}
