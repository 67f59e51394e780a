//! Gives each task a place: maps tasks to objects (round and round, N on each, or one after the other in the whole
//! share) or to the CPUs of a `pe-list=`, by their logical number within the share; and ranks the places. In: the
//! mapping, the share. Out: a place for each task, in mapping order or by local id, or why not. Pure.

use crate::answer::mapping::{MappingRefusal, Short};
use crate::request::cpu_bind::ObjectKind;
use crate::request::mapping::{PeList, RankBy, Target};
use crate::sets::cpuset::CpuSet;
use crate::strategy::mapping::bind::{Binder, Room};
use crate::strategy::mapping::resolved::Resolved;
use crate::strategy::mapping::share::Share;

/// One task's place: the object that it is mapped to, by the order of objects, and its CPUs.
pub(super) struct Place {
    object: usize,
    /// `None` if it stays unbound.
    pub(super) cpus: Option<CpuSet>,
}

/// A place for each task.
pub(super) fn on_objects(
    requested: &Resolved,
    share: &Share<'_>,
) -> Result<Vec<Place>, MappingRefusal> {
    let mut mapper = Mapper {
        requested,
        binder: Binder::new(requested, share),
        places: Vec::with_capacity(requested.tasks as usize),
    };
    match &requested.target {
        Target::Level(kind) => mapper.round_and_round(*kind)?,
        Target::PerObject {
            count,
            of: Some(kind),
        } => mapper.several(*count, *kind)?,
        Target::PerObject { count, of: None } => mapper.several_on_the_node(*count)?,
        Target::Slot | Target::Node | Target::List { .. } => {
            mapper.one_after_the_other(requested.tasks)?;
        }
    }
    Ok(mapper.places)
}

struct Mapper<'a> {
    requested: &'a Resolved,
    binder: Binder<'a>,
    places: Vec<Place>,
}

impl Mapper<'_> {
    fn is_done(&self) -> bool {
        self.places.len() >= self.requested.tasks as usize
    }

    /// Maps one more task to an object.
    fn add(&mut self, object: usize, room: &mut Room) -> Result<(), MappingRefusal> {
        let cpus = self.binder.bind(room);
        if cpus.is_none() && self.requested.bind.is_some() && self.requested.required {
            // CPUs are left, but every object has all the tasks that it may have.
            return Err(
                match self.binder.has_free(room, 1) && self.requested.limit != u32::MAX {
                    true => self.too_many(Short::Limit),
                    false => self.too_many(self.short()),
                },
            );
        }
        self.places.push(Place { object, cpus });
        Ok(())
    }

    /// One task on each object, then again; an object that is full is passed over.
    fn round_and_round(&mut self, kind: ObjectKind) -> Result<(), MappingRefusal> {
        let mut rooms = self.binder.rooms(kind);
        while !self.is_done() {
            let before = self.places.len();
            for (object, room) in rooms.iter_mut().enumerate() {
                if !self.is_done() && self.binder.has_room(room, self.requested.each) {
                    self.add(object, room)?;
                }
            }
            if self.places.len() == before {
                return Err(self.too_many(self.short()));
            }
        }
        Ok(())
    }

    /// `count` tasks on each object of a kind with room for all of them.
    fn several(&mut self, count: u32, kind: ObjectKind) -> Result<(), MappingRefusal> {
        let mut rooms = self.binder.rooms(kind);
        for (object, room) in rooms.iter_mut().enumerate() {
            let needed = count.saturating_mul(self.requested.each);
            if !self.binder.has_room(room, needed) {
                continue;
            }
            let left = self
                .requested
                .tasks
                .saturating_sub(self.places.len() as u32);
            for _ in 0..count.min(left) {
                self.add(object, room)?;
            }
        }
        match self.is_done() {
            true => Ok(()),
            false => Err(self.too_many(self.short())),
        }
    }

    /// `count` tasks on the node, if it has room for all of them.
    fn several_on_the_node(&mut self, count: u32) -> Result<(), MappingRefusal> {
        let needed = count.saturating_mul(self.requested.each);
        let mut whole = self.binder.whole();
        if !self.binder.has_room(&mut whole, needed) {
            return Err(self.too_many(self.short()));
        }
        self.one_after_the_other(count)?;
        match self.is_done() {
            true => Ok(()),
            false => Err(self.too_many(self.short())),
        }
    }

    /// At most so many tasks in the whole share. Several CPUs of one task never come from two
    /// packages.
    fn one_after_the_other(&mut self, most: u32) -> Result<(), MappingRefusal> {
        let mut rooms = match self.requested.each {
            1 => vec![self.binder.whole()],
            _ => self.binder.rooms(ObjectKind::Package),
        };
        while !self.is_done() && self.places.len() < most as usize {
            let fits = |room: &&mut Room| self.binder.has_free(room, self.requested.each);
            let mut found = rooms.iter_mut().find(fits);
            if found.is_none() && self.requested.overload {
                rooms.iter_mut().for_each(Room::refill);
                found = rooms.iter_mut().find(fits);
            }
            match found {
                Some(room) => self.add(0, room)?,
                None => return Err(self.too_many(self.short())),
            }
        }
        Ok(())
    }

    fn short(&self) -> Short {
        match self.requested.target {
            Target::PerObject { .. } => Short::PerObject,
            _ => Short::Cpus,
        }
    }

    fn too_many(&self, short: Short) -> MappingRefusal {
        MappingRefusal::TooMany {
            tasks: self.requested.tasks,
            fits: self.places.len() as u32,
            short,
            among: self.requested.counted(),
        }
    }
}

/// The whole list for each task, or with `ordered` one entry for each.
pub(super) fn from_list(
    requested: &Resolved,
    share: &Share<'_>,
    (list, ordered): (&PeList, bool),
) -> Result<Vec<Place>, MappingRefusal> {
    let numbers: Vec<usize> = list.numbers().map(|number| number as usize).collect();
    if let Some(missing) = numbers.iter().find(|number| **number >= share.len()) {
        return Err(MappingRefusal::NoSuchCpu {
            requested: *missing as u32,
            count: share.len() as u32,
            threads: requested.threads,
        });
    }
    // A number that stands twice serves two tasks where nobody chose what to bind to.
    let twice = requested.overload || !(ordered || requested.is_explicit());
    let entries = match twice {
        true => numbers.len(),
        false => distinct(&numbers),
    };
    if requested.tasks as usize > entries {
        return Err(MappingRefusal::TooMany {
            tasks: requested.tasks,
            fits: entries as u32,
            short: Short::List,
            among: requested.counted(),
        });
    }
    let place = |cpus: &[usize]| {
        Ok(Place {
            object: 0,
            cpus: Some(share.set(cpus)),
        })
    };
    if ordered {
        let used = numbers.chunks(1).take(requested.tasks as usize);
        return used.map(place).collect();
    }
    let mut packages = numbers
        .iter()
        .map(|cpu| share.object(ObjectKind::Package, *cpu));
    let first = packages.next().flatten();
    if packages.any(|package| package != first) {
        return Err(MappingRefusal::TwoPackages);
    }
    let shared = place(&numbers)?.cpus;
    let one = || Place {
        object: 0,
        cpus: shared.clone(),
    };
    Ok((0..requested.tasks).map(|_| one()).collect())
}

fn distinct(numbers: &[usize]) -> usize {
    let mut sorted = numbers.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    sorted.len()
}

/// The places in the order of tasks.
pub(super) fn ranked(mut places: Vec<Place>, rank: RankBy) -> Vec<Place> {
    match rank {
        RankBy::Slot | RankBy::Node => places,
        RankBy::Fill => {
            // Places of one object stay in mapping order.
            places.sort_by_key(|place| place.object);
            places
        }
        RankBy::Span => span(places),
    }
}

/// The first place of each object, then the second of each.
fn span(places: Vec<Place>) -> Vec<Place> {
    let objects = places.iter().map(|place| place.object + 1).max();
    let mut turns = vec![0_usize; objects.unwrap_or(0)];
    let in_turn = |place: Place| {
        let turn = &mut turns[place.object];
        *turn += 1;
        (*turn, place)
    };
    let mut places: Vec<_> = places.into_iter().map(in_turn).collect();
    places.sort_by_key(|(turn, place)| (*turn, place.object));
    places.into_iter().map(|(_, place)| place).collect()
}
