//! The number of tasks of a line: it is given, or follows from nodes, a node's numbers, or a list of
//! nodes (`_opt_verify`). The model of slurmctld's clients counts them.

use berth_placement::AcrossHosts;
use berth_placement::controller::select::{ClientRules, LineOptions, SrunTasks};

use crate::reading::Refused;
use crate::reading::for_model::from_state;
use crate::reading::state::State;
use crate::release::Release;

/// Counts them.
pub(super) fn of(state: &State) -> Result<SrunTasks, Refused> {
    let asked = state.distribution;
    let arbitrary = asked.is_some_and(|asked| asked.hosts == AcrossHosts::Arbitrary);
    if arbitrary && state.nodelist.is_none() && !state.nodefile {
        return Err(Refused::together(NO_LIST));
    }
    if arbitrary && state.on_line("nodes") && state.release >= Release::V23_11 {
        return Err(Refused::together(
            "srun takes no --nodes beside -m arbitrary: the list names the nodes; leave -N out",
        ));
    }
    let mut options = LineOptions::default();
    from_state(&mut options, state)?;
    let rules = ClientRules {
        per_node_first: state.release >= Release::V23_02,
        drops_per_node: state.release <= Release::V23_11,
    };
    SrunTasks::of(rules, &options).map_err(|_| {
        Refused::together(
            "srun takes no 0 as a count, and no range of nodes whose end is below its start",
        )
    })
}

const NO_LIST: &str = "-m arbitrary takes each task's node from a list; give it with -w, or in a \
                       file named by SLURM_HOSTFILE";
