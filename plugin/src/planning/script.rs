//! A batch script's `--binding`.

use berth_placement::Binding;
use berth_placement::request::grid_engine::Instance;
use berth_placement::sets::limits::MAX_ENTRIES;

/// The number of tasks of a node that a script's `--binding` is planned for: one, if the job has
/// one; with `pe:` those that the parallel environment will start, as evenly as slurmctld lays them
/// out by default. Otherwise the binding is only for the steps. `all` are the job's tasks on all
/// its nodes.
pub(crate) fn tasks(binding: &Binding, all: u32, nodes: u32) -> Option<u32> {
    let most = all.div_ceil(nodes.max(1)).min(MAX_ENTRIES);
    match all {
        0 | 1 => Some(1),
        _ => Some(most).filter(|_| binding.instance == Instance::Pe),
    }
}
