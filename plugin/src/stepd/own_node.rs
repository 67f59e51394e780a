//! This node for slurmstepd: slurmd's shape, and the machine from slurmd's file.

use berth_host::{StateDir, machine_file};
use berth_placement::Node;
use slurm_sys::SlurmdConf;

use crate::planning::convert;
use crate::site::standing::Abi;
use crate::site::{cgroups, node, settings};

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
