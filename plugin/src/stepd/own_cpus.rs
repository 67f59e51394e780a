//! CPUs of the step's cores, without a plan.

use berth_placement::{Allocation, CoreIdx, CpuSet, Node, Owned, Request};
use slurm_sys::StepRecord;

use crate::site::settings;
use crate::site::standing::Abi;
use crate::stepd::own_node;

/// CPUs of the step's cores. They are tried if the kernel refuses a mask.
pub(crate) fn own_cpus(slurm: Abi, record: &StepRecord<'_>) -> CpuSet {
    let Ok(node) = own_node::now(slurm, &record.node_name().unwrap_or_default()) else {
        return CpuSet::new();
    };
    let cores = record.step_alloc_cores().unwrap_or_default();
    let cores = CpuSet::from_list(&cores);
    cores.map_or_else(|_| CpuSet::new(), |cores| of_cores(&node, &cores))
}

/// CPUs of some cores, as Slurm numbers them, without those that the site reserves.
pub(crate) fn of_cores(node: &Node, cores: &CpuSet) -> CpuSet {
    let request = Request {
        allocation: Allocation::Cores {
            cores: cores.iter().map(|core| CoreIdx(core.0)).collect(),
            configured: u32::MAX,
        },
        reserved: settings::current().reserved.clone(),
        ..Request::default()
    };
    Owned::of(&request, node).cpus
}
