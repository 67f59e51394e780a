//! slurmd's thread and what pools have given to jobs: it is taken back from those that lose their place, and fitted to a
//! changed file. The jobs count, and not the file: it may have changed under them, or be gone.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use berth_host::cgroup::{self, Mounts, Outside, USUAL_WEIGHT, scopes};
use berth_host::kept::Kept;
use berth_host::ledger;
use berth_host::pools_file::SitePools;
use berth_host::priority;
use berth_host::{OffSwitch, StateDir};
use berth_placement::CpuSet;
use berth_placement::pools::Class;
use berth_placement::sets::count::counted;

use crate::site::settings;
use crate::slurmd::seats::Seats;
use crate::slurmd::{held, pools};

/// Whether a job of a pool, or what it leaves, may run here: of the pools that there are, or of those that there were.
static HAS_JOBS: AtomicBool = AtomicBool::new(false);
/// Whether there are pools, or were some whose weights the running jobs have.
static HAD_POOLS: AtomicBool = AtomicBool::new(false);
/// Whether real-time tasks of pools may run.
static HAS_REALTIME: AtomicBool = AtomicBool::new(false);
/// Whether slurmstepds hold places by the last look, whatever became of the ledger since.
static HAS_HOLDERS: AtomicBool = AtomicBool::new(false);

/// slurmd starts, and has not read the file yet: jobs that the slurmd before it has launched may run.
pub(super) fn begin(node_name: &str) {
    let kept = pools::kept(Path::new(""), node_name);
    let left = Left {
        has_jobs: has_jobs_now(node_name),
        has_weights: held::text(Kept::Weights, node_name).is_some(),
        has_realtime: cgroup::any_of_pool(),
    };
    let before = before(kept.as_ref(), left);
    HAD_POOLS.fetch_or(before.has_weights, Ordering::Relaxed);
    HAS_JOBS.fetch_or(before.has_jobs, Ordering::Relaxed);
    HAS_REALTIME.fetch_or(before.has_realtime, Ordering::Relaxed);
}

/// What there is of pools on a node, or may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Left {
    /// Jobs of pools, or what they leave.
    has_jobs: bool,
    /// Weights of running jobs that pools gave.
    has_weights: bool,
    /// Real-time tasks of pools.
    has_realtime: bool,
}

/// What to look after: from the file that the slurmd before this one has read last, and from what it has left. That may be
/// of pools and classes that the file had earlier. Real-time tasks live on without their slurmstepds, whose entries in the
/// ledger end with these. A thread that looks like one may be another program's, and is no reason to touch a weight.
fn before(kept: Option<&SitePools>, left: Left) -> Left {
    let had_pools = kept.is_some_and(|kept| kept.here().next().is_some());
    let had_realtime = kept.is_some_and(|kept| kept.has(Class::Realtime));
    let has_weights = had_pools || left.has_jobs || left.has_weights;
    Left {
        has_jobs: has_weights || left.has_realtime,
        has_weights,
        has_realtime: had_realtime || left.has_realtime,
    }
}

/// slurmd starts, and has read the file: running jobs get their weights before the first launch.
pub(super) fn at_start(node_name: &str) {
    look(node_name, &mut Seats::default());
}

/// Whether there is anything of pools to look after.
pub(super) fn watches() -> bool {
    pools::has_any() || HAS_JOBS.load(Ordering::Relaxed)
}

/// Whether tasks of pools may be real-time ones.
pub(super) fn may_be_realtime() -> bool {
    pools::has(Class::Realtime) || HAS_REALTIME.load(Ordering::Relaxed)
}

/// Whether there are jobs of pools: by the ledger, or by who held places in it when it was lost.
pub(super) fn has_jobs_now(node_name: &str) -> bool {
    if HAS_HOLDERS.load(Ordering::Relaxed) {
        return true;
    }
    let Some(dir) = dir(node_name) else {
        return false;
    };
    // One that cannot be read may have some.
    ledger::look(&dir).map_or(true, |entries| entries.iter().any(|entry| entry.pool))
}

/// The CPUs of all jobs of pools, by the ledger.
pub(super) fn cpus_of_pools(node_name: &str) -> CpuSet {
    let entries = dir(node_name).and_then(|dir| ledger::look(&dir).ok());
    let mut cpus = CpuSet::default();
    for entry in entries.iter().flatten().filter(|entry| entry.pool) {
        cpus.insert_all(&entry.cpus);
    }
    cpus
}

fn dir(node_name: &str) -> Option<StateDir> {
    StateDir::new(&settings::current().state_dir, node_name).ok()
}

/// Looks after all of it. Without pools and without their jobs this look is the last one.
pub(super) fn look(node_name: &str, seats: &mut Seats) {
    let (any, realtime) = (pools::has_any(), pools::has(Class::Realtime));
    HAS_JOBS.fetch_or(any, Ordering::Relaxed);
    HAD_POOLS.fetch_or(any, Ordering::Relaxed);
    HAS_REALTIME.fetch_or(realtime, Ordering::Relaxed);
    if !watches() {
        return;
    }
    if HAD_POOLS.load(Ordering::Relaxed) {
        held::keep(Kept::Weights, node_name, b"1\n");
    }
    // Before what is done for them: a job that ends meanwhile is looked after once more.
    let has_jobs = has_jobs_now(node_name);
    undo_abandoned(node_name, seats);
    lower_escaped();
    lower_unthrottled(node_name);
    let is_over = !is_off() && fit(node_name, seats);
    if !has_jobs && !realtime && is_over {
        HAS_REALTIME.store(false, Ordering::Relaxed);
    }
    if !has_jobs && !any && is_over {
        HAS_JOBS.store(false, Ordering::Relaxed);
        HAD_POOLS.store(false, Ordering::Relaxed);
        held::forget(Kept::Weights, node_name);
    }
}

/// While the switch-off file is there nobody is fitted to the pools: jobs that start then get no weight either.
fn is_off() -> bool {
    let settings = settings::current();
    settings.off_switch().is_some_and(OffSwitch::is_on)
}

/// Gives the running jobs the weights of the pools in force, once they have changed. Returns whether nothing of the change
/// is to come. Where there were no pools nobody's weight is touched.
fn fit(node_name: &str, seats: &mut Seats) -> bool {
    if !HAD_POOLS.load(Ordering::Relaxed) {
        return true;
    }
    let pools = pools::in_force();
    match seats.fit(node_name, pools.as_deref()) {
        Ok(is_over) => is_over,
        Err(why) => {
            log::debug!("the weights of running jobs are not fitted to the pools yet: {why}");
            false
        }
    }
}

/// Takes back what pools gave to steps whose slurmstepd was killed.
fn undo_abandoned(node_name: &str, seats: &mut Seats) {
    let weights = pools::in_force().and_then(|pools| pools.weights());
    let others = weights.map_or(USUAL_WEIGHT, |weights| weights.others);
    if let Err(why) = seats.look(node_name, others) {
        log::debug!("{why}");
    }
    HAS_HOLDERS.store(seats.has_holders(), Ordering::Relaxed);
    let Ok(mounts) = Mounts::read() else {
        return;
    };
    for scope in scopes::usual_scopes(&mounts, node_name) {
        let done = cgroup::undo_abandoned(&scope, others);
        for one in done.unwrap_or_default() {
            log::info!(
                "{}: its slurmstepd was killed; {} are ordinary ones again, its weight was {}, its tasks were {}",
                one.path,
                counted(one.threads, "thread"),
                one.weight
                    .map_or_else(|| "as it is".into(), |weight| weight.to_string()),
                if one.was_idle {
                    "idle ones"
                } else {
                    "no idle ones"
                },
            );
        }
    }
}

/// Takes the priority back from real-time tasks that have left their job.
fn lower_escaped() {
    if !may_be_realtime() {
        return;
    }
    for one in cgroup::lower_escaped() {
        log::error!(
            "{}: {} of a pool had left their job, as with systemd-run --user; these are ordinary threads now",
            one.path,
            counted(one.threads, "real-time thread")
        );
    }
}

/// Takes the priority back from all tasks of pools where nothing keeps time for others any more: a setting of the kernel
/// has changed under them.
fn lower_unthrottled(node_name: &str) {
    let obstacle = may_be_realtime().then(priority::throttle_obstacle);
    let (Some(why), Ok(mounts)) = (obstacle.flatten(), Mounts::read()) else {
        return;
    };
    for scope in scopes::usual_scopes(&mounts, node_name) {
        for Outside { path, threads } in cgroup::lower_realtime(&scope).unwrap_or_default() {
            let threads = counted(threads, "real-time thread");
            log::error!("{path}: {threads} of a pool became ordinary threads: {why}");
        }
    }
}

/// Nobody goes first whom this slurmd's thread does not look after, whether there are pools now or not: one before it may
/// have been killed, or ends while this one starts.
pub(crate) fn all_ordinary(node_name: &str) {
    let Ok(mounts) = Mounts::read() else {
        return;
    };
    for scope in scopes::usual_scopes(&mounts, node_name) {
        match cgroup::all_ordinary(&scope) {
            Ok(0) => {}
            Ok(count) => log::info!(
                "{}: {} of slurmstepds are ordinary ones again",
                scope,
                counted(count, "thread")
            ),
            Err(why) => log::debug!("{why}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use berth_host::pools_file::{self, Site};

    use super::*;

    fn pools(text: &str) -> SitePools {
        let site = Site {
            is_here: &|_| Ok(true),
            cpus: None,
        };
        pools_file::of_text(Path::new("/etc/pools.conf"), text.as_bytes(), &site).unwrap()
    }

    #[test]
    fn jobs_may_be_of_a_class_that_the_file_has_no_more() {
        let [none, weight, realtime] = [
            "",
            "name=a partition=p cpus=1",
            "name=a partition=p cpus=1 class=realtime",
        ]
        .map(pools);
        let all = |(has_weights, has_jobs, has_realtime)| Left {
            has_jobs,
            has_weights,
            has_realtime,
        };
        let (no, yes) = (false, true);
        // The weights, jobs and real-time tasks that are left, and those to look after.
        for (kept, left, found) in [
            (None, (no, no, no), (no, no, no)),
            (None, (no, yes, yes), (yes, yes, yes)),
            // The slurmstepds were killed with the slurmd before this one, and their entries in the ledger have ended.
            (None, (no, no, yes), (no, yes, yes)),
            (Some(&none), (no, no, yes), (no, yes, yes)),
            (Some(&weight), (no, no, yes), (yes, yes, yes)),
            // It has not taken the weights back after the file lost its last pool.
            (None, (yes, no, no), (yes, yes, no)),
            (Some(&none), (yes, no, no), (yes, yes, no)),
            (Some(&none), (no, no, no), (no, no, no)),
            (Some(&none), (no, yes, yes), (yes, yes, yes)),
            (Some(&weight), (no, no, no), (yes, yes, no)),
            (Some(&weight), (no, yes, no), (yes, yes, no)),
            (Some(&weight), (no, yes, yes), (yes, yes, yes)),
            (Some(&realtime), (no, no, no), (yes, yes, yes)),
        ] {
            assert_eq!(before(kept, all(left)), all(found), "{kept:?}, {left:?}");
        }
    }
}
