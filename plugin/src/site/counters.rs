//! Counts for monitoring. slurmstepd counts its step when it has ended. slurmd's hooks only add to
//! numbers in memory, which its own thread brings into the node's counts.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use berth_host::StateDir;
use berth_host::counters::{self, Counters, Facts, State};
use berth_placement::Fixes;
use slurm_sys::SlurmdConf;

use crate::message::handover::Outcome;
use crate::site::settings::{self, Settings};
use crate::site::standing::{self, Abi};
use crate::slurmd::{announce, worker};
use crate::stepd::session::{Intent, Step};

/// What slurmd's hooks have counted and nobody has written yet.
static REFUSED: AtomicU64 = AtomicU64::new(0);
static SWITCHED_OFF: AtomicU64 = AtomicU64::new(0);
/// Whose counts they are.
static NODE: OnceLock<String> = OnceLock::new();

/// slurmd starts: the public file says so before any step has run. Where nothing is to be counted,
/// no old file stays.
pub(crate) fn begin(node_name: &str) {
    NODE.get_or_init(|| node_name.into());
    let settings = settings::current();
    let Ok(dir) = StateDir::new(&settings.state_dir, node_name) else {
        return;
    };
    if !settings.counters {
        return counters::remove(&dir);
    }
    let facts = facts(&settings, &dir, node_name);
    if let Err(why) = counters::publish(&dir, &facts) {
        log::debug!("{} is not written: {why}", counters::NAME);
    }
}

/// slurmd has refused a step or script; from a hook.
pub(crate) fn refused(slurm: Abi) {
    count(&REFUSED, 1, slurm);
}

/// slurmd has left tasks alone because of the switch-off file; from a hook.
pub(crate) fn switched_off(slurm: Abi, tasks: u32) {
    count(&SWITCHED_OFF, tasks.into(), slurm);
}

fn count(number: &AtomicU64, more: u64, slurm: Abi) {
    if !settings::current().counters {
        return;
    }
    if NODE.get().is_none() {
        // SAFETY: the layout is the running release's, and the view ends here.
        let conf = unsafe { SlurmdConf::current(slurm.layout, slurm.symbols) };
        match conf.and_then(|conf| conf.node_name()) {
            Some(name) => NODE.get_or_init(|| name),
            None => return,
        };
    }
    number.fetch_add(more, Ordering::Relaxed);
    worker::count();
}

/// Brings what slurmd's hooks have counted into the node's counts; never in a hook.
pub(crate) fn publish() {
    let off = SWITCHED_OFF.swap(0, Ordering::Relaxed);
    let refused = REFUSED.swap(0, Ordering::Relaxed);
    let Some(node_name) = NODE.get().filter(|_| off > 0 || refused > 0) else {
        return;
    };
    let more = Counters {
        refused,
        unbound: off,
        switched_off: off,
        ..Counters::default()
    };
    if !add(node_name, &more) {
        // For the next time.
        REFUSED.fetch_add(refused, Ordering::Relaxed);
        SWITCHED_OFF.fetch_add(off, Ordering::Relaxed);
    }
}

/// slurmstepd's step has ended.
pub(crate) fn ended(step: &Step) {
    let tasks = u64::from(step.node_tasks);
    let applied = u64::from(step.applied).min(tasks);
    let has_failed = step.outcome == Outcome::Failed;
    let is_bound = matches!(step.intent, Intent::Bind(_)) && !has_failed;
    let bound = if is_bound { applied } else { 0 };
    let counts = Counters {
        launches: 1,
        bound,
        unbound: tasks - bound,
        differences: step.deviations.len() as u64,
        binding_failed: if has_failed { tasks } else { 0 },
        ..Counters::default()
    };
    add(&step.node_name, &counts);
}

/// Whether it was counted, or nothing is to be.
fn add(node_name: &str, counts: &Counters) -> bool {
    let settings = settings::current();
    if !settings.counters {
        return true;
    }
    let state = StateDir::new(&settings.state_dir, node_name);
    let done = state.map_err(|why| why.to_string()).and_then(|dir| {
        let facts = facts(&settings, &dir, node_name);
        counters::add(&dir, &facts, counts).map_err(|why| why.to_string())
    });
    if let Err(why) = &done {
        log::debug!("{} does not have everything: {why}", counters::NAME);
    }
    done.is_ok()
}

fn facts(settings: &Settings, dir: &StateDir, node_name: &str) -> Facts {
    let works = standing::working().is_some() || standing::serves_binding_only();
    Facts {
        node: node_name.into(),
        compat: compat(settings.fixes),
        state: match works {
            _ if dir.is_off() => State::Off,
            true => State::Working,
            false => State::Inert,
        },
    }
}

fn compat(fixes: Fixes) -> String {
    let told = announce::compat(fixes);
    told.trim_start_matches("compat=").into()
}
