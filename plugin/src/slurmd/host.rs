//! This node for a launch: its shape in slurmd's record, and the discovered machine.

use std::sync::{Arc, Mutex, PoisonError};

use berth_placement::{Node, Rules};
use slurm_sys::SlurmdConf;

use crate::site::standing::Abi;
use crate::site::{cgroups, node};
use crate::slurmd::{discovery, worker};

/// The node as it is now, for planning. It reads only the list of online CPUs from outside. If the
/// machine has changed, it is discovered elsewhere, and this launch goes on with the one known
/// before.
pub(crate) fn now(slurm: Abi, conf: &SlurmdConf, rules: Rules) -> Arc<Node> {
    if !worker::is_ours_to_start() {
        // In a program that stands for slurmd nobody else discovers, so it is done here.
        if !discovery::was_tried() || discovery::is_outdated() {
            discovery::at_start(&conf.node_name().unwrap_or_default());
        }
    } else if !discovery::was_tried() {
        worker::discover(&conf.node_name().unwrap_or_default());
    } else {
        if discovery::is_outdated() {
            worker::discover(&conf.node_name().unwrap_or_default());
        }
        worker::start();
    }
    known(slurm, conf, rules)
}

/// The node. It is made again only if slurmd's count, the machine or the rules have changed since
/// the last launch.
fn known(slurm: Abi, conf: &SlurmdConf, rules: Rules) -> Arc<Node> {
    static LAST: Mutex<Option<Arc<Node>>> = Mutex::new(None);
    let (shape, machine) = (node::shape(slurm, conf), discovery::machine());
    let socket = node::socket_kind(slurm);
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    let is_same = |known: &Node, rules| known.is_made_of(&shape, machine.as_ref(), socket, rules);
    if let Some(known) = last.as_ref()
        && known.is_slurmds()
        && is_same(
            known,
            Rules {
                constrain_cores: known.rules().constrain_cores,
                ..rules
            },
        )
    {
        // Cgroups take nothing away here, whether they constrain or not.
        return known.clone();
    }
    let rules = cgroups::confine(slurm, rules);
    if let Some(known) = last.as_ref()
        && is_same(known, rules)
    {
        return known.clone();
    }
    let made = Arc::new(Node::new(shape, machine, socket, rules));
    *last = Some(made.clone());
    made
}
