//! A cpuset that exists: chosen by an earlier step of the job, or defined by the site.
//! In: its CPUs, what the job owns. Out: the part of it that the job has, or a refusal. Pure.

use crate::answer::cpuset::{ChosenSet, SetFrom};
use crate::answer::cpuset_refusal::CpusetRefusal;
use crate::request::claims::Claims;
use crate::request::cpuset::{Attribute, CpusetRequest, ExistingCpuset};
use crate::strategy::cpuset::job::Job;
use crate::strategy::cpuset::memory;

/// The cpuset that a job has of an existing one.
pub(super) fn of(
    set: &ExistingCpuset,
    job: &Job<'_>,
    claims: &Claims,
) -> Result<ChosenSet, CpusetRefusal> {
    let cpus = set.cpus.intersection(&job.owned.cpus);
    let count = job.units_in(&cpus);
    if let CpusetRequest::Static(requested) = &set.requested {
        let needed = requested.ncpus.unwrap_or(1).min(job.units.max(1));
        if count < needed {
            return Err(CpusetRefusal::Static {
                name: requested.name.clone(),
                needed,
                has: count,
                set: set.cpus.clone(),
            });
        }
    }
    let list = match &set.requested {
        CpusetRequest::Dynamic(requested) => requested.mem_list.as_ref(),
        CpusetRequest::Static(_) => set.mems.as_ref(),
        CpusetRequest::None => None,
    };
    let found = memory::of(job.node, &cpus, list, (set.attributes, &claims.memory));
    Ok(ChosenSet {
        requested: set.requested.clone(),
        count,
        counts_cores: job.limit == Some(1),
        mems: set.mems.clone().unwrap_or(found.mems),
        memory: found.memory,
        radius: job.node.distances().radius_of(&cpus),
        exclusive: set.attributes.has(Attribute::CpuExclusive),
        from: SetFrom::Given,
        rejected: Vec::new(),
        cpus,
    })
}
