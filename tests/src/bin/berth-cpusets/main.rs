//! `berth-cpusets [WORD…]`: LSF's page on cpusets as jobs, on a machine of two NUMA nodes with eight CPUs each, for the
//! virtual machines of `ci/vm`. The kernel says which CPUs and memory nodes a task has, by its mask and by its cgroup,
//! and where its memory is. Words choose lines. It is also the tasks' program.

mod fit;
mod lines;
mod memory;
mod nodes;
mod script;
mod site;
mod task;

use std::process::ExitCode;

use berth_tests::confine::v1;

use site::{Cgroups, Counts, Site};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let Some(code) = task::role(&words) {
        return code;
    }
    if std::env::var_os("BERTH_VM_OUT").is_none() {
        eprintln!(
            "berth-cpusets: only inside a machine of ci/vm with sockets=2,cores=4,threads=2 and two NUMA nodes"
        );
        return ExitCode::from(2);
    }
    let mut counts = Counts::default();
    one_node(&words, Cgroups::V2, &mut counts);
    let two = Site::of_two_nodes(&words);
    nodes::play(&two);
    counts.add(two);
    let mut skipped = 0;
    match v1::enter() {
        Ok(()) => {
            one_node(&words, Cgroups::V1, &mut counts);
            v1::leave().expect("version 2 again");
        }
        Err(why) => {
            skipped += 1;
            println!("skip cgroup v1: {why}");
        }
    }
    println!(
        "{} lines as expected, {} not, {skipped} skipped",
        counts.passed, counts.failed
    );
    match counts {
        Counts {
            passed: 1..,
            failed: 0,
        } => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

/// What needs one node, by best fit and by first fit.
fn one_node(words: &[String], cgroups: Cgroups, counts: &mut Counts) {
    let best = Site::of_one_node(words, cgroups, "on");
    lines::play(&best, lines::BEST);
    memory::play(&best);
    script::play(&best);
    fit::play(&best, fit::BEST);
    counts.add(best);
    let first = Site::of_one_node(words, cgroups, "off");
    lines::play(&first, lines::FIRST);
    fit::play(&first, fit::FIRST);
    counts.add(first);
}
