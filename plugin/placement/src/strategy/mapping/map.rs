//! Maps tasks to objects: round and round, N on each, or one after the other in the whole share.
//! In: the mapping, the share. Out: a place for each task in mapping order, or why not. Pure.

use crate::answer::mapping_refusal::{MappingRefusal, Short};
use crate::request::mapping::Target;
use crate::request::object_kind::ObjectKind;
use crate::strategy::mapping::Place;
use crate::strategy::mapping::bind::{Binder, Room};
use crate::strategy::mapping::resolved::Resolved;
use crate::strategy::mapping::share::Share;

/// A place for each task.
pub(super) fn places(
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
