//! The host a step is planned on: slurmd's shape, and the machine tree if known.
//! Out: the PU table, every hardware thread in abstract order with its parents.
//! Pure; the tree supplies parents only, matched by kernel number.

use std::sync::Arc;

use crate::request::fixes::{Fix, Fixes};
use crate::sets::cpuset::{BITS, CpuSet};
use crate::sets::ids::{CpuId, NumaId};
use crate::topology::machine::{Machine, SocketKind};
use crate::topology::shape::Shape;

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
    /// Neighbouring slots that count as one socket when a mask is widened, where it
    /// is not `sockets`: task/affinity divides its whole map (`_blot_mask_sockets`).
    pub(crate) widened_by: Option<u32>,
    /// The walk in blocks, where a third level changes it.
    order: Option<Vec<u32>>,
}

impl PuTable {
    /// The table by slurmd's arithmetic, mended by the fixes that are on.
    #[must_use]
    pub fn new(host: &Host, fixes: Fixes) -> Self {
        let mut table = Self::by_arithmetic(&host.shape);
        if !fixes.has(Fix::RealSockets) {
            table.widened_by = Some(widened_by(&host.shape));
        }
        let Some(machine) = &host.machine else {
            return table;
        };
        if fixes.has(Fix::HoleNumbers) {
            table.mend_numbers(machine, host);
        }
        // By numbers that are not theirs CPUs would be found on the wrong sockets.
        let numbered = fixes.has(Fix::HoleNumbers) || !host.shape.has_duplicates();
        if fixes.has(Fix::RealSockets) && numbered {
            table.use_real_sockets(machine, host.socket);
        }
        table
    }

    fn by_arithmetic(shape: &Shape) -> Self {
        let stride = shape.stride.max(1);
        let per_socket = (shape.cores * stride).max(1);
        let size = shape.map.len() as u32;
        let known = |cpu: &CpuId| cpu.0 < size;
        let slots = (0..).zip(&shape.map).map(|(at, cpu): (u32, _)| Slot {
            // `_lllp_map_abstract_mask` drops a number past its last bit.
            cpu: Some(*cpu).filter(known),
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
            widened_by: None,
            order: None,
        }
    }

    /// On machines with holes in their numbering slurmd's map has duplicates; the
    /// tree's core order is the one it meant. Elsewhere only numbers past the
    /// map's end are put back.
    fn mend_numbers(&mut self, machine: &Machine, host: &Host) {
        if host.shape.has_duplicates() {
            self.renumber(machine, host.socket);
            return;
        }
        for (slot, cpu) in self.slots.iter_mut().zip(&host.shape.map) {
            slot.cpu = Some(*cpu);
        }
    }

    /// Sockets from the tree, matched by kernel number.
    fn use_real_sockets(&mut self, machine: &Machine, kind: SocketKind) {
        let parents = machine.socket_of_cpu(kind);
        let socket_of = |slot: &Slot| parents.get(slot.cpu?.index()).copied().flatten();
        let Some(of_slot) = self.slots.iter().map(socket_of).collect::<Option<Vec<_>>>() else {
            // The tree is of another machine: arithmetic is the better guess.
            return;
        };
        let count = of_slot.iter().max().map_or(0, |last| last.index() + 1);
        let mut sockets = vec![Vec::new(); count];
        for ((at, slot), socket) in (0..).zip(&mut self.slots).zip(of_slot) {
            slot.socket = socket.0;
            sockets[socket.index()].push(at);
        }
        self.sockets = sockets;
    }

    /// Orders the hardware threads of each socket by the third level of `-m`:
    /// `chunk` threads of a core, then as many of the next, then round again.
    pub(crate) fn order_threads(&mut self, chunk: u32) {
        let (stride, chunk) = (self.stride as usize, chunk.max(1) as usize);
        for socket in &mut self.sockets {
            let cores: Vec<_> = socket.chunks(stride).collect();
            *socket = (0..stride)
                .step_by(chunk)
                .flat_map(|first| {
                    let turn = move |core: &&[u32]| {
                        let end = (first + chunk).min(core.len());
                        core.get(first..end).unwrap_or_default().to_vec()
                    };
                    cores.iter().flat_map(turn).collect::<Vec<_>>()
                })
                .collect();
        }
        self.order = Some(self.sockets.concat());
    }

    /// The slot at a place of the whole walk in blocks; `None` past its end.
    pub(crate) fn in_order(&self, place: u32) -> Option<u32> {
        match &self.order {
            None => (place < self.slots.len() as u32).then_some(place),
            Some(order) => order.get(place as usize).copied(),
        }
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
        let mut cpus = CpuSet::new();
        // Neighbouring slots mostly have neighbouring numbers: they are added by the word.
        let (mut number, mut bits) = (0, 0);
        let numbers = slots
            .into_iter()
            .filter_map(|slot| self.slots.get(slot as usize)?.cpu);
        for cpu in numbers {
            let at = cpu.index() / BITS as usize;
            if at != number {
                cpus.insert_word(number, bits);
                (number, bits) = (at, 0);
            }
            bits |= 1 << (cpu.0 % BITS);
        }
        cpus.insert_word(number, bits);
        cpus
    }

    /// Adds the kernel number of a slot, where it has one.
    pub(crate) fn add_cpu(&self, slot: u32, cpus: &mut CpuSet) {
        if let Some(cpu) = self.slots.get(slot as usize).and_then(|slot| slot.cpu) {
            cpus.insert(cpu);
        }
    }
}

fn widened_by(shape: &Shape) -> u32 {
    let single = shape.cores * shape.stride < 2;
    let parts = if single { u32::MAX } else { shape.sockets };
    (shape.map.len() as u32 / parts.max(1)).max(1)
}
