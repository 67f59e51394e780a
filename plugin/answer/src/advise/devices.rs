//! Each task's GPUs, as `--near=gpu` gives them: the yardstick for lines without `--near`, whose tasks
//! get the same GPUs from Slurm if it deals them out in their order.
//! In: the step as planned with `--near=gpu`. Out: how many tasks of another plan are not next to
//! their GPU, and what must hold for that. Pure.

use berth_placement::{CpuSet, Node};

use crate::plan::{Planned, PlannedStep};

/// For each node of the step and each of its tasks, the CPUs next to its GPUs.
pub(super) struct Devices {
    plans: Vec<Vec<CpuSet>>,
    of_node: Vec<usize>,
    /// Whether each task has one GPU, the first task the first one, and so on.
    in_order: bool,
}

impl Devices {
    /// Of a step that was planned with `--near`.
    pub(super) fn of(step: &PlannedStep, on: &Node) -> Self {
        Self {
            plans: step
                .planned()
                .iter()
                .map(|planned| next_to(planned, on))
                .collect(),
            of_node: step.of_node.clone(),
            in_order: step.planned().iter().all(is_in_order),
        }
    }

    /// What must hold for a line without `--near`, if some of its tasks are next to their GPU: the
    /// order of devices is then Slurm's or the program's, and not berth's.
    pub(super) fn condition(&self, step: &PlannedStep) -> Option<String> {
        if self.off(step) >= step.tasks {
            return None;
        }
        Some(match (self.in_order, step.node_count()) {
            (true, 1) => "fits only if task N uses GPU N".into(),
            (true, _) => "fits only if task N of a node, from 0 on, uses the node's GPU N".into(),
            (false, _) => "fits only if each task uses the GPUs that berth plan shows for it with \
                           --near=gpu"
                .into(),
        })
    }

    /// The tasks with a CPU that is not next to their GPU, over all nodes. A node that the other plan
    /// does not have counts with all its tasks.
    pub(super) fn off(&self, step: &PlannedStep) -> u32 {
        let mut known: Vec<((usize, Option<usize>), u32)> = Vec::new();
        let mut count = 0_u32;
        for (node, at) in step.of_node.iter().enumerate() {
            let pair = (*at, self.of_node.get(node).copied());
            let off = match known.iter().find(|(known, _)| *known == pair) {
                Some((_, off)) => *off,
                None => {
                    let near = pair.1.map_or(&[][..], |at| &self.plans[at]);
                    let off = off_on_node(&step.planned()[*at], near);
                    known.push((pair, off));
                    off
                }
            };
            count = count.saturating_add(off);
        }
        count
    }
}

fn off_on_node(planned: &Planned, near: &[CpuSet]) -> u32 {
    let plan = &planned.plan;
    let is_near = |(at, cpus): (usize, &CpuSet)| {
        let cpus = if cpus.is_empty() {
            &plan.decision.own
        } else {
            cpus
        };
        near.get(at).is_some_and(|near| cpus.is_subset(near))
    };
    let tasks = plan.tasks.iter().map(|task| &task.cpus).enumerate();
    tasks.filter(|task| !is_near(*task)).count() as u32
}

/// Whether each task has one GPU, in the order of tasks and of the node's GPUs.
fn is_in_order(planned: &Planned) -> bool {
    let near = planned.plan.near.as_ref();
    let is_its = |task: usize| near.is_some_and(|near| near.own(task) == [task as u32]);
    (0..planned.plan.tasks.len()).all(is_its)
}

/// The CPUs next to each task's devices.
fn next_to(planned: &Planned, on: &Node) -> Vec<CpuSet> {
    let machine = planned.on(on).machine();
    let all = machine.map_or(&[][..], |machine| machine.devices());
    let near = planned.plan.near.as_ref();
    let of_task = |task: usize| {
        let own = near.into_iter().flat_map(|near| near.devices(task));
        let own = own.filter_map(|at| all.get(at as usize));
        own.flat_map(|device| device.cpus.iter()).collect()
    };
    (0..planned.plan.tasks.len()).map(of_task).collect()
}
