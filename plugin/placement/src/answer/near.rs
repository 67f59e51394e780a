//! The devices that a `--near` gives to each task, and how far the task's cores are from them.
//! Pure data; the command shows it, and vendors' variables are written from it.

use derive_more::Display;

use crate::sets::cpuset::CpuSet;
use crate::topology::object::ObjectKind;

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
