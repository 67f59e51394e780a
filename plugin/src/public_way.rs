//! Binding without Slurm's private records: the step's cores from SPANK
//! (`S_STEP_ALLOC_CORES`) and the machine file. For steps that slurmd could not
//! plan, because a record failed its check; every task gets all of the step's CPUs.

use berth_host::{StateDir, machine_file};
use berth_placement::{CoreIdx, CpuSet};
use slurm_spank::SpankHandle;

use crate::settings::{self, Notes};
use crate::step::{Intent, lock};
use crate::{report, spank_option, standing};

/// SPANK's `task_post_fork`, in the parent, after the task plugins.
pub(crate) fn post_fork(spank: &SpankHandle<'_>) {
    let step = lock();
    match step.as_ref().map(|step| &step.intent) {
        Some(Intent::Unplanned) => {}
        Some(_) => return,
        None => return say_unheard(spank),
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
    let node = std::env::var("SLURMD_NODENAME").unwrap_or_default();
    let node = spank
        .getenv("SLURMD_NODENAME")
        .ok()
        .flatten()
        .unwrap_or(node);
    let dir =
        StateDir::new(&settings::current().state_dir, &node).map_err(|why| why.to_string())?;
    let machine = machine_file::read(dir.machine_path())
        .map_err(|why| why.to_string())?
        .machine;
    let of_core = |core: berth_placement::CpuId| machine.pus_of(CoreIdx(core.0)).iter().copied();
    let cpus: CpuSet = cores.iter().flat_map(of_core).collect();
    if cpus.is_empty() {
        return Err(format!(
            "the machine file has none of the step's cores {list}"
        ));
    }
    Ok(cpus)
}

/// A `--binding` on a node where berth is off, aside or no task plugin is not
/// dropped in silence. Once a step, from its first node, never from a batch script.
fn say_unheard(spank: &SpankHandle<'_>) {
    let Some(binding) = spank_option::told() else {
        return;
    };
    let batch = standing::unjudged().map(|slurm| slurm.layout.constants.SLURM_BATCH_SCRIPT);
    let is_batch = spank.job_stepid().ok() == batch;
    let is_first = spank.job_nodeid().is_ok_and(|node| node == 0);
    let switch = spank.getenv(report::ENV_NOTES).ok().flatten();
    let hushed = report::is_hushed(switch.as_deref());
    if settings::current().notes == Notes::User && is_first && !is_batch && !hushed {
        report::to_user(&format!(
            "berth: note: --binding={binding} is not honoured on this node; its administrator \
             finds the reason in slurmd's log\n"
        ));
    }
}
