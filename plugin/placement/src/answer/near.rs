//! The devices that a `--near` gives to each task, and how far the task's cores are from them; notes on it, and why it
//! cannot be served. The command shows it, and vendors' variables are written from it. Each text states what was
//! requested, what was found and what to do. Pure data.

use derive_more::Display;

use crate::request::near::{Near, What};
use crate::sets::cpuset::CpuSet;
use crate::sets::text::{counted, either, repeated};
use crate::topology::objects::ObjectKind;

/// Every task's devices.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Nearby {
    /// The step's devices of this kind in their order, as positions among the machine's.
    pub visible: Vec<u32>,
    /// The PCI vendor of each of these; 0 for a device that is on no PCI bus.
    pub vendors: Vec<u16>,
    /// Devices that tasks get together, as positions in `visible`.
    pub parts: Vec<Vec<u32>>,
    /// Each task's by local id.
    pub tasks: Vec<NearTask>,
}

/// One task's devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NearTask {
    /// The position of its part.
    pub part: u32,
    /// From its cores to the devices.
    pub distance: Distance,
}

/// From a task's cores to its devices: the smallest object that has both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Display)]
pub enum Distance {
    /// Both are in one object of this kind.
    #[display("{}", shared(*_0))]
    Same(ObjectKind),
    /// No object but the machine has both.
    #[display("across packages")]
    Apart,
    /// The devices have no place of their own.
    #[display("unknown")]
    Unknown,
}

impl Nearby {
    /// A task's devices, as positions in `visible`.
    #[must_use]
    pub fn own(&self, task: usize) -> &[u32] {
        let part = self.tasks.get(task).map(|task| task.part as usize);
        let part = part.and_then(|part| self.parts.get(part));
        part.map_or(&[], Vec::as_slice)
    }

    /// A task's devices, as positions among the machine's.
    pub fn devices(&self, task: usize) -> impl Iterator<Item = u32> + '_ {
        let own = self.own(task).iter();
        own.filter_map(|at| self.visible.get(*at as usize).copied())
    }

    /// The devices in the order in which a task is to see them, as positions in `visible`: its own
    /// first, then, unless it is to see only its own, the others.
    #[must_use]
    pub fn order(&self, task: usize, only_own: bool) -> Vec<u32> {
        let own = self.own(task);
        let mut order = own.to_vec();
        if !only_own {
            let all = 0..self.visible.len() as u32;
            order.extend(all.filter(|at| !own.contains(at)));
        }
        order
    }
}

impl Distance {
    /// From CPUs to a place, by the objects around the place from narrow to wide.
    pub(crate) fn within(cpus: &CpuSet, around: &[&(ObjectKind, CpuSet)]) -> Self {
        let same = around.iter().find(|(_, object)| cpus.is_subset(object));
        same.map_or(Self::Apart, |(kind, _)| Self::Same(*kind))
    }
}

fn shared(kind: ObjectKind) -> &'static str {
    match kind {
        ObjectKind::L3 => "same L3",
        ObjectKind::Numa => "same NUMA node",
        ObjectKind::Die => "same die",
        _ => "same package",
    }
}

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

/// Something the user should know about a `--near`.
#[derive(Clone, Debug, PartialEq, Eq, Display)]
pub enum NearNote {
    /// Some tasks have cores that are not next to their devices.
    #[display(
        "--near={near}: {} cores that are not next to {} device ({of}), because this step has too few there; \
         use fewer tasks, or let it have the whole node (--exclusive for the job, and no -c)",
        getting(*task, *count),
        either(count, "its", "their")
    )]
    NotNear {
        /// The `--near` value.
        near: String,
        /// The first of them, by its number on this node.
        task: u32,
        /// The number of tasks with such cores.
        count: u32,
        /// The first one's devices.
        of: String,
    },
    /// hwloc knows no place for these devices.
    #[display(
        "hwloc does not know which cores are next to {_0}; tasks with these devices share all cores; ask the \
         administrator to look at `berth topo`"
    )]
    NoPlaceKnown(String),
    /// An `:own` for devices that no variable lists.
    #[display(
        "--near={_0}: only GPUs that --near=gpu names are listed in variables, so :own changes nothing here; \
         leave it out"
    )]
    OwnOfOthers(String),
    /// Slurm counts other devices than hwloc.
    #[display(
        "--near={near}: Slurm counts {} on this node, and this machine has {found}; devices are matched in PCI \
         order; ask the administrator to compare gres.conf with `berth topo`",
        counted(*slurms, "such device")
    )]
    DevicesDiffer {
        /// The `--near` value.
        near: String,
        /// Slurm's count.
        slurms: u32,
        /// hwloc's.
        found: u32,
    },
    /// The tasks request more devices than the step has, so some have the same.
    #[display(
        "--near={near}: the {tasks} tasks on this node request {} devices, and this step has {found}, so some \
         tasks share devices; use a smaller number, or leave it out to divide them evenly",
        u64::from(*tasks) * u64::from(*each)
    )]
    DevicesShared {
        /// The `--near` value.
        near: String,
        /// Tasks on this node.
        tasks: u32,
        /// Devices that each requests.
        each: u32,
        /// Devices of the step.
        found: u32,
    },
    /// Slurm binds fewer devices to some tasks than requested for each.
    #[display(
        "--near={near}: Slurm binds {} to task {task} on this node, which is fewer; the tasks are placed next \
         to those that Slurm binds to them; change --gpus-per-task or --tres-bind, or leave the number out",
        counted(*bound, "such device")
    )]
    FewerBound {
        /// The `--near` value.
        near: String,
        /// The first of them, by its number on this node.
        task: u32,
        /// That task's devices.
        bound: u32,
    },
}

fn getting(task: u32, count: u32) -> String {
    match count {
        1 => format!("task {task} on this node gets"),
        _ => format!("{count} tasks on this node, the first of them task {task}, get"),
    }
}
