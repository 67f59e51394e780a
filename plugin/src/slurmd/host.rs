//! This node for a launch: its shape in slurmd's record, and the discovered machine.

use std::sync::{Arc, Mutex, PoisonError};

use berth_placement::{Machine, Node, Rules};
use slurm_sys::SlurmdConf;

use crate::site::node;
use crate::site::standing::Abi;
use crate::slurmd::discovery::{self, MachineState};
use crate::slurmd::refresh;

/// The node as it is now, for planning. It reads only the list of online CPUs from outside, and looks for `berth reload`. If the
/// machine has changed, it is discovered elsewhere, and this launch goes on with the one known
/// before.
pub(crate) fn now(slurm: Abi, conf: &SlurmdConf, rules: Rules) -> Arc<Node> {
    known(slurm, conf, (machine(conf), rules))
}

/// The machine, and the work that its state asks for.
fn machine(conf: &SlurmdConf) -> Option<Arc<Machine>> {
    let state = discovery::state();
    if !refresh::is_ours_to_start() && !matches!(state, MachineState::Current(_)) {
        // In a program that stands for slurmd nobody else discovers, so it is done here.
        let node_name = conf.node_name().unwrap_or_default();
        refresh::begin(&node_name);
        discovery::at_start(&node_name);
        return discovery::machine();
    }
    refresh::at_launch(&state);
    match state {
        MachineState::Nothing => None,
        MachineState::Outdated(machine) | MachineState::Current(machine) => machine,
    }
}

/// The node. It is made again only if slurmd's count, the machine or the rules have changed since
/// the last launch.
fn known(
    slurm: Abi,
    conf: &SlurmdConf,
    (machine, rules): (Option<Arc<Machine>>, Rules),
) -> Arc<Node> {
    static LAST: Mutex<Option<Arc<Node>>> = Mutex::new(None);
    let socket = node::socket_kind(slurm);
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    let counted = last
        .as_ref()
        .filter(|known| node::has_shape(slurm, conf, known.shape()));
    let same = |rules| {
        let same = |known: &&Arc<Node>| known.is_made_of(machine.as_ref(), socket, rules);
        counted.filter(same).cloned()
    };
    // Cgroups take nothing away from a node that slurmd counts as it is, whether they constrain or
    // not.
    let constrain_cores = counted.is_some_and(|known| known.rules().constrain_cores);
    let any_cgroups = same(Rules {
        constrain_cores,
        ..rules
    });
    if let Some(known) = any_cgroups.filter(|known| known.is_slurmds()) {
        return known;
    }
    let rules = node::with_constrain_cores(slurm, rules);
    if let Some(known) = same(rules) {
        return known;
    }
    let shape = node::shape(slurm, conf);
    let made = Arc::new(Node::new(shape, machine, socket, rules));
    *last = Some(made.clone());
    made
}
