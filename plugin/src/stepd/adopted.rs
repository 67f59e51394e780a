//! slurmstepd of a job's extern step: a process that pam_slurm_adopt brings in gets the job's CPUs, or with
//! `quarantine=extern` its first core. With `confine=` the leaf of the step's cgroup is narrowed to them too.

use berth_host::cgroup::{Fence, FenceError, Mounts, Place, Written};
use berth_host::{affinity_of, bind_threads, ledger};
use berth_placement::{CpuSet, SiteConfine};
use libc::pid_t;

use crate::site::{node, settings};
use crate::stepd::running_step::Adopts;
use crate::stepd::state::STATE;

/// `task_p_add_pid`. Slurm has moved the process into the step's cgroup already.
pub(crate) fn adopted(pid: pid_t) {
    // 0 would be slurmstepd itself.
    let Some(adopts) = STATE.adopts.get().filter(|_| pid > 0) else {
        return;
    };
    let cpuset = cpuset_of(adopts.job);
    let cpus = adopts.cpus(cpuset.as_ref());
    if settings::current().confine != SiteConfine::Off
        && let Err(why) = fence(pid, &cpus)
    {
        log::info!("job={} process={pid} is not confined: {why}", adopts.job);
    }
    match bind_threads(pid, &cpus, None) {
        Ok(()) => {
            let now = affinity_of(pid).unwrap_or_default();
            log::info!("job={} adopted process={pid} cpus={now}", adopts.job);
        }
        Err(why) => log::error!("job={} adopted process={pid}: {why}", adopts.job),
    }
}

impl Adopts {
    /// The CPUs of an adopted process: those of them that are in the job's cpuset, if there are some.
    pub(crate) fn cpus(&self, cpuset: Option<&CpuSet>) -> CpuSet {
        let inside = |core: &CpuSet| match cpuset {
            Some(cpuset) => core.intersection(cpuset),
            None => core.clone(),
        };
        let cores = self.cores.iter().map(inside);
        let most = if self.first_only { 1 } else { usize::MAX };
        let mut cpus = CpuSet::new();
        for core in cores.filter(|core| !core.is_empty()).take(most) {
            cpus.insert_all(&core);
        }
        match (cpus.is_empty(), cpuset) {
            (true, Some(_)) => self.cpus(None),
            _ => cpus,
        }
    }
}

/// The cpuset that the job's other steps are in now.
fn cpuset_of(job: u32) -> Option<CpuSet> {
    let dir = node::state_dir(&node::name_in_stepd()?).ok()?;
    Some(ledger::cpuset_of(&dir, job)?.cpus)
}

/// Narrows the leaf of the process's cgroup, if that is the extern step's: beside slurmstepd's own.
fn fence(pid: pid_t, cpus: &CpuSet) -> Result<(), FenceError> {
    let mounts = Mounts::read()?;
    let (own, place) = (Place::of(0, &mounts)?, Place::of(pid, &mounts)?);
    let is_leaf = place.is_slurms_common() || place.slurms_task().is_some();
    if !is_leaf || !place.is_in_step_of(&own) {
        let why = format!("{place} is not a leaf of the extern step");
        return Err(FenceError::Place(why));
    }
    let fence = Fence { cpus, mems: None };
    let mut trace = |written: &Written| log::debug!("extern step: {written}");
    fence.cpus(&place.open()?, place.version, &mut trace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adopted_processes_have_the_jobs_cpus_inside_its_cpuset() {
        let set = |list: &str| CpuSet::from_list(list).unwrap();
        let cpus = |first_only, cpuset: &str| {
            let adopts = Adopts {
                job: 1,
                cores: ["0,8", "1,9", "2,10"].map(set).to_vec(),
                first_only,
            };
            let cpuset = (!cpuset.is_empty()).then(|| set(cpuset));
            adopts.cpus(cpuset.as_ref()).to_string()
        };
        for (first_only, cpuset, expected) in [
            (false, "", "0-2,8-10"),
            (true, "", "0,8"),
            (false, "9-10", "9-10"),
            (true, "9-10", "9"),
            // A cpuset of other CPUs, left behind by something else, is not followed.
            (true, "30", "0,8"),
            (false, "30", "0-2,8-10"),
        ] {
            assert_eq!(cpus(first_only, cpuset), expected, "{cpuset:?}");
        }
    }
}
