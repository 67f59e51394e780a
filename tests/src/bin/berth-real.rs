//! `berth-real REQUESTS`: on the machine it runs on, asks the same requests of task/affinity, of
//! task/berth and of `berth plan`, and compares what the kernel says of every task. Then `berth plan`
//! says beforehand, without options of its own, what each request as a job would get.
//! Meant for the virtual machines of `ci/vm`, where root, Slurm and the build tree are there.
//! `berth-real random [SEED]` does the last with random lines, as jobs and as steps of scripts.

use std::path::PathBuf;
use std::process::ExitCode;

use berth_tests::Cluster;
use berth_tests::real::{
    self, Answer, Place, Rules, lstopo, online, plans, probe, random_lines, same_as_plan,
};
use berth_tests::srun_lines::release;

fn main() -> ExitCode {
    let Some(list) = std::env::args().nth(1) else {
        eprintln!("usage: berth-real REQUESTS | random [SEED]");
        return ExitCode::from(2);
    };
    match list.as_str() {
        "probe" => probe(),
        "random" => {
            let seed = std::env::args().nth(2).and_then(|seed| seed.parse().ok());
            random_lines(seed.unwrap_or_else(|| fastrand::u64(..1_000_000)))
        }
        list => compare(list),
    }
}

/// The requests of a list, one after the other by task/affinity and by task/berth.
fn compare(list: &str) -> ExitCode {
    let requests = real::requests(list);
    let requests: Vec<&str> = requests.iter().map(String::as_str).collect();
    let out = std::env::var_os("BERTH_VM_OUT").map_or_else(std::env::temp_dir, PathBuf::from);
    let topology = out.join("topology.xml");
    lstopo(&topology);

    let stock = Cluster::builder().task_plugin("task/affinity");
    let answers = ask(&stock.plugstack(None).up(), &requests);
    let theirs = killed_is_refused(&requests, answers);
    let cluster = Cluster::builder().plugstack(Some("compat=affinity")).up();
    let ours = ask(&cluster, &requests);
    let log = cluster.slurmd_log();
    let line = release(&cluster).name();
    drop(cluster);
    let cluster = Cluster::builder().plugstack(Some("compat=berth")).up();
    let by_default = ask(&cluster, &requests);
    let default_log = cluster.slurmd_log();
    let mut wrong = unforeseen(&cluster, &requests);
    drop(cluster);
    wrong += report(
        "task/affinity",
        "task/berth compat=affinity",
        &requests,
        &theirs,
        &ours,
    );
    for (compat, steps, log) in [
        ("affinity", &ours, &log),
        ("berth", &by_default, &default_log),
    ] {
        let planned = plans(&topology, Rules::new(compat, line), &requests, steps, log);
        wrong += report_plans(&format!("compat={compat}"), &requests, steps, &planned);
    }
    let fixed = by_a_fix(&requests, &theirs, &by_default);
    let refused = ours.iter().filter(|answer| answer.tasks.is_empty()).count();
    println!(
        "{} requests, {refused} of them refused, {fixed} otherwise by a named fix: {wrong} differences",
        requests.len()
    );
    ExitCode::from(u8::from(wrong > 0))
}

/// Prints the answers that the named fixes change, and counts them. They are not wrong: they show
/// that a difference would be seen.
fn by_a_fix(requests: &[&str], theirs: &[Answer], by_default: &[Answer]) -> usize {
    let fixed = requests.iter().zip(theirs).zip(by_default);
    let fixed: Vec<_> = fixed.filter(|((_, one), two)| !one.same(two)).collect();
    for ((request, one), two) in &fixed {
        println!(
            "by a fix: srun {request}\n  task/affinity: {}\n  task/berth: {}",
            one.show(),
            two.show()
        );
    }
    fixed.len()
}

/// Prints the requests whose steps are not as `berth plan` said beforehand, and counts them.
fn unforeseen(cluster: &Cluster, requests: &[&str]) -> u32 {
    let place = Place {
        cluster,
        machine: None,
    };
    let wrong = real::different(&place.jobs(requests));
    println!(
        "{} lines planned before they were submitted",
        requests.len()
    );
    wrong
}

/// Every request, in an allocation of the whole node.
fn ask(cluster: &Cluster, requests: &[&str]) -> Vec<Answer> {
    real::ask(cluster, &["-N1", "--exclusive"], requests)
}

/// Where task/affinity kills some tasks of a step, berth starts none: refused alike. Only task/affinity's
/// answers are taken so; a step that berth starts by halves stays a difference.
fn killed_is_refused(requests: &[&str], mut answers: Vec<Answer>) -> Vec<Answer> {
    for (request, answer) in requests.iter().zip(&mut answers) {
        if answer.tasks.len() < tasks_of(request) {
            answer.tasks.clear();
        }
    }
    answers
}

/// `-n4 …` asks for four.
fn tasks_of(request: &str) -> usize {
    let first = request.split(' ').next().unwrap_or_default();
    let count = first.strip_prefix("-n").map(str::parse);
    count
        .and_then(Result::ok)
        .unwrap_or_else(|| panic!("no -n at the start of {request:?}"))
}

/// Compares two answers to each request. With a hole in the CPU numbers task/affinity reads `ldoms`
/// beyond the end of its table (`slurm_get_numa_node`), so its answer there is what lay behind it.
fn report(name: &str, other: &str, requests: &[&str], one: &[Answer], two: &[Answer]) -> u32 {
    let mut wrong = 0;
    let holes = has_holes();
    for ((request, one), two) in requests.iter().zip(one).zip(two) {
        if !one.same(two) {
            let known = holes && request.contains("=ldoms");
            wrong += u32::from(!known);
            println!(
                "{} srun {request}\n  {name}: {}\n  {other}: {}",
                if known { "known:" } else { "DIFFERENT" },
                one.show(),
                two.show()
            );
        }
    }
    wrong
}

/// Whether a CPU is offline below the last one that is not.
fn has_holes() -> bool {
    online().contains(',')
}

fn report_plans(name: &str, requests: &[&str], kernel: &[Answer], planned: &[String]) -> u32 {
    let mut wrong = 0;
    for ((request, kernel), planned) in requests.iter().zip(kernel).zip(planned) {
        if !same_as_plan(kernel, planned) {
            wrong += 1;
            println!(
                "DIFFERENT {name} srun {request}\n  kernel: {}\n  berth plan: {planned}",
                kernel.show()
            );
        }
    }
    wrong
}
