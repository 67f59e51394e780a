//! Which hardware threads a step may use, and how many objects it owns whole.
//! In: the allocation and core specialisation. Out: `Available`.
//! Pure. Source: `_get_avail_map` and `_alloc_mask`.

use crate::request::fixes::Fix;
use crate::request::{Allocation, CoreSpec, Request};
use crate::sets::cpuset::CpuSet;
use crate::topology::host::{Host, PuTable};
use crate::topology::shape::Shape;

/// The step's hardware threads, by position in the PU table.
#[derive(Clone, Debug)]
pub struct Available {
    usable: Vec<bool>,
    /// Number of usable slots.
    pub count: u32,
    /// What the step owns whole and in part, before specialised threads are
    /// taken a second time.
    pub owned: Owned,
    /// The step's CPUs for a task that is bound to all of them.
    pub cpus: CpuSet,
    /// Every CPU of the step's cores, also those that it specialised away: no task goes beyond.
    pub all: CpuSet,
}

/// Objects owned whole and in part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Owned {
    /// Every CPU of the host.
    pub whole_host: bool,
    /// Sockets owned whole.
    pub sockets: u32,
    /// Sockets owned in part.
    pub part_sockets: u32,
    /// Cores owned whole.
    pub cores: u32,
    /// Cores owned in part.
    pub part_cores: u32,
    /// Hardware threads.
    pub threads: u32,
}

impl Available {
    /// What `ask` may use of the host.
    #[must_use]
    pub fn of(ask: &Request, host: &Host, table: &PuTable) -> Self {
        let mut usable = owned_slots(&ask.allocation, host, table);
        let everything = usable.clone();
        if let CoreSpec::Threads(count) = ask.core_spec {
            take_special(&mut usable, &host.shape, count, 0);
        }
        let owned = Owned::count(&usable, table, known_cores(&ask.allocation, &host.shape));
        let mut shared = usable.clone();
        if let CoreSpec::Threads(count) = ask.core_spec {
            // `_alloc_mask` takes them again, stopping above core 0 and thread 0.
            take_special(&mut shared, &host.shape, count, 1);
        }
        let of = |slots: &[bool]| {
            let own = (0..).zip(slots).filter(|(_, own)| **own);
            table.cpus(own.map(|(at, _)| at))
        };
        let mut cpus = of(&shared);
        if cpus.is_empty() && ask.rules.fixes.has(Fix::NoCpuLeft) {
            // Only the second taking left none.
            cpus = of(&usable);
        }
        if let (true, Allocation::Cpus(own)) = (cpus.is_empty(), &ask.allocation) {
            // On a machine with holes slurmd's map may know none of the CPUs; they are the
            // step's all the same.
            cpus = own.clone();
        }
        let all = match ask.core_spec {
            CoreSpec::Threads(_) => of(&everything),
            CoreSpec::None | CoreSpec::Cores(_) => cpus.clone(),
        };
        Self {
            count: usable.iter().filter(|own| **own).count() as u32,
            all,
            usable,
            owned,
            cpus,
        }
    }

    /// Whether a slot may be used.
    #[must_use]
    pub fn has(&self, slot: u32) -> bool {
        self.usable.get(slot as usize).copied().unwrap_or(false)
    }

    /// The usable slots among some.
    pub fn among(&self, slots: impl IntoIterator<Item = u32>) -> impl Iterator<Item = u32> {
        slots.into_iter().filter(|slot| self.has(*slot))
    }
}

fn owned_slots(allocation: &Allocation, host: &Host, table: &PuTable) -> Vec<bool> {
    let mut usable = vec![false; table.len()];
    let size = table.len() as u32;
    let own = |cpus: &CpuSet| {
        let has =
            |slot: &crate::topology::host::Slot| slot.cpu.is_some_and(|cpu| cpus.contains(cpu));
        table.slots.iter().map(has).collect()
    };
    match allocation {
        Allocation::Whole => match host.allowed() {
            Some(allowed) => return own(allowed),
            None => usable.fill(true),
        },
        Allocation::Cpus(cpus) => return own(cpus),
        Allocation::Cores { .. } if size == 0 => {}
        Allocation::Cores { cores, configured } => {
            let wrap = host.shape.core_count().min(*configured).max(1);
            for core in cores {
                let first = (core.0 % wrap % size) * table.stride;
                for thread in 0..host.shape.threads {
                    usable[((first + thread) % size) as usize] = true;
                }
            }
        }
    }
    usable
}

/// Takes `count` hardware threads from the top: thread, then core, then socket
/// descending. Counts threads of cores that were not allocated too, as
/// task/affinity does; `lowest` is the last core and thread number it reaches.
fn take_special(usable: &mut [bool], shape: &Shape, count: u32, lowest: u32) {
    let mut left = count;
    for thread in (lowest..shape.threads).rev() {
        for core in (lowest..shape.cores).rev() {
            for socket in (0..shape.sockets).rev() {
                if left == 0 || usable.is_empty() {
                    return;
                }
                let at = (socket * shape.cores + core) * shape.threads + thread;
                let size = usable.len();
                usable[at as usize % size] = false;
                left -= 1;
            }
        }
    }
}

/// Cores that slurmctld or slurmd knows of: on an uneven machine the last ones may be missing
/// there, and a step that has all the others has the whole host.
fn known_cores(allocation: &Allocation, shape: &Shape) -> u32 {
    match allocation {
        Allocation::Cores { configured, .. } => (*configured).max(shape.core_count()),
        Allocation::Whole | Allocation::Cpus(_) => u32::MAX,
    }
}

impl Owned {
    fn count(usable: &[bool], table: &PuTable, known_cores: u32) -> Self {
        let mut owned = Self {
            whole_host: true,
            ..Self::default()
        };
        for socket in &table.sockets {
            let (mut hit, mut miss) = (false, false);
            let known = |slot: &&u32| **slot / table.stride < known_cores;
            owned.whole_host &= socket
                .iter()
                .filter(known)
                .all(|slot| usable[*slot as usize]);
            for core in socket.chunks(table.stride as usize) {
                let mine = core.iter().filter(|slot| usable[**slot as usize]).count();
                owned.threads += mine as u32;
                match mine {
                    0 => {}
                    all if all == core.len() => owned.cores += 1,
                    _ => owned.part_cores += 1,
                }
                hit |= mine > 0;
                miss |= mine < core.len();
            }
            owned.sockets += u32::from(!miss);
            owned.part_sockets += u32::from(hit && miss);
        }
        owned
    }
}
