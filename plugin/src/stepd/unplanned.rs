//! Binding without Slurm's private records: the step's cores from SPANK
//! (`S_STEP_ALLOC_CORES`) and the machine file. It is for steps that slurmd could not
//! plan because a record failed its check; every task gets all of the step's CPUs.

use berth_host::{StateDir, machine_file};
use berth_placement::{Allocation, CoreIdx, CpuSet, Node, Owned, Request, Rules};
use slurm_spank::SpankHandle;

use crate::site::{node, settings, standing};
use crate::stepd::session::Intent;
use crate::stepd::spank_only;
use crate::stepd::state::STATE;

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
    let node = node::name_in_stepd().unwrap_or_default();
    let dir =
        StateDir::new(&settings::current().state_dir, &node).map_err(|why| why.to_string())?;
    let machine = machine_file::read(dir.machine_path())
        .map_err(|why| why.to_string())?
        .machine;
    // The credential counts cores socket by socket, as slurmd does.
    let kind = standing::unjudged().map(node::socket_kind);
    let node = Node::of(
        node::counted_by_release(machine),
        kind.unwrap_or_default(),
        Rules::default(),
    );
    let request = Request {
        allocation: Allocation::Cores {
            cores: cores.iter().map(|core| CoreIdx(core.0)).collect(),
            configured: u32::MAX,
        },
        reserved: settings::current().reserved.clone(),
        ..Request::default()
    };
    let cpus = Owned::of(&request, &node).cpus;
    if cpus.is_empty() {
        return Err(format!(
            "the machine file has none of the step's cores {list}"
        ));
    }
    Ok(cpus)
}
