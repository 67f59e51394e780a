//! The devices that a `--near` gives to tasks, in words: for tables, explanations and scripts. [`Variables`] are those
//! that list each task's GPUs, by the rule by which slurmstepd sets them.

use berth_placement::answer::device_variables::inherited;
use berth_placement::{Device, DeviceOrder, DeviceVariables, NearRefusal, Node, Plan};
use serde::Serialize;

use super::step::{Planned, PlannedStep};
use crate::Question;

/// A device of a task.
#[derive(Serialize)]
pub(super) struct DeviceJson {
    /// `0000:d1:00.0`
    #[serde(skip_serializing_if = "Option::is_none")]
    pci: Option<String>,
    /// Its names in the operating system.
    names: Vec<String>,
    kind: &'static str,
    /// CPUs next to it.
    cpus: String,
}

/// A text for the user. A synthetic machine has no devices, and no administrator can look for them.
pub(super) fn of_machine(args: &Question, text: String) -> String {
    let near = args.effective_near().filter(|_| args.context.is_synthetic);
    let Some(near) = near else { return text };
    let instead = format!(
        "--near={near} requests cores next to a device; the synthetic machine \"{}\" has no devices; \
         give --machine FILE.xml, the file of a node that has them (lstopo FILE.xml writes it there), \
         or leave --near out",
        args.machine
    );
    text.replace(&NearRefusal::Unknown(near).to_string(), &instead)
}

/// The devices of a task and how far they are, as cells of a table.
pub(super) fn of_task(on: &Node, plan: &Plan, id: usize) -> [String; 2] {
    [
        labels(on, plan, id).unwrap_or_default(),
        distance(plan, id).unwrap_or_default(),
    ]
}

/// `0000:d1:00.0 (ib0), …`
pub(super) fn labels(on: &Node, plan: &Plan, id: usize) -> Option<String> {
    plan.near.as_ref()?;
    let labels: Vec<_> = devices(on, plan, id).map(Device::label).collect();
    Some(labels.join(", "))
}

/// `same L3`
pub(super) fn distance(plan: &Plan, id: usize) -> Option<String> {
    let task = plan.near.as_ref()?.tasks.get(id)?;
    Some(task.distance.to_string())
}

/// The step's devices as a task is to see them, each by its number among them.
pub(super) fn order(planned: &Planned, id: usize) -> Vec<u32> {
    let requested = planned.request.near.as_ref();
    let near = requested.zip(planned.plan.near.as_ref());
    near.map_or(Vec::new(), |(requested, near)| {
        near.order(id, requested.own)
    })
}

/// The devices of a task, for scripts.
pub(super) fn json(on: &Node, plan: &Plan, id: usize) -> Vec<DeviceJson> {
    let one = |device: &Device| DeviceJson {
        pci: device.pci.map(|pci| pci.address.to_string()),
        names: device.names.clone(),
        kind: device.kind.name(),
        cpus: device.cpus.to_string(),
    };
    devices(on, plan, id).map(one).collect()
}

fn devices<'a>(on: &'a Node, plan: &'a Plan, id: usize) -> impl Iterator<Item = &'a Device> {
    let near = plan.near.iter();
    let all = on.machine().map_or(&[][..], |machine| machine.devices());
    near.flat_map(move |near| near.devices(id))
        .filter_map(|at| all.get(at as usize))
}

/// The variable with the devices of an outer step (`names::DEVICES` of the plugin).
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
