//! The figures of one tried line: those of `berth plan --score`, added up over the step's nodes, and
//! what a step costs besides.
//! In: a planned step. Out: [`Figures`]. Pure.

use berth_placement::{CpuSet, Node};
use serde::Serialize;

use super::devices::Devices;
use crate::plan::{Planned, PlannedStep, QualityJson};

/// The figures of a line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Figures {
    /// The smallest and the largest number of CPUs of a task.
    pub cpus_per_task: [u32; 2],
    /// Those of `berth plan`, added up over the nodes.
    #[serde(flatten)]
    pub quality: QualityJson,
    /// Cores that the step gets on all its nodes.
    pub step_cores: u32,
    /// Tasks with a CPU that is not next to their GPU; none if the advice is not for GPUs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub off_gpu: Option<u32>,
}

impl Figures {
    /// The figures of a step; none where a machine's tree is not known.
    pub(super) fn of(step: &PlannedStep, on: &Node, devices: Option<&Devices>) -> Option<Self> {
        let mut all: Option<Self> = None;
        for (at, planned) in step.planned().iter().enumerate() {
            let of_node = Self::of_node(planned, on)?;
            let nodes = step.of_node.iter().filter(|of_node| **of_node == at);
            let of_node = of_node.times(nodes.count() as u32);
            all = Some(match all {
                None => of_node,
                Some(before) => before.with(&of_node),
            });
        }
        let mut all = all?;
        all.step_cores = step.core_count() as u32;
        all.off_gpu = devices.map(|devices| devices.off(step));
        Some(all)
    }

    fn of_node(planned: &Planned, on: &Node) -> Option<Self> {
        let plan = &planned.plan;
        // A task that is bound to nothing may run on every CPU of the step.
        let count = |cpus: &CpuSet| match cpus.is_empty() {
            true => plan.decision.own.count() as u32,
            false => cpus.count() as u32,
        };
        let counts = || plan.tasks.iter().map(|task| count(&task.cpus));
        Some(Self {
            cpus_per_task: [counts().min()?, counts().max()?],
            quality: QualityJson::of(planned, on)?,
            step_cores: 0,
            off_gpu: None,
        })
    }

    /// What is counted, which grows with the number of nodes.
    fn counts(&mut self) -> [&mut u32; 7] {
        let quality = &mut self.quality;
        [
            &mut quality.spanning_numa,
            &mut quality.spanning_l3,
            &mut quality.spanning_packages,
            &mut quality.shared_cores,
            &mut quality.idle_cores,
            &mut quality.far_cpus,
            &mut quality.neighbours_apart,
        ]
    }

    fn times(mut self, nodes: u32) -> Self {
        for count in self.counts() {
            *count = count.saturating_mul(nodes);
        }
        self
    }

    fn with(mut self, other: &Self) -> Self {
        let mut other = other.clone();
        for (count, more) in self.counts().into_iter().zip(other.counts()) {
            *count = count.saturating_add(*more);
        }
        let both = |one: [u32; 2], other: [u32; 2]| [one[0].min(other[0]), one[1].max(other[1])];
        self.cpus_per_task = both(self.cpus_per_task, other.cpus_per_task);
        let (own, other) = (&mut self.quality, &other.quality);
        own.tasks_per_numa = both(own.tasks_per_numa, other.tasks_per_numa);
        own.tasks_per_l3 = match (own.tasks_per_l3, other.tasks_per_l3) {
            (Some(one), Some(other)) => Some(both(one, other)),
            (one, other) => one.or(other),
        };
        self
    }
}
