//! The pool of a step's or script's job, by its credential and never by its environment: slurmstepd gets the
//! answer in the handover, and has the ledger's word on whether the job still fits in.

use berth_host::pools_file::Who;
use berth_placement::{CoreSpec, CpuSet, Node, Owned, PoolWish, Request, planned_on};
use slurm_sys::views::Credential;

use crate::message::in_pool::{InPool, Member};
use crate::planning::convert;
use crate::site::settings::Settings;
use crate::slurmd::pools;

/// The job's place; none on a node without pools. If the credential cannot be read it is a normal job.
pub(super) fn of(
    (cred, index): (&Credential<'_>, u32),
    (settings, node): (&Settings, &Node),
    wish: Option<PoolWish>,
) -> Option<InPool> {
    let site = pools::in_force()?;
    let weights = site.weights()?;
    let others = weights.others;
    let [partition, account, reservation, qos] = [
        cred.job_partition(),
        cred.job_account(),
        cred.job_reservation(),
        cred.job_qos(),
    ]
    .map(Option::unwrap_or_default);
    let who = Who {
        partition: &partition,
        account: &account,
        reservation: &reservation,
        qos: &qos,
    };
    let pool = site.of(who).filter(|_| wish != Some(PoolWish::None));
    let member = pool.and_then(|pool| {
        let cpus = cpus(cred, index, node)?;
        let count = u32::try_from(cpus.count()).unwrap_or(u32::MAX);
        Some(Member {
            name: pool.name.clone(),
            limit: pool.cpus,
            most: pools::most(node, settings.pool_reserve),
            weight: weights.of_job(pool.weight, count),
            cpus,
            export: pool.export.clone(),
        })
    });
    Some(InPool { others, member })
}

/// The job's CPUs on this node.
fn cpus(cred: &Credential<'_>, index: u32, node: &Node) -> Option<CpuSet> {
    let read = || -> Result<Request, slurm_sys::Error> {
        let cores = cred.node_cores(index)?;
        Ok(Request {
            allocation: convert::allocation(cred.job_cores(&cores)?, &cores),
            core_spec: CoreSpec::None,
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
