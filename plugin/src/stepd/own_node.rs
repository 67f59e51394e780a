//! This node for slurmstepd: slurmd's shape, and the machine from slurmd's file.
//! Without Slurm's private records the file is all there is.

use berth_host::{StateDir, machine_file};
use berth_placement::{Node, Rules};
use slurm_sys::SlurmdConf;

use crate::site::standing::{self, Abi};
use crate::site::{cgroups, node, settings};
use crate::step::convert;

/// The node as slurmd plans on it.
///
/// # Errors
/// That slurmd's record cannot be read. Without a machine file slurmd's map is all there is.
pub(crate) fn now(slurm: Abi, node_name: &str) -> Result<Node, String> {
    let dir = StateDir::new(&settings::current().state_dir, node_name);
    let dir = dir.map_err(|why| why.to_string())?;
    // SAFETY: the layout is the running release's, and the view ends here.
    let conf = unsafe { SlurmdConf::current(slurm.layout, slurm.symbols) };
    let conf = conf.ok_or("slurmstepd has no settings of slurmd (conf)")?;
    node::sane(&conf)?;
    let machine = machine_file::read(dir.machine_path()).ok();
    Ok(Node::new(
        node::shape(slurm, &conf),
        machine.map(|file| file.machine.into()),
        node::socket_kind(slurm),
        cgroups::confine(slurm, convert::rules(slurm, &settings::current())),
    ))
}

/// The node without Slurm's private records, from the machine file alone.
///
/// # Errors
/// Why that file cannot be read.
pub(crate) fn public() -> Result<Node, String> {
    let name = node::name_in_stepd().unwrap_or_default();
    let dir =
        StateDir::new(&settings::current().state_dir, &name).map_err(|why| why.to_string())?;
    let machine = machine_file::read(dir.machine_path())
        .map_err(|why| why.to_string())?
        .machine;
    // The credential counts cores socket by socket, as slurmd does.
    let kind = standing::unjudged().map(node::socket_kind);
    Ok(Node::of(
        node::counted_by_release(machine),
        kind.unwrap_or_default(),
        Rules::default(),
    ))
}
