//! The pool of a step's or script's job, by its credential and never by its environment: slurmstepd gets the
//! answer in the handover, and has the ledger's word on whether the job still fits in.

use berth_placement::{CoreSpec, CpuSet, Node, Owned, PoolWish, Request, planned_on};
use berth_site::pools::JobIdentity;
use slurm_sys::views::Credential;

use crate::site::settings::Settings;
use crate::slurmd::pools;
use crate::step::convert;
use crate::step::handover::{InPool, Member};

/// The job's place; none on a node without pools. If the credential cannot be read it is a normal job.
pub(super) fn of(
    (cred, index): (&Credential<'_>, u32),
    (settings, node): (&Settings, &Node),
    wish: Option<PoolWish>,
) -> Option<InPool> {
    let site = pools::FILE.in_force()?;
    let weights = site.weights()?;
    // The machine may have been found after slurmd's start.
    pools::count_as(node);
    let others = weights.others;
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
        let cpus = cpus(cred, index, (settings, node))?;
        let count = u32::try_from(cpus.count()).unwrap_or(u32::MAX);
        let threads = pools::threads_of_cpu(node);
        Some(Member {
            name: pool.name.clone(),
            limit: pool.cpus.saturating_mul(threads),
            most: pools::most(node, settings.pool_reserve),
            weight: weights.of_job(pool.weight, count.div_ceil(threads)),
            cpus,
            threads,
            export: pool.export.clone(),
        })
    });
    Some(InPool { others, member })
}

/// The job's CPUs on this node, without those that the site reserves.
fn cpus(cred: &Credential<'_>, index: u32, (settings, node): (&Settings, &Node)) -> Option<CpuSet> {
    let read = || -> Result<Request, slurm_sys::Error> {
        let cores = cred.node_cores(index)?;
        Ok(Request {
            allocation: convert::allocation(cred.job_cores(&cores)?, &cores),
            core_spec: CoreSpec::None,
            reserved: settings.reserved.clone(),
            ..Request::default()
        })
    };
    match read() {
        Ok(request) => Some(Owned::of(&request, planned_on(&request, node)).cpus),
        Err(why) => {
            log::error!("a job runs outside of its pool: {why}");
            None
        }
    }
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
            [false, true].map(|counts| pools::threads_of_cpu(&node(counts))),
            [1, 2]
        );
        assert_eq!(
            [false, true].map(|counts| pools::most(&node(counts), 1)),
            [14, 14]
        );
    }
}
