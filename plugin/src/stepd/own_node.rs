//! This node for slurmstepd, and the step's own CPUs without a plan: slurmd's shape, and the machine from slurmd's
//! file. Without Slurm's private records the file is all there is. slurmd's key lies beside that file; slurmstepd
//! checks slurmd's marks with it ([`crate::step::seal`]).

use std::io::ErrorKind;

use berth_host::key::Key;
use berth_placement::{Allocation, CoreIdx, CpuSet, Node, Owned, Request, Rules};
use slurm_sys::{SlurmdConf, StepRecord};

use crate::site::node::{self, state_dir};
use crate::site::settings;
use crate::site::standing::{self, Abi};
use crate::step::convert;

/// The node as slurmd plans on it.
///
/// # Errors
/// That slurmd's record cannot be read. Without a machine file slurmd's map is all there is.
pub(crate) fn now(slurm: Abi, node_name: &str) -> Result<Node, String> {
    // SAFETY: the layout is the running release's, and the view ends here.
    let conf = unsafe { SlurmdConf::current(slurm.layout, slurm.symbols) };
    let conf = conf.ok_or("slurmstepd has no settings of slurmd (conf)")?;
    node::sane(&conf)?;
    let machine = node::machine_file(node_name).ok();
    Ok(Node::new(
        node::shape(slurm, &conf),
        machine.map(|file| file.machine.into()),
        node::socket_kind(slurm),
        node::with_constrain_cores(slurm, convert::rules(slurm, &settings::current())),
    ))
}

/// The node without Slurm's private records, from the machine file alone.
///
/// # Errors
/// Why that file cannot be read.
pub(crate) fn public() -> Result<Node, String> {
    let name = node::name_in_stepd().unwrap_or_default();
    let machine = node::machine_file(&name)?.machine;
    // The credential counts cores socket by socket, as slurmd does.
    let kind = standing::unjudged().map(node::socket_kind);
    Ok(Node::of(
        node::counted_by_release(machine),
        kind.unwrap_or_default(),
        Rules::default(),
    ))
}

/// CPUs of the step's cores. They are tried if the kernel refuses a mask.
pub(crate) fn own_cpus(slurm: Abi, record: &StepRecord<'_>) -> CpuSet {
    let Ok(node) = now(slurm, &record.node_name().unwrap_or_default()) else {
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

/// The key that slurmd made.
///
/// # Errors
/// The reason why there is none, for the log.
pub(crate) fn key(node_name: &str) -> Result<Key, String> {
    let dir = state_dir(node_name)?;
    Key::read(&dir).map_err(|why| {
        if why.kind() == ErrorKind::NotFound {
            // Somebody has removed it: with the next launch slurmd puts it back.
            let _ = dir.ask_to_reload();
        }
        format!("slurmd's key: {why}")
    })
}
