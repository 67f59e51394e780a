//! The mapping with everything that its options leave open: the default target, order and binding.
//! In: the options, the number of tasks, the step's share. Out: [`Resolved`], or why not. Pure.

use crate::answer::mapping::{Among, MappingRefusal};
use crate::request::cpu_bind::ObjectKind;
use crate::request::mapping::{BindLevel, Mapping, RankBy, Target};
use crate::strategy::mapping::share::Share;

/// Up to this many tasks a mapping without objects binds to CPUs.
const FEW_TASKS: u32 = 2;

/// A mapping that leaves nothing open.
pub(super) struct Resolved {
    /// The tasks to place.
    pub tasks: u32,
    /// All tasks on the node; more than `tasks` if these are one device's group.
    pub on_node: u32,
    pub target: Target,
    /// CPUs of each task.
    pub each: u32,
    /// Whether a CPU is a hardware thread.
    pub threads: bool,
    pub rank: RankBy,
    /// The objects to which tasks are bound; `None` is nothing.
    pub bind: Option<ObjectKind>,
    /// Whether a task that finds no object is refused, and does not stay unbound.
    pub required: bool,
    explicit: bool,
    /// The most tasks bound to one object.
    pub limit: u32,
    /// Whether objects are filled again when they are full.
    pub overload: bool,
    /// The CPUs that there are, if nothing is bound because they are too few.
    pub too_many_for: Option<u32>,
}

impl Resolved {
    pub(super) fn of(mapping: &Mapping, tasks: u32) -> Self {
        let target = mapping.target();
        let threads = mapping.takes_threads();
        let each = mapping.each().unwrap_or(1);
        let bind = mapping.bind.clone().unwrap_or_default();
        let level = match bind.level {
            Some(BindLevel::Nothing) => None,
            Some(BindLevel::Object(kind)) => Some(kind),
            None => Some(by_default(mapping, &target, (tasks, threads))),
        };
        let given = bind.level.is_some();
        let span = mapping.map.as_ref().is_some_and(|map| map.span);
        Self {
            tasks,
            on_node: tasks,
            rank: mapping.rank.unwrap_or(match target {
                Target::Level(_) if span => RankBy::Span,
                Target::Level(_) => RankBy::Fill,
                _ => RankBy::Slot,
            }),
            target,
            each,
            threads,
            bind: level,
            required: given && !bind.if_supported,
            explicit: given || each > 1,
            limit: bind.limit.unwrap_or(u32::MAX),
            overload: bind.overload,
            too_many_for: None,
        }
    }

    /// This mapping for a group of the node's tasks.
    pub(super) fn of_group(self, tasks: u32) -> Self {
        Self { tasks, ..self }
    }

    /// The tasks that a refusal counts: all of the node, or those with the same devices.
    pub(super) fn counted(&self) -> Among {
        match self.tasks < self.on_node {
            true => Among::SameDevices,
            false => Among::Node,
        }
    }

    /// Whether the user chose what is bound to, also by `pe=N`.
    pub(super) fn is_explicit(&self) -> bool {
        self.explicit
    }

    /// Checks it against the machine, and gives up binding where the defaults do.
    pub(super) fn checked(mut self, share: &Share<'_>) -> Result<Self, MappingRefusal> {
        let mapped = self.target.kind();
        for kind in mapped.into_iter().chain(self.bind) {
            if !share.has(kind) {
                let there = ObjectKind::ALL.into_iter().filter(|kind| share.has(*kind));
                return Err(MappingRefusal::NoLevel {
                    requested: kind,
                    there: there.filter(|kind| *kind != ObjectKind::Die).collect(),
                });
            }
        }
        let wanted = match &self.target {
            Target::Slot | Target::Node => u64::from(self.tasks),
            Target::PerObject { count, of } => {
                let objects = of.map_or(1, |kind| share.object_count(kind));
                u64::from(*count) * u64::from(objects)
            }
            Target::Level(_) | Target::List { .. } => 0,
        };
        if !self.explicit && self.bind.is_some() && wanted > share.len() as u64 {
            self.bind = None;
            self.too_many_for = Some(share.len() as u32);
        }
        Ok(self)
    }
}

/// The objects to which tasks are bound if `--bind-to` does not say it.
fn by_default(mapping: &Mapping, target: &Target, (tasks, threads): (u32, bool)) -> ObjectKind {
    let cpu = if threads {
        ObjectKind::Pu
    } else {
        ObjectKind::Core
    };
    if mapping.each().is_some() {
        return cpu;
    }
    match target.kind() {
        Some(kind) => kind,
        None if tasks <= FEW_TASKS || matches!(target, Target::List { .. }) => cpu,
        None => ObjectKind::Numa,
    }
}
