//! The options that srun reads, as the model of slurmctld and its clients takes them.

use berth_placement::controller::select::LineOptions;

use crate::host_list::{Most, expand};
use crate::reading::Refused;
use crate::reading::state::State;

/// Fills in what was read.
pub(super) fn from_state(options: &mut LineOptions, state: &State) -> Result<(), Refused> {
    options.nodes = state.nodes;
    let list = state.nodelist.as_deref().filter(|_| !state.list_is_file());
    options.node_names = names("nodelist", list.unwrap_or_default())?;
    options.tasks = state.ntasks;
    options.cpus_per_task = state.cpus_per_task;
    options.tasks_per_node = state.ntasks_per_node;
    options.tasks_per_socket = state.ntasks_per_socket;
    options.tasks_per_core = state.ntasks_per_core;
    [
        options.sockets_per_node,
        options.cores_per_socket,
        options.threads_per_core,
    ] = state.node;
    options.node_info = state.by_node_info;
    options.hinted = state.hinted;
    options.overcommit = state.overcommit;
    options.core_spec = state.core_spec;
    options.distribution = state.distribution.unwrap_or_default();
    options.exact = state.exact;
    options.overlap = state.overlap;
    options.whole = state.whole;
    Ok(())
}

/// The names of a list of nodes.
pub(super) fn names(option: &str, list: &str) -> Result<Vec<String>, Refused> {
    if list.is_empty() {
        return Ok(Vec::new());
    }
    expand(list, Most::COMMAND_LINE).map_err(|why| Refused::text(option, list, &why))
}
