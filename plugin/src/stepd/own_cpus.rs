//! CPUs of the step's cores, by slurmd's map.

use berth_placement::CpuSet;
use slurm_sys::{SlurmdConf, StepRecord};

use crate::site::node;
use crate::site::standing::Abi;

/// CPUs of the step's cores, by slurmd's map. They are tried if the kernel refuses a mask.
pub(crate) fn own_cpus(slurm: Abi, record: &StepRecord<'_>) -> CpuSet {
    // SAFETY: the layout is the running release's, and the view ends here.
    let conf = unsafe { SlurmdConf::current(slurm.layout, slurm.symbols) };
    let Some(conf) = conf.filter(|conf| node::sane(conf).is_ok()) else {
        return CpuSet::new();
    };
    let map = conf.block_map().unwrap_or_default();
    let cores = record.step_alloc_cores().unwrap_or_default();
    let threads = u32::from(conf.threads()).max(1);
    let stride = node::stride(slurm, &conf);
    let Ok(cores) = CpuSet::from_list(&cores) else {
        return CpuSet::new();
    };
    let slots = cores
        .iter()
        .flat_map(|core| (0..threads).map(move |thread| core.0 * stride + thread));
    slots
        .filter_map(|slot| map.get(slot as usize % map.len().max(1)))
        .map(|cpu| berth_placement::CpuId(u32::from(*cpu)))
        .collect()
}
