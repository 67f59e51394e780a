//! The host as slurmd counts it: sockets, cores, threads, and its map from
//! abstract CPUs to kernel numbers (`conf->block_map`).
//! In: slurmd's own values, or a machine. Out: the count, as slurmd makes it. Pure.

use derive_more::Display;

use crate::sets::ids::CpuId;
use crate::topology::machine::{Machine, SocketKind};

/// slurmd's count of the host; as a text `S:C:T 2:4:2`, as Slurm writes sockets, cores a socket and threads a core.
#[derive(Clone, Debug, Default, PartialEq, Eq, Display)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default)
)]
#[display("S:C:T {sockets}:{cores}:{threads}")]
pub struct Shape {
    /// Sockets.
    pub sockets: u32,
    /// Cores of each socket.
    pub cores: u32,
    /// Hardware threads of each core that steps may use (`conf->threads`).
    pub threads: u32,
    /// Entries of the map that belong to each core; `threads` or more.
    pub stride: u32,
    /// slurm.conf counts a core as one CPU (`CPUs=` equals sockets × cores).
    pub cpus_are_cores: bool,
    /// Abstract CPU (the position) to kernel number.
    pub map: Vec<CpuId>,
}

impl Shape {
    /// Counts a machine as slurmd does (`xcpuinfo_hwloc_topo_get`): by division,
    /// and with the identity where a kernel number is beyond the number of CPUs.
    #[must_use]
    pub fn of(machine: &Machine, kind: SocketKind) -> Self {
        let sockets = machine.sockets(kind);
        let cpu_count = machine.cpus().count();
        let socket_count = sockets.len().max(1);
        let core_count = machine.core_count().max(1);
        let threads = (cpu_count / core_count).max(1);
        let mut map: Vec<_> = (0..cpu_count as u32).map(CpuId).collect();
        for (core, &idx) in sockets.iter().flatten().enumerate() {
            for (thread, &cpu) in machine.pus_of(idx).iter().take(threads).enumerate() {
                let known = cpu.index() < cpu_count;
                if let Some(entry) = map.get_mut(core * threads + thread).filter(|_| known) {
                    *entry = cpu;
                }
            }
        }
        let cores = (core_count / socket_count).max(1);
        Self {
            sockets: socket_count as u32,
            cores: cores as u32,
            threads: threads as u32,
            stride: threads as u32,
            cpus_are_cores: cpu_count == socket_count * cores,
            map,
        }
    }

    /// Cores of the whole host, as slurmd counts them.
    #[must_use]
    pub fn core_count(&self) -> u32 {
        self.sockets * self.cores
    }

    /// The entries of the map that steps may use of a core; past its end the map begins again.
    pub fn counted_for(&self, core: u32) -> impl Iterator<Item = CpuId> + '_ {
        let size = self.map.len().max(1);
        let first = core as usize * self.stride as usize;
        let entries = (first..first + self.threads as usize).map(move |at| at % size);
        entries.filter_map(|at| self.map.get(at).copied())
    }

    /// Bits of a mask in the launch message: at least one for each abstract CPU.
    #[must_use]
    pub fn mask_width(&self) -> u32 {
        self.map.len() as u32
    }

    /// Whether slurmd has counted the hardware that this shape was made of: the same sockets,
    /// cores and map. slurm.conf may still allow fewer threads of a core.
    #[must_use]
    pub fn is_hardware_of(&self, counted: &Self) -> bool {
        let size = |shape: &Self| (shape.sockets, shape.cores, shape.stride);
        size(self) == size(counted) && self.map == counted.map
    }

    /// Whether two shapes differ at most in their maps.
    #[must_use]
    pub fn has_counts_of(&self, other: &Self) -> bool {
        let without_map = |shape: &Self| Self {
            map: Vec::new(),
            ..*shape
        };
        without_map(self) == without_map(other)
    }

    /// Whether two abstract CPUs share a kernel number: slurmd makes such maps
    /// on machines with holes in their numbering.
    #[must_use]
    pub fn has_duplicates(&self) -> bool {
        let distinct: crate::CpuSet = self.map.iter().copied().collect();
        distinct.count() < self.map.len()
    }
}
