//! Binding without Slurm's private records: the step's cores from SPANK
//! (`S_STEP_ALLOC_CORES`) and the machine file. It is for steps that slurmd could not
//! plan because a record failed its check; every task gets all of the step's CPUs.

use berth_placement::CpuSet;
use slurm_spank::SpankHandle;

use crate::stepd::session::Intent;
use crate::stepd::state::STATE;
use crate::stepd::{own_cpus, own_node, spank_only};

/// SPANK's `task_post_fork`, in the parent, after the task plugins.
pub(crate) fn post_fork(spank: &SpankHandle<'_>) {
    let step = STATE.step();
    match step.as_ref().map(|step| &step.intent) {
        Some(Intent::Own(own)) if own.is_empty() => {}
        Some(_) => return,
        None => return spank_only::post_fork(spank),
    }
    drop(step);
    let Ok(pid) = spank.task_pid() else { return };
    let done = cpus(spank).and_then(|cpus| {
        berth_host::set_affinity(pid, &cpus)
            .map_err(|why| why.to_string())
            .map(|()| cpus)
    });
    match done {
        Ok(cpus) => log::info!("task {pid} is bound to the step's CPUs {cpus}, without placement"),
        Err(why) => log::error!("task {pid} is not bound: {why}"),
    }
}

fn cpus(spank: &SpankHandle<'_>) -> Result<CpuSet, String> {
    let list = spank.step_alloc_cores().map_err(|why| why.to_string())?;
    let cores = CpuSet::from_list(list).map_err(|why| why.to_string())?;
    let cpus = own_cpus::of_cores(&own_node::public()?, &cores);
    if cpus.is_empty() {
        return Err(format!(
            "the machine file has none of the step's cores {list}"
        ));
    }
    Ok(cpus)
}
