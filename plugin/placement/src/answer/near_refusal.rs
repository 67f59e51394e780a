//! Why a `--near` cannot be served. Each text states what was requested, what was found and what to
//! do; srun prints it.

use derive_more::Display;

use crate::request::near::{Near, What};
use crate::sets::bounded::repeated;

/// A `--near` that cannot be served.
#[derive(Clone, Debug, PartialEq, Eq, Display)]
pub enum NearRefusal {
    /// The machine's devices are unknown.
    #[display(
        "--near={_0} requests cores next to a device; berth does not know the devices of this node; ask the \
         administrator to look at `berth topo` and `berth doctor` there, or for a dry run give --machine an \
         XML file that has them (lstopo node.xml)"
    )]
    Unknown(Near),
    /// The node has no such device.
    #[display(
        "--near={} requests cores next to {}; this node has none; it has {found}; name one of those, or leave \
         --near out",
        repeated(near),
        device(&near.what)
    )]
    NoDevice {
        /// The request.
        near: Near,
        /// Names and kinds of the devices there are, for a text.
        found: String,
    },
    /// Slurm gave the step none of these devices.
    #[display(
        "--near={near} requests cores next to a device; Slurm counts {on_node} GPUs on this node and gave this \
         step none of those requested; request some, for example with --gpus-per-node"
    )]
    NotGranted {
        /// The request.
        near: Near,
        /// The number of such devices that Slurm counts on the node.
        on_node: u32,
    },
    /// The machine lacks the devices that Slurm gave the step.
    #[display(
        "--near={near} requests cores next to a device; Slurm counts {on_node} on this node, this machine has \
         {found}, and those that Slurm gave this step are not among them; ask the administrator to compare \
         gres.conf with `berth topo`"
    )]
    NotFound {
        /// The request.
        near: Near,
        /// The number of such devices that Slurm counts on the node.
        on_node: u32,
        /// The number of such devices that the machine has.
        found: u32,
    },
    /// A task wants more devices than there are.
    #[display(
        "--near={near} requests {} devices for each task; this step has {found} on this node; use a smaller \
         number, or leave it out to divide them evenly",
        near.each.unwrap_or(0)
    )]
    TooFew {
        /// The request.
        near: Near,
        /// Devices of the step on this node.
        found: u32,
    },
    /// The cores next to a task's devices are too few, and the request is strict.
    #[display(
        "--near={near} is strict; task {task} on this node does not fit next to {devices}: this step has \
         {near_cpus} usable CPUs there for all tasks of that place; use fewer tasks or a smaller -c, or leave \
         out strict"
    )]
    TooSmall {
        /// The request.
        near: Near,
        /// The first task that would get others.
        task: u32,
        /// Its devices.
        devices: String,
        /// Usable CPUs of the step next to them.
        near_cpus: u32,
    },
}

fn device(what: &What) -> String {
    match what {
        What::Gpu => "a GPU".into(),
        What::Network => "a network adapter".into(),
        What::Class(class) => format!("a device of PCI class {class:04x}"),
        What::Name(name) => format!("the device {}", repeated(name)),
        What::Nothing => "no device".into(),
    }
}
