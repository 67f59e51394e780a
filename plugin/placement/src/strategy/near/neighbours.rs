//! The step's devices and usable cores, and its tasks by the place of their devices.
//! In: the situation, the request. Out: [`Neighbours`], or a plan that binds nothing. Pure.

use crate::answer::near_refusal::NearRefusal;
use crate::answer::plan::Plan;
use crate::answer::refusal::Refusal;
use crate::request::near::Near;
use crate::strategy::near::devices::{self, Devices};
use crate::strategy::near::next_to::NextTo;
use crate::strategy::near::notes;
use crate::strategy::near::places::Places;
use crate::strategy::situation::Situation;
use crate::topology::surroundings::Surroundings;

/// The step's devices and usable cores, and its tasks by the place of their devices.
pub(super) struct Neighbours<'a> {
    on: &'a Surroundings,
    devices: Devices,
    pub(super) places: Places,
}

impl<'a> Neighbours<'a> {
    /// At most `limit` hardware threads of each core are used.
    pub(super) fn of(
        here: &Situation<'a>,
        near: &Near,
        limit: Option<u32>,
    ) -> Result<Self, NearRefusal> {
        let node = here.node;
        let Some((machine, on)) = node.machine().zip(node.surroundings()) else {
            return Err(NearRefusal::Unknown(near.clone()));
        };
        let request = here.request;
        let devices = devices::of(near, request.gres.as_ref(), request.tasks, machine)?;
        let places = Places::of(here, on, &devices, limit);
        Ok(Self {
            on,
            devices,
            places,
        })
    }

    /// The plan with each task's devices, and with what the user should know of them; also of tasks with fewer
    /// hardware threads than `least`, unless the plan's own notes do.
    pub(super) fn finish(
        self,
        here: &Situation<'_>,
        near: &Near,
        mut plan: Plan,
        least: Option<u32>,
    ) -> Result<Plan, Refusal> {
        let next_to = NextTo::of(self.on, &self.devices);
        let nearby = next_to.measured(here.node.machine(), self.devices, &plan.tasks);
        let found = (&nearby, &next_to);
        let has = (&plan, &self.places.cores, least);
        let notes = notes::of(here, near, found, has)?;
        plan.notes.extend(notes);
        plan.near = Some(nearby);
        Ok(plan)
    }
}

/// There are no such devices, or too few: the step is refused or runs unbound, as with a `--binding`
/// that cannot be served.
pub(super) fn failed(here: &Situation<'_>, near: &Near, why: NearRefusal) -> Result<Plan, Refusal> {
    match near.strict {
        true => Err(why.into()),
        false => here.wish_failed(why.to_string()),
    }
}
