//! The host a step is planned on: slurmd's shape, and the machine tree if known.
//! Out: the PU table, every hardware thread in abstract order with its parents.
//! Pure; the tree supplies parents only, matched by kernel number.

use std::sync::Arc;

use crate::cpuset::CpuSet;
use crate::ids::{CpuId, NumaId};
use crate::machine::{Machine, SocketKind};
use crate::request::Compat;
use crate::shape::Shape;

/// What the planner knows of the host.
#[derive(Clone, Debug)]
pub struct Host {
    /// As slurmd counts it.
    pub shape: Shape,
    /// The tree; without it sockets are taken by arithmetic, and memory
    /// domains are unknown.
    pub machine: Option<Arc<Machine>>,
    /// What slurmd calls a socket.
    pub socket: SocketKind,
}

impl Host {
    /// A machine as slurmd would count it.
    #[must_use]
    pub fn of(machine: Machine, socket: SocketKind) -> Self {
        Self {
            shape: Shape::of(&machine, socket),
            machine: Some(Arc::new(machine)),
            socket,
        }
    }

    /// Memory domains; none where the tree is unknown.
    #[must_use]
    pub fn memory_domains(&self) -> Vec<(NumaId, CpuSet)> {
        self.machine
            .as_ref()
            .map(|machine| machine.memory_domains())
            .unwrap_or_default()
    }

    /// CPUs permitted by kernel and cgroup, where known.
    #[must_use]
    pub fn allowed(&self) -> Option<&CpuSet> {
        self.machine.as_deref().map(Machine::allowed)
    }
}

/// One hardware thread in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// Kernel number; `None` where slurmd's map points outside itself.
    pub cpu: Option<CpuId>,
    /// Position of its core.
    pub core: u32,
    /// Position of its socket.
    pub socket: u32,
}

/// Every hardware thread in Slurm's abstract order. The position is the abstract CPU.
#[derive(Clone, Debug)]
pub struct PuTable {
    /// The slots.
    pub slots: Vec<Slot>,
    /// Positions of each socket's slots, in the order the layout walks them.
    pub sockets: Vec<Vec<u32>>,
    /// Slots of one core.
    pub stride: u32,
    /// Number of cores.
    pub core_count: u32,
}

impl PuTable {
    /// The table under the given behaviour: by slurmd's arithmetic for
    /// `compat=affinity`, with the tree's sockets otherwise.
    #[must_use]
    pub fn new(host: &Host, compat: Compat) -> Self {
        let table = Self::by_arithmetic(&host.shape);
        match (&host.machine, compat) {
            (Some(machine), Compat::Berth) => table.with_parents(machine, host),
            _ => table,
        }
    }

    fn by_arithmetic(shape: &Shape) -> Self {
        let stride = shape.stride.max(1);
        let per_socket = (shape.cores * stride).max(1);
        let size = shape.map.len() as u32;
        let known = |cpu: &CpuId| cpu.0 < size;
        let slots = (0..).zip(&shape.map).map(|(at, cpu): (u32, _)| Slot {
            // `_lllp_map_abstract_mask` drops a number past its last bit.
            cpu: Some(*cpu).filter(known),
            core: at / stride,
            socket: (at / per_socket).min(shape.sockets.saturating_sub(1)),
        });
        let sockets = (0..shape.sockets)
            .map(|socket| {
                (0..per_socket)
                    .map(|at| (socket * per_socket + at) % size.max(1))
                    .collect()
            })
            .collect();
        Self {
            slots: slots.collect(),
            sockets,
            stride,
            core_count: shape.core_count().max(size.div_ceil(stride)),
        }
    }

    /// Sockets from the tree, matched by kernel number. Where slurmd's map has
    /// duplicates (machines with holes in the numbering), the kernel numbers
    /// too come from the tree, whose core order is the one slurmd meant.
    fn with_parents(mut self, machine: &Machine, host: &Host) -> Self {
        if host.shape.has_duplicates() {
            self.renumber(machine, host.socket);
        } else {
            for (slot, cpu) in self.slots.iter_mut().zip(&host.shape.map) {
                slot.cpu = Some(*cpu);
            }
        }
        let parents = machine.socket_of_cpu(host.socket);
        let socket_of = |slot: &Slot| parents.get(slot.cpu?.index()).copied().flatten();
        if self.slots.iter().any(|slot| socket_of(slot).is_none()) {
            // The tree is of another machine: arithmetic is the better guess.
            return self;
        }
        let count = parents
            .iter()
            .flatten()
            .max()
            .map_or(1, |last| last.index() + 1);
        let mut sockets = vec![Vec::new(); count];
        for (at, slot) in (0..).zip(&mut self.slots) {
            if let Some(socket) = socket_of(slot) {
                slot.socket = socket.0;
                sockets[socket.index()].push(at);
            }
        }
        self.sockets = sockets;
        self
    }

    fn renumber(&mut self, machine: &Machine, kind: SocketKind) {
        let stride = self.stride as usize;
        let cores = machine.sockets(kind).into_iter().flatten();
        for (slots, core) in self.slots.chunks_mut(stride).zip(cores) {
            let pus = machine.pus_of(core);
            for (thread, slot) in slots.iter_mut().enumerate() {
                slot.cpu = pus.get(thread).copied();
            }
        }
    }

    /// Number of slots.
    #[must_use]
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether the host has no CPU: nothing can be planned there.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Kernel numbers of some slots.
    #[must_use]
    pub fn cpus(&self, slots: impl IntoIterator<Item = u32>) -> CpuSet {
        slots
            .into_iter()
            .filter_map(|at| self.slots.get(at as usize)?.cpu)
            .collect()
    }
}
