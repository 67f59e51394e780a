//! The site's file of pools in slurmd: read when slurmd starts, and after `berth reload`. A launch hook gets what is in
//! force, and waits for no reading.

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use berth_host::kept::Kept;
use berth_host::site_file;
use berth_placement::Node;
use berth_placement::sets::count::counted;
use berth_site::pools::{Site, SitePools};

use crate::site::{node, settings, standing};
use crate::slurmd::complaints::{self, About};
use crate::slurmd::{discovery, held};

/// What is in force, and the stamp of its file.
static IN_FORCE: Mutex<Option<(Arc<SitePools>, String)>> = Mutex::new(None);

/// Held for a clone or an exchange, never while a file is read.
fn known() -> MutexGuard<'static, Option<(Arc<SitePools>, String)>> {
    IN_FORCE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What is in force; nothing without `pools=`, or if the file has never been readable.
pub(crate) fn in_force() -> Option<Arc<SitePools>> {
    known().as_ref().map(|(pools, _)| pools.clone())
}

/// The stamp of the file as it was read; empty where another slurmd read it.
pub(crate) fn stamp() -> String {
    let known = known();
    known
        .as_ref()
        .map(|(_, stamp)| stamp.clone())
        .unwrap_or_default()
}

/// The CPUs that all pools of a node may own together: those of the node without the reserved cores.
pub(crate) fn most(node: &Node, reserve: u32) -> u32 {
    let cpus = u32::try_from(node.table().len()).unwrap_or(u32::MAX);
    let cores = node.machine().map_or(cpus, |machine| {
        u32::try_from(machine.core_count()).unwrap_or(u32::MAX)
    });
    let of_core = cpus.div_ceil(cores.max(1));
    cpus.saturating_sub(reserve.saturating_mul(of_core))
}

/// The hardware threads of what Slurm calls a CPU there: where slurmd counts cores, a job owns all threads of each, and
/// the site's file counts as Slurm does.
pub(crate) fn threads_of_cpu(node: &Node) -> u32 {
    let machine = node.machine().filter(|_| node.counts_cores());
    machine.map_or(1, |machine| {
        let threads = machine.cpus().count().div_ceil(machine.core_count().max(1));
        u32::try_from(threads).unwrap_or(1).max(1)
    })
}

/// Those of this node, by which the lines of the file are checked.
static THREADS_OF_CPU: AtomicU32 = AtomicU32::new(1);

/// The hardware threads of a CPU of this node, as it was last counted.
fn threads_here() -> u32 {
    THREADS_OF_CPU.load(Ordering::Relaxed)
}

/// slurmd counts its node so, from now on.
pub(crate) fn count_as(node: &Node) {
    THREADS_OF_CPU.store(threads_of_cpu(node), Ordering::Relaxed);
}

/// Reads the file and puts it in force; one that does not hold leaves what was in force, also for the slurmd before this
/// one. Never in a launch hook: it may take long, because the file can lie on another machine.
pub(crate) fn read(node_name: &str) {
    let Some(path) = settings::current().pools.clone() else {
        *known() = None;
        held::forget(Kept::Pools, node_name);
        complaints::set(About::Pools, None, None);
        return;
    };
    let machine = discovery::machine();
    let threads = machine.map(|machine| u32::try_from(machine.cpus().count()).unwrap_or(u32::MAX));
    let site = Site {
        is_here: &|list| node::is_listed(Some(node_name), list),
        cpus: threads.map(|threads| threads / threads_here()),
    };
    // It is taken first: a file that changes while it is read has another one.
    let stamp = site_file::stamp(&path);
    let read = site_file::text("pools", &path).and_then(|text| {
        let pools = site_file::pools_of(&path, &text, &site)?;
        Ok((pools, text))
    });
    match read {
        Ok((pools, text)) => {
            held::keep(Kept::Pools, node_name, &text);
            let doubts = put(pools, stamp);
            complaints::set(About::Pools, None, doubts);
        }
        Err(why) => {
            if in_force().is_none()
                && let Some(before) = kept(&path, node_name)
            {
                put(before, String::new());
            }
            complain(&why.to_string(), &path);
        }
    }
}

/// Says what is wrong with the file, and what is in force instead. The log has each reason once.
fn complain(why: &str, path: &Path) {
    let why = match in_force() {
        Some(pools) if pools.path == path => {
            format!("{why}; the pools as they were read before stay in force")
        }
        Some(_) => format!("{why}; the pools of the file that was named before stay in force"),
        None => format!("{why}; this node has no pools"),
    };
    if complaints::set(About::Pools, Some(why.clone()), None) {
        log::error!("{why}");
    }
}

/// The pools of the slurmd before this one, whose lines held: CPUs may have gone offline since.
fn kept(path: &Path, node_name: &str) -> Option<SitePools> {
    let site = Site {
        is_here: &|list| node::is_listed(Some(node_name), list),
        cpus: None,
    };
    site_file::pools_of(path, &held::text(Kept::Pools, node_name)?, &site).ok()
}

/// Puts pools in force. Returns what the administrator should know.
fn put(pools: SitePools, stamp: String) -> Vec<String> {
    let mut doubts = doubts(&pools);
    let here = counted(pools.here().count(), "pool");
    log::info!("{}: {here} of this node", pools.path.display());
    doubts.iter().for_each(|doubt| log::warn!("{doubt}"));
    if let Some(why) = pools.about_old_classes() {
        log::error!("{why}");
        doubts.push(why);
    }
    *known() = Some((Arc::new(pools), stamp));
    doubts
}

/// What the administrator should know of a file that holds.
fn doubts(pools: &SitePools) -> Vec<String> {
    let path = pools.path.display();
    let tells_qos = standing::working().is_some_and(|slurm| slurm.layout.cred.job_qos.is_some());
    let unknown = pools.here().filter(|pool| pool.needs_qos() && !tells_qos);
    let unknown = unknown.map(|pool| {
        format!(
            "{path}, line {}: this release of Slurm does not tell its nodes a job's QOS, so no job is in the pool {}",
            pool.line, pool.name
        )
    });
    let weights = pools.weights().filter(|weights| !weights.is_enough);
    let weak = weights.map(|weights| {
        format!(
            "{path}: a pool has less than 95 % of its CPUs on a busy node, because the kernel's weights do not \
             reach for {} CPUs; raise weight=, or lower cpus=",
            weights.widest
        )
    });
    unknown.chain(weak).collect()
}
