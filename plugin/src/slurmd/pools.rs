//! The site's file of pools in slurmd: read when slurmd starts, and again by our thread when it has changed. A
//! launch hook gets what is in force, and waits for no reading.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use berth_host::pools_file::{self, Site, SitePools, Stamp};
use berth_placement::Node;
use berth_placement::sets::count::counted;

use crate::site::{node, settings, standing};
use crate::slurmd::complaints::{self, About};
use crate::slurmd::discovery;

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

/// Reads the file if it has changed since the last look; never in a launch hook. Returns whether slurmd's
/// announcement must be written again.
pub(crate) fn look(node_name: &str) -> bool {
    let Some(path) = settings::current().pools.clone() else {
        let mut known = known();
        let had = known.looked.take().is_some() | known.pools.take().is_some();
        drop(known);
        return complaints::set(About::Pools, None, Vec::new()) | had;
    };
    let machine = discovery::machine();
    let cpus = machine.map(|machine| u32::try_from(machine.cpus().count()).unwrap_or(u32::MAX));
    // The stamp is taken first: what changes while the file is read is read at the next look.
    let looked = Looked {
        stamp: Stamp::of(&path),
        path,
        cpus,
    };
    if known().looked.as_ref() == Some(&looked) {
        return false;
    }
    read(&looked.path, node_name, cpus);
    known().looked = Some(looked);
    true
}

/// Reads the file, and puts it in force; one that does not hold leaves what was in force.
fn read(path: &Path, node_name: &str, cpus: Option<u32>) {
    let site = Site {
        is_here: &|list| node::is_listed(Some(node_name), list),
        cpus,
    };
    match pools_file::load(path, &site) {
        Ok(pools) => {
            let doubts = doubts(&pools);
            let here = pools.here().count();
            log::info!("{}: {} of this node", path.display(), counted(here, "pool"));
            doubts.iter().for_each(|doubt| log::warn!("{doubt}"));
            complaints::set(About::Pools, None, doubts);
            known().pools = Some(Arc::new(pools));
        }
        Err(why) => {
            let why = match in_force() {
                Some(pools) if pools.path == path => {
                    format!("{why}; the pools as they were read before stay in force")
                }
                Some(_) => {
                    format!("{why}; the pools of the file that was named before stay in force")
                }
                None => format!("{why}; this node has no pools"),
            };
            if complaints::set(About::Pools, Some(why.clone()), Vec::new()) {
                log::error!("{why}");
            }
        }
    }
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
