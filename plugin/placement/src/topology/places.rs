//! Where each hardware thread lies: its object of every kind, by number. In: a machine. Out: one row
//! for each hardware thread, in hwloc's logical order of the whole topology. Pure.

use crate::sets::ids::CpuId;
use crate::topology::machine::Machine;
use crate::topology::object::ObjectKind;

/// The objects of every hardware thread.
#[derive(Clone, Debug)]
pub struct Places {
    /// Kernel numbers.
    cpus: Vec<CpuId>,
    /// For each kind the object of each of them, as a position in [`Machine::objects`].
    of: [Vec<u32>; KINDS],
    /// For each kind the number of its objects.
    counts: [u32; KINDS],
}

const KINDS: usize = ObjectKind::ALL.len();

/// The number of a thread that is in no object of a kind.
const NONE: u32 = u32::MAX;

impl Places {
    /// Where the threads of a machine lie. Of objects that share threads the smallest counts.
    #[must_use]
    pub fn of(machine: &Machine) -> Self {
        let threads = machine.objects(ObjectKind::Pu);
        let cpus: Vec<CpuId> = threads.iter().filter_map(|one| one.lowest()).collect();
        let size = cpus.iter().max().map_or(0, |cpu| cpu.index() + 1);
        let mut place_of = vec![NONE; size];
        for (place, cpu) in (0..).zip(&cpus) {
            place_of[cpu.index()] = place;
        }
        let mut counts = [0; KINDS];
        let of = ObjectKind::ALL.map(|kind| {
            let objects = machine.objects(kind);
            counts[kind as usize] = objects.len() as u32;
            let mut order: Vec<_> = (0_u32..).zip(&objects).collect();
            // What is written last stays.
            order.sort_by_key(|(_, cpus)| std::cmp::Reverse(cpus.count()));
            let mut of = vec![NONE; cpus.len()];
            for (object, members) in order {
                let places = members.iter().filter_map(|cpu| place_of.get(cpu.index()));
                for place in places.filter(|place| **place != NONE) {
                    of[*place as usize] = object;
                }
            }
            of
        });
        Self { cpus, of, counts }
    }

    /// Every hardware thread, in order.
    #[must_use]
    pub fn cpus(&self) -> &[CpuId] {
        &self.cpus
    }

    /// The object of a kind that a thread lies in, by the thread's place.
    #[must_use]
    pub fn object(&self, kind: ObjectKind, place: usize) -> Option<u32> {
        let object = self.of[kind as usize].get(place).copied();
        object.filter(|object| *object != NONE)
    }

    /// How many objects of a kind the machine has.
    #[must_use]
    pub fn count(&self, kind: ObjectKind) -> u32 {
        self.counts[kind as usize]
    }
}
