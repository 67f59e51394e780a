//! The site's file of pools in slurmd: read when slurmd starts, and again by our thread when it has changed. A
//! launch hook gets what is in force, and waits for no reading.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use berth_host::kept::Kept;
use berth_host::site_file::{self, Stamp};
use berth_placement::Node;
use berth_placement::sets::count::counted;
use berth_site::pools::{Site, SitePools};

use crate::site::{node, settings, standing};
use crate::slurmd::complaints::{self, About};
use crate::slurmd::{discovery, held};

/// The file as it was last looked at, whether it could be read or not.
#[derive(PartialEq, Eq)]
struct Looked {
    path: PathBuf,
    stamp: Option<Stamp>,
    /// The CPUs against which its lines were checked.
    cpus: Option<u32>,
}

/// What is in force, and the last look.
struct Known {
    pools: Option<Arc<SitePools>>,
    looked: Option<Looked>,
}

static KNOWN: Mutex<Known> = Mutex::new(Known {
    pools: None,
    looked: None,
});

/// Held for a clone or an exchange, never while a file is read.
fn known() -> MutexGuard<'static, Known> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What is in force; nothing without `pools=`, or if the file has never been readable.
pub(crate) fn in_force() -> Option<Arc<SitePools>> {
    known().pools.clone()
}

/// Whether there is a file to look at again and again.
pub(crate) fn has_file() -> bool {
    settings::current().pools.is_some()
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

/// Reads the file if it has changed since the last look; never in a launch hook. Returns whether slurmd's
/// announcement must be written again. It may take long, because the file can lie on another machine.
pub(crate) fn look(node_name: &str) -> bool {
    let Some(path) = settings::current().pools.clone() else {
        let mut known = known();
        let had = known.looked.take().is_some() | known.pools.take().is_some();
        drop(known);
        held::forget(Kept::Pools, node_name);
        return complaints::set(About::Pools, None, Vec::new()) | had;
    };
    let machine = discovery::machine();
    let threads = machine.map(|machine| u32::try_from(machine.cpus().count()).unwrap_or(u32::MAX));
    let cpus = threads.map(|threads| threads / threads_here());
    // The stamp is taken first: what changes while the file is read is read at the next look.
    let looked = Looked {
        stamp: Stamp::of(&path),
        path,
        cpus,
    };
    if known().looked.as_ref() == Some(&looked) {
        return false;
    }
    let (is_read, is_news) = read(&looked.path, node_name, cpus);
    // A file that does not hold is read at each look: the reason may be outside of it.
    known().looked = is_read.then_some(looked);
    is_read || is_news
}

/// Reads the file, and puts it in force; one that does not hold leaves what was in force, also for the slurmd before
/// this one. Returns whether it holds, and whether there is news for the administrator.
fn read(path: &Path, node_name: &str, cpus: Option<u32>) -> (bool, bool) {
    let site = Site {
        is_here: &|list| node::is_listed(Some(node_name), list),
        cpus,
    };
    let read = site_file::text("pools", path).and_then(|text| {
        let pools = site_file::pools_of(path, &text, &site)?;
        Ok((pools, text))
    });
    match read {
        Ok((pools, text)) => {
            held::keep(Kept::Pools, node_name, &text);
            let doubts = put(pools);
            (true, complaints::set(About::Pools, None, doubts))
        }
        Err(why) => {
            let in_force = in_force();
            let is_first = in_force.is_none();
            let before = match in_force {
                Some(pools) => Some(SitePools::clone(&pools)),
                None => kept(path, node_name),
            };
            let why = match &before {
                Some(pools) if pools.path == path => {
                    format!("{why}; the pools as they were read before stay in force")
                }
                Some(_) => {
                    format!("{why}; the pools of the file that was named before stay in force")
                }
                None => format!("{why}; this node has no pools"),
            };
            let other = before.filter(|_| is_first).map(put);
            let is_news = complaints::set(About::Pools, Some(why.clone()), Vec::new());
            if is_news {
                log::error!("{why}");
            }
            (false, is_news || other.is_some())
        }
    }
}

/// The next look reads the file whatever is known of it: what is kept of it may be gone.
pub(super) fn look_again() {
    known().looked = None;
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
fn put(pools: SitePools) -> Vec<String> {
    let mut doubts = doubts(&pools);
    let here = counted(pools.here().count(), "pool");
    log::info!("{}: {here} of this node", pools.path.display());
    doubts.iter().for_each(|doubt| log::warn!("{doubt}"));
    if let Some(why) = pools.about_old_classes() {
        log::error!("{why}");
        doubts.push(why);
    }
    known().pools = Some(Arc::new(pools));
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
