//! The site's file of pools in slurmd, and the pool of a step's or script's job, by its credential and never by its
//! environment: slurmstepd gets the answer in the handover, and has the ledger's word on whether the job still fits
//! in.

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use berth_host::site_file::{self, LastGoodConfig};
use berth_placement::sets::text::counted;
use berth_placement::{CoreSpec, CpuSet, Node, Owned, PoolWish, Request, planned_on};
use berth_site::pools::{JobIdentity, Site, SitePools};

use crate::site::settings::{self, Settings};
use crate::site::{node, standing};
use crate::slurmd::complaints::About;
use crate::slurmd::discovery;
use crate::slurmd::site_file::{From, SiteFile};
use crate::step::convert::NodeCredential;
use crate::step::handover::{InPool, Member};

/// The job's place; none on a node without pools. If the credential cannot be read it is a normal job.
pub(super) fn pool_of_job(
    here: NodeCredential<'_>,
    settings: &Settings,
    node: &Node,
    wish: Option<PoolWish>,
) -> Option<InPool> {
    let site = FILE.in_force()?;
    let weights = site.weights()?;
    // The machine may have been found after slurmd's start.
    set_threads_of_cpu(node);
    let others = weights.others;
    let cred = here.cred;
    let [partition, account, reservation, qos] = [
        cred.job_partition(),
        cred.job_account(),
        cred.job_reservation(),
        cred.job_qos(),
    ]
    .map(Option::unwrap_or_default);
    let identity = JobIdentity {
        partition: &partition,
        account: &account,
        reservation: &reservation,
        qos: &qos,
    };
    let pool = site.of(identity).filter(|_| wish != Some(PoolWish::None));
    let member = pool.and_then(|pool| {
        let cpus = cpus(here, settings, node)?;
        let count = u32::try_from(cpus.count()).unwrap_or(u32::MAX);
        let threads = threads_of_cpu(node);
        Some(Member {
            name: pool.name.clone(),
            limit: pool.cpus.saturating_mul(threads),
            most: most_threads(node, settings.pool_reserve),
            weight: weights.of_job(pool.weight, count.div_ceil(threads)),
            cpus,
            threads,
            export: pool.export.clone(),
        })
    });
    Some(InPool { others, member })
}

/// The job's CPUs on this node, without those that the site reserves.
fn cpus(here: NodeCredential<'_>, settings: &Settings, node: &Node) -> Option<CpuSet> {
    match here.job_allocation() {
        Ok(allocation) => {
            let request = Request {
                allocation,
                core_spec: CoreSpec::None,
                reserved: settings.reserved.clone(),
                ..Request::default()
            };
            Some(Owned::of(&request, planned_on(&request, node)).cpus)
        }
        Err(why) => {
            log::error!("a job runs outside of its pool: {why}");
            None
        }
    }
}

/// The file that `pools=` names.
pub(crate) static FILE: SiteFile<SitePools> = SiteFile::new(
    "pools",
    About::Pools,
    LastGoodConfig::Pools,
    "this node has no pools",
);

/// The CPUs that all pools of a node may own together: those of the node without the reserved cores.
pub(crate) fn most_threads(node: &Node, reserve: u32) -> u32 {
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
pub(crate) fn set_threads_of_cpu(node: &Node) {
    THREADS_OF_CPU.store(threads_of_cpu(node), Ordering::Relaxed);
}

/// Reads the file and puts it in force.
pub(crate) fn read_site_file(node_name: &str) {
    let machine = discovery::machine();
    let threads = machine.map(|machine| u32::try_from(machine.cpus().count()).unwrap_or(u32::MAX));
    let cpus = threads.map(|threads| threads / threads_here());
    let parse = |path: &Path, text: &[u8], from| {
        let site = Site {
            is_here: &|list| node::is_listed(Some(node_name), list),
            // CPUs may have gone offline since it held.
            cpus: cpus.filter(|_| from == From::File),
        };
        site_file::pools_of(path, text, &site)
    };
    let named = settings::current();
    FILE.read(named.pools.as_deref(), node_name, parse, doubts);
}

/// Warnings to the administrator about a file that is in force.
fn doubts(pools: &SitePools) -> Vec<String> {
    let path = pools.path.display();
    log::info!(
        "{path}: {} of this node",
        counted(pools.here().count(), "pool")
    );
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
    let mut doubts: Vec<_> = unknown.chain(weak).collect();
    doubts.iter().for_each(|doubt| log::warn!("{doubt}"));
    if let Some(why) = pools.about_old_classes() {
        log::error!("{why}");
        doubts.push(why);
    }
    doubts
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use berth_placement::{Machine, Numbering, Rules, Shape, SocketKind};

    use super::*;

    #[test]
    fn a_pool_counts_as_slurm_does() {
        let machine = Machine::regular(2, 4, 2, Numbering::Block).unwrap();
        let node = |counts_cores| {
            let mut shape = Shape::of(&machine, SocketKind::Package);
            shape.cpus_are_cores = counts_cores;
            let machine = Some(Arc::new(machine.clone()));
            Node::new(shape, machine, SocketKind::Package, Rules::default())
        };
        assert_eq!(
            [false, true].map(|counts| threads_of_cpu(&node(counts))),
            [1, 2]
        );
        assert_eq!(
            [false, true].map(|counts| most_threads(&node(counts), 1)),
            [14, 14]
        );
    }
}
