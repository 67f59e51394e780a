//! Counts for monitoring: of a step when it has ended, of a refusal when it was answered.

use std::time::Duration;

use berth_host::StateDir;
use berth_host::counters::{self, Counters};

use slurm_sys::SlurmdConf;

use crate::settings;
use crate::standing::Slurmish;
use crate::step::{Intent, Step};

/// slurmstepd may wait for others who count; slurmd holds its prolog lock.
const AT_THE_END: Duration = Duration::from_millis(200);
const IN_SLURMD: Duration = Duration::from_millis(5);

/// slurmd has refused a step or script.
pub(crate) fn refused(slurm: Slurmish) {
    // SAFETY: the layout is the running release's, and the view ends here.
    let conf = unsafe { SlurmdConf::current(slurm.layout, slurm.symbols) };
    let Some(node_name) = conf.and_then(|conf| conf.node_name()) else {
        return;
    };
    let one = Counters {
        refused: 1,
        ..Counters::default()
    };
    add(&node_name, &one, IN_SLURMD);
}

/// slurmstepd's step has ended.
pub(crate) fn ended(step: &Step) {
    let tasks = u64::from(step.node_tasks);
    let applied = u64::from(step.applied).min(tasks);
    let is_bound = matches!(step.intent, Intent::Bind(_) | Intent::Unplanned);
    let bound = if is_bound { applied } else { 0 };
    let counts = Counters {
        launches: 1,
        bound,
        unbound: tasks - bound,
        refused: 0,
        differences: step.deviations.len() as u64,
    };
    add(&step.node_name, &counts, AT_THE_END);
}

fn add(node_name: &str, counts: &Counters, patience: Duration) {
    let state = StateDir::new(&settings::current().state_dir, node_name);
    let done = state.map_err(|why| why.to_string()).and_then(|dir| {
        counters::add(&dir, node_name, counts, patience).map_err(|why| why.to_string())
    });
    if let Err(why) = done {
        log::debug!("{} does not count this step: {why}", counters::NAME);
    }
}
