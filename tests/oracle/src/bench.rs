//! Both hooks side by side: microseconds a call, binding to threads with one task a thread.

use std::time::Duration;

use crate::allocation::Credential;
use crate::case::Case;
use crate::child::Pair;
use crate::machine::{Class, Machine};
use crate::object::Hook;
use crate::slurmd::Launch;

/// Sockets and cores of each; two hardware threads a core.
const SHAPES: [(u16, u16); 4] = [(2, 16), (2, 32), (2, 64), (4, 64)];
/// Calls of each hook; the middle one counts.
const CALLS: usize = 301;

/// Prints the table.
pub fn run(pair: &Pair) {
    println!("tasks  task/affinity µs  task/berth µs  ratio");
    for (sockets, cores) in SHAPES {
        let case = one_task_a_thread(pair, sockets, cores);
        let theirs = median(&case, pair, pair.theirs);
        let ours = median(&case, pair, pair.ours);
        println!(
            "{:5}  {:16.1}  {:13.1}  {:5.2}",
            case.tasks(),
            micros(theirs),
            micros(ours),
            micros(ours) / micros(theirs)
        );
    }
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

fn one_task_a_thread(pair: &Pair, sockets: u16, cores: u16) -> Case {
    let constants = &pair.slurm.layout.constants;
    let machine = Machine::regular(sockets, cores, 2);
    Case {
        seed: 0,
        class: Class::Threads,
        cred: Credential::whole(&machine),
        tasks_to_launch: vec![machine.pu_count() as u16],
        node_id: 0,
        cpus_per_task: 1,
        threads_per_core: 0xfffe,
        ntasks_per_core: 0xffff,
        ntasks_per_socket: 0xffff,
        task_dist: constants.SLURM_DIST_BLOCK_CYCLIC,
        overcommit: false,
        job_core_spec: 0xfffe,
        cpu_bind_type: constants.CPU_BIND_TO_THREADS as u16,
        cpu_bind: None,
        task_plugin_param: 0,
        select_type_param: 0,
        machine,
    }
}

/// The middle of many calls, each on records of its own.
fn median(case: &Case, pair: &Pair, hook: Hook) -> Duration {
    let mut times: Vec<Duration> = (0..CALLS)
        .map(|_| {
            // SAFETY: a launch hook of an object for the running release.
            let (rc, time) = unsafe { Launch::new(case, pair.slurm).time(hook) };
            assert_eq!(rc, 0, "{case}");
            time
        })
        .collect();
    times.sort_unstable();
    times[CALLS / 2]
}
