//! Binds a task inside the object that it is mapped to: to the first object of the bind level with a
//! free CPU, or to several CPUs. In: the mapped object's CPUs. Out: a set of CPUs. Pure.
//!
//! Each task uses up one CPU, whatever it is bound to: so tasks fill one L3 cache before the next.

use std::collections::{BTreeMap, HashMap};

use crate::request::cpu_bind::ObjectKind;
use crate::sets::cpuset::CpuSet;
use crate::strategy::mapping::resolved::Resolved;
use crate::strategy::mapping::share::Share;

/// Binds tasks, and counts them on each bound object.
pub(super) struct Binder<'a> {
    requested: &'a Resolved,
    share: &'a Share<'a>,
    /// Tasks on each object that is bound to, where they are limited.
    bound: HashMap<u32, u32>,
}

/// The CPUs of an object that tasks are mapped to.
pub(super) struct Room {
    /// All of them.
    all: Vec<usize>,
    /// The parts that tasks are bound to, in the order of objects.
    parts: Vec<Part>,
    /// Its first part that may have room.
    next_part: usize,
    /// CPUs that no task uses.
    free: usize,
    /// Sets of several CPUs by the first of them: after a refill tasks get the same ones again.
    several: HashMap<usize, CpuSet>,
}

/// The part of a mapped object that lies in one object of the bind level.
struct Part {
    object: u32,
    cpus: Vec<usize>,
    /// CPUs that tasks use.
    used: usize,
    /// Made when the first task is bound to it.
    set: Option<CpuSet>,
}

impl Room {
    /// All CPUs are free again.
    pub(super) fn refill(&mut self) {
        self.free = self.all.len();
        self.next_part = 0;
        self.parts.iter_mut().for_each(|part| part.used = 0);
    }
}

impl<'a> Binder<'a> {
    pub(super) fn new(requested: &'a Resolved, share: &'a Share<'a>) -> Self {
        Self {
            requested,
            share,
            bound: HashMap::new(),
        }
    }

    /// The objects of a kind that have a CPU of the step.
    pub(super) fn rooms(&self, kind: ObjectKind) -> Vec<Room> {
        let objects = self.share.by_object(kind).into_iter();
        objects.map(|cpus| self.room(cpus)).collect()
    }

    /// The whole share.
    pub(super) fn whole(&self) -> Room {
        self.room((0..self.share.len()).collect())
    }

    fn room(&self, all: Vec<usize>) -> Room {
        // Several CPUs of a task come from anywhere in the room.
        let kind = self.requested.bind.filter(|_| self.requested.each == 1);
        let mut of_object: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for cpu in all.iter().copied() {
            // A thread of a core that is one CPU stands for all of it.
            if let Some(object) = kind.and_then(|kind| self.share.object(kind, cpu)) {
                of_object.entry(object).or_default().push(cpu);
            }
        }
        let part = |(object, cpus)| Part {
            object,
            cpus,
            used: 0,
            set: None,
        };
        let parts = of_object.into_iter().map(part).collect();
        Room {
            free: all.len(),
            all,
            parts,
            next_part: 0,
            several: HashMap::new(),
        }
    }

    /// Whether so many CPUs are free; where nothing is bound no CPU is counted.
    pub(super) fn has_free(&self, room: &Room, count: u32) -> bool {
        self.requested.bind.is_none() || room.free >= count as usize
    }

    /// Whether so many CPUs are free. With `overload-allowed` all CPUs count as free once more if they are too few.
    pub(super) fn has_room(&self, room: &mut Room, count: u32) -> bool {
        if !self.has_free(room, count) && self.requested.overload {
            room.refill();
        }
        self.has_free(room, count)
            || (self.requested.overload && room.free >= self.requested.each as usize)
    }

    /// The CPUs of one more task; `None` if it stays unbound.
    pub(super) fn bind(&mut self, room: &mut Room) -> Option<CpuSet> {
        self.requested.bind?;
        let each = self.requested.each as usize;
        if each > 1 {
            return self.several(room, each);
        }
        let mut found = self.part(room);
        if found.is_none() && self.requested.overload && room.free < room.all.len() {
            room.refill();
            found = self.part(room);
        }
        let part = &mut room.parts[found?];
        let cpu = part.cpus[part.used];
        part.used += 1;
        room.free -= 1;
        if self.requested.limit != u32::MAX {
            *self.bound.entry(part.object).or_default() += 1;
        }
        if self.requested.bind == Some(ObjectKind::Pu) {
            // Its siblings stay idle where the core is one CPU.
            return self.share.numbers(cpu).next().map(CpuSet::one);
        }
        let set = part.set.get_or_insert_with(|| self.share.set(&part.cpus));
        Some(set.clone())
    }

    /// The first part with room for one more task. A part that is full stays so until all CPUs are
    /// free again.
    fn part(&self, room: &mut Room) -> Option<usize> {
        loop {
            let part = room.parts.get(room.next_part)?;
            let tasks = self.bound.get(&part.object).copied().unwrap_or(0);
            if part.used < part.cpus.len() && tasks < self.requested.limit {
                return Some(room.next_part);
            }
            room.next_part += 1;
        }
    }

    /// The lowest free CPUs, adjacent or not.
    fn several(&self, room: &mut Room, each: usize) -> Option<CpuSet> {
        if room.free < each && self.requested.overload {
            room.refill();
        }
        let first = room.all.len() - room.free;
        let cpus = room.all.get(first..first + each)?;
        room.free -= each;
        let set = room.several.entry(first);
        Some(set.or_insert_with(|| self.share.set(cpus)).clone())
    }
}
