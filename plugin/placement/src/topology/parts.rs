//! The pieces of a machine as a discoverer found them, before they are checked, and why a machine cannot be made of
//! them. In: plain values. Out: the same with other CPU numbers, or an error. Pure data.

use derive_more::Display;

use crate::sets::cpuset::CpuSet;
use crate::sets::ids::{CpuId, NumaId};
use crate::sets::limits::MAX_DEVICES;
#[cfg(feature = "serde")]
use crate::sets::serialized;
use crate::topology::devices::Device;
#[cfg(feature = "serde")]
use serde::{Deserialize, Serialize};

/// The pieces of a machine. Only packages are needed; `..Parts::default()` leaves the rest unknown. The names and the
/// order of its fields are those of the machine file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize))]
pub struct Parts {
    /// CPUs that the kernel and the cgroup permit; offline ones are in no core.
    #[cfg_attr(feature = "serde", serde(with = "serialized::list"))]
    pub allowed: CpuSet,
    /// In slurmd's order. PUs outside every package form one more, the last.
    pub packages: Vec<Package>,
    /// NUMA nodes in OS order, including those without CPUs of their own.
    #[cfg_attr(feature = "serde", serde(rename = "numa"))]
    pub numa_nodes: Vec<NumaNode>,
    /// CPUs under each L3 cache, in slurmd's order; empty if none is reported.
    #[cfg_attr(feature = "serde", serde(rename = "l3", with = "serialized::lists"))]
    pub l3_caches: Vec<CpuSet>,
    /// Distances between these nodes, a row for each in the same order; empty if they are unknown. 0 is
    /// a distance that is not known.
    #[cfg_attr(feature = "serde", serde(default))]
    pub numa_distances: Vec<Vec<u32>>,
    /// CPUs of each die, in hwloc's order; empty if none is reported.
    #[cfg_attr(feature = "serde", serde(with = "serialized::lists", default))]
    pub dies: Vec<CpuSet>,
    /// CPUs under each L2 cache, in hwloc's order.
    #[cfg_attr(
        feature = "serde",
        serde(rename = "l2", with = "serialized::lists", default)
    )]
    pub l2_caches: Vec<CpuSet>,
    /// CPUs under each L1 data cache, in hwloc's order.
    #[cfg_attr(
        feature = "serde",
        serde(rename = "l1", with = "serialized::lists", default)
    )]
    pub l1_caches: Vec<CpuSet>,
    /// All CPUs in hwloc's logical order of the whole topology; empty if slurmd's order, which
    /// comes from a topology without L1 and L2 caches, is the same.
    #[cfg_attr(feature = "serde", serde(rename = "order", default))]
    pub whole_order: Vec<CpuId>,
    /// Kinds of cores, slowest first; empty if they are unknown.
    #[cfg_attr(feature = "serde", serde(default))]
    pub kinds: Vec<CoreKind>,
    /// CPUs that the kernel keeps free of ordinary work (`isolcpus`, `nohz_full`).
    #[cfg_attr(feature = "serde", serde(with = "serialized::list", default))]
    pub isolated: CpuSet,
    /// CPUs that other software holds for itself by a cgroup outside of Slurm's.
    #[cfg_attr(feature = "serde", serde(with = "serialized::list", default))]
    pub held: CpuSet,
    /// Devices in PCI order, then those that are not on a PCI bus.
    #[cfg_attr(feature = "serde", serde(default))]
    pub devices: Vec<Device>,
}

/// A processor chip.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize), serde(transparent))]
pub struct Package {
    /// Its cores, in topology order.
    pub cores: Vec<Core>,
}

/// A core: one or more hardware threads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize), serde(transparent))]
pub struct Core {
    /// Kernel numbers of its hardware threads, in topology order.
    pub pus: Vec<CpuId>,
}

/// Memory with the CPUs near it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize))]
pub struct NumaNode {
    /// The kernel's number.
    pub id: NumaId,
    /// CPUs near it; empty for a node that has only memory.
    #[cfg_attr(feature = "serde", serde(with = "serialized::list"))]
    pub cpus: CpuSet,
}

impl NumaNode {
    /// The domain of memory that these nodes are. Nodes that share one set of CPUs are one domain, under the first one's
    /// number.
    #[must_use]
    pub fn only_domain(near: &[&Self]) -> Option<NumaId> {
        let first = near.first()?;
        let same = |node: &&Self| node.cpus == first.cpus;
        near.iter().all(same).then_some(first.id)
    }
}

impl Parts {
    /// The pieces with these CPUs alone.
    #[must_use]
    pub(super) fn only(&self, cpus: &CpuSet) -> Self {
        let mut kept = self.renumbered(|cpu| cpus.contains(cpu).then_some(cpu));
        for package in &mut kept.packages {
            package.cores.retain(|core| !core.pus.is_empty());
        }
        kept.packages.retain(|package| !package.cores.is_empty());
        let caches = [
            &mut kept.l3_caches,
            &mut kept.l2_caches,
            &mut kept.l1_caches,
        ];
        for sets in caches.into_iter().chain([&mut kept.dies]) {
            sets.retain(|set| !set.is_empty());
        }
        kept.kinds.retain(|kind| !kind.cpus.is_empty());
        kept
    }

    /// Objects of one kind share no CPU, which also bounds how many there are.
    pub(super) fn check(&self) -> Result<(), MachineError> {
        let kinds = self.kinds.iter().map(|kind| &kind.cpus);
        disjoint("dies", &self.dies)?;
        disjoint("L3 caches", &self.l3_caches)?;
        disjoint("L2 caches", &self.l2_caches)?;
        disjoint("L1 caches", &self.l1_caches)?;
        disjoint("kinds of cores", kinds)?;
        let nodes = self.numa_nodes.len();
        let rows = &self.numa_distances;
        let is_square = rows.len() == nodes && rows.iter().all(|row| row.len() == nodes);
        if !rows.is_empty() && !is_square {
            return Err(MachineError::Distances { nodes });
        }
        if self.devices.len() > MAX_DEVICES {
            return Err(MachineError::TooManyDevices(self.devices.len()));
        }
        Ok(())
    }

    /// These parts with other CPU numbers; a CPU without a new number is left out.
    pub(super) fn renumbered(&self, cpu: impl Fn(CpuId) -> Option<CpuId>) -> Self {
        let mut parts = self.clone();
        let renumber = |list: &mut Vec<CpuId>| {
            *list = list.iter().copied().filter_map(&cpu).collect();
        };
        let cores = parts
            .packages
            .iter_mut()
            .flat_map(|package| &mut package.cores);
        cores.for_each(|core| renumber(&mut core.pus));
        renumber(&mut parts.whole_order);
        for set in parts.sets_mut() {
            *set = set.iter().filter_map(&cpu).collect();
        }
        parts
    }

    /// Every set of CPUs in it.
    fn sets_mut(&mut self) -> impl Iterator<Item = &mut CpuSet> {
        let numa_nodes = self.numa_nodes.iter_mut().map(|node| &mut node.cpus);
        let kinds = self.kinds.iter_mut().map(|kind| &mut kind.cpus);
        let devices = self.devices.iter_mut().map(|device| &mut device.cpus);
        [&mut self.allowed, &mut self.isolated, &mut self.held]
            .into_iter()
            .chain(&mut self.l3_caches)
            .chain(&mut self.dies)
            .chain(&mut self.l2_caches)
            .chain(&mut self.l1_caches)
            .chain(numa_nodes)
            .chain(kinds)
            .chain(devices)
    }
}

fn disjoint<'a>(
    what: &'static str,
    sets: impl IntoIterator<Item = &'a CpuSet>,
) -> Result<(), MachineError> {
    let mut seen = CpuSet::new();
    for set in sets {
        if let Some(cpu) = set.intersection(&seen).lowest() {
            return Err(MachineError::Shared { cpu, what });
        }
        seen.insert_all(set);
    }
    Ok(())
}

/// Cores of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize))]
pub struct CoreKind {
    /// Its CPUs.
    #[cfg_attr(feature = "serde", serde(with = "serialized::list"))]
    pub cpus: CpuSet,
    /// hwloc's rank: 0 is the slowest and most frugal kind. `None` where hwloc knows no order.
    pub rank: Option<u32>,
    /// hwloc's names and values, such as `CoreType` `IntelAtom`, `FrequencyMaxMHz` `3800`.
    #[cfg_attr(feature = "serde", serde(default))]
    pub infos: Vec<(String, String)>,
}

impl CoreKind {
    /// A value by its name.
    #[must_use]
    pub fn info(&self, name: &str) -> Option<&str> {
        let found = self.infos.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// A machine that cannot exist.
#[derive(Clone, Debug, PartialEq, Eq, Display)]
pub enum MachineError {
    /// There is no hardware thread.
    #[display("the machine description has no CPU; check the file or the synthetic string")]
    NoCpu,
    /// One CPU number stands in two cores.
    #[display(
        "the machine description has CPU {_0} in two cores; it was edited or cut: export it again with lstopo"
    )]
    CpuTwice(CpuId),
    /// One CPU stands in two objects of one kind.
    #[display(
        "the machine description has CPU {cpu} in two {what}; it was edited or cut: export it again with lstopo"
    )]
    Shared {
        /// The CPU.
        cpu: CpuId,
        /// The kind, in words: `L2 caches`.
        what: &'static str,
    },
    /// The distances are not one for each two NUMA nodes.
    #[display(
        "the machine description has {nodes} NUMA nodes and not one distance for each two of them; it was \
         edited or cut: export it again with lstopo"
    )]
    Distances {
        /// NUMA nodes.
        nodes: usize,
    },
    /// There are more devices than any node has.
    #[display("the machine description has {_0} devices, and {MAX_DEVICES} is the limit")]
    TooManyDevices(usize),
}

impl std::error::Error for MachineError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_of_two_kinds_is_one_domain() {
        let node = |id, list| NumaNode {
            id: NumaId(id),
            cpus: CpuSet::from_list(list).unwrap(),
        };
        let (near, other, far) = (node(0, "0-3"), node(4, "0-3"), node(1, "4-7"));
        assert_eq!(NumaNode::only_domain(&[&near, &other]), Some(NumaId(0)));
        assert_eq!(NumaNode::only_domain(&[&near, &far]), None);
        assert_eq!(NumaNode::only_domain(&[]), None);
    }
}
