//! The variables that list each task's GPUs, as slurmstepd would set them: from the same rule.

use berth_placement::answer::device_mark::inherited;
use berth_placement::{DeviceOrder, DeviceVariables};

use super::step::{Planned, PlannedStep};
use crate::question::Question;

/// What an outer step's berth wrote (`names::DEVICES` of the plugin).
const MARK: &str = "BERTH_DEVICES";

/// Each task's variables on one node.
#[derive(Default)]
pub(super) struct Variables {
    found: DeviceVariables,
    /// The first local id behind each run of tasks.
    ends: Vec<usize>,
}

impl Variables {
    /// Of a node's plan. Where the plan is for this machine, variables that are set here count, as srun
    /// would export them.
    pub(super) fn of(args: &Question, planned: &Planned) -> Self {
        let request = &planned.request;
        let near = request.near.as_ref().zip(planned.plan.near.as_ref());
        let granted = request.gres.is_some();
        let order = near.and_then(|(near, nearby)| DeviceOrder::of(near, nearby, granted));
        let Some(order) = order else {
            return Self::default();
        };
        let mark = args.variable(MARK).unwrap_or_default();
        let outer: Vec<_> = inherited(&mark, |name| args.variable(name)).collect();
        let given = |name: &str| args.variable(name).filter(|_| !outer.contains(&name));
        let found = DeviceVariables::of(&order, given);
        let mut end = 0;
        let ends = found.runs.iter().map(|(tasks, _)| {
            end += *tasks as usize;
            end
        });
        Self {
            ends: ends.collect(),
            found,
        }
    }

    /// Of each different plan of a step.
    pub(super) fn of_step(args: &Question, step: &PlannedStep) -> Vec<Self> {
        let plans = step.plans.iter();
        plans.map(|planned| Self::of(args, planned)).collect()
    }

    /// A task's names and values, by its local id.
    pub(super) fn of_task(&self, id: usize) -> &[(&'static str, String)] {
        let run = self.ends.partition_point(|end| *end <= id);
        let own = self.found.runs.get(run);
        own.map_or(&[], |(_, entries)| entries.as_slice())
    }

    /// Every name and value of a task in one text: `CUDA_VISIBLE_DEVICES=1,0 …`.
    pub(super) fn text(&self, id: usize) -> Option<String> {
        let all = self.of_task(id).iter();
        let all: Vec<_> = all.map(|(name, value)| format!("{name}={value}")).collect();
        (!all.is_empty()).then(|| all.join(" "))
    }

    /// Why some variables stay as they are.
    pub(super) fn notes(&self) -> impl Iterator<Item = String> + '_ {
        self.found.notes.iter().map(ToString::to_string)
    }
}
