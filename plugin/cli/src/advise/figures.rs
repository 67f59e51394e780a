//! The figures of one tried line: those of `berth plan --score`, added up over the step's nodes, and
//! what a step costs besides.
//! In: a planned step. Out: [`Figures`]. Pure.

use berth_placement::answer::quality::Range;
use berth_placement::{CpuSet, Node, Quality};
use serde::Serialize;

use super::devices::Devices;
use crate::plan::{Planned, PlannedStep};

/// The figures of a line. Those with a name of `berth plan --format json` mean the same.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Figures {
    /// The smallest and the largest number of CPUs of a task.
    pub cpus_per_task: [u32; 2],
    pub spanning_numa: u32,
    pub spanning_l3: u32,
    pub spanning_packages: u32,
    pub shared_cores: u32,
    pub idle_cores: u32,
    pub tasks_per_numa: [u32; 2],
    /// None if the machine has no L3 cache.
    pub tasks_per_l3: Option<[u32; 2]>,
    pub far_cpus: u32,
    pub neighbours_apart: u32,
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
        let quality = Quality::of(plan, planned.on(on))?;
        let pair = |range: Range| [range.least, range.most];
        // A task that is bound to nothing may run on every CPU of the step.
        let count = |cpus: &CpuSet| match cpus.is_empty() {
            true => plan.decision.own.count() as u32,
            false => cpus.count() as u32,
        };
        let counts = || plan.tasks.iter().map(|task| count(&task.cpus));
        Some(Self {
            cpus_per_task: [counts().min()?, counts().max()?],
            spanning_numa: quality.span_numa,
            spanning_l3: quality.span_l3,
            spanning_packages: quality.span_packages,
            shared_cores: quality.shared_cores,
            idle_cores: quality.idle_cores,
            tasks_per_numa: pair(quality.tasks_per_numa),
            tasks_per_l3: quality.tasks_per_l3.map(pair),
            far_cpus: quality.far_cpus,
            neighbours_apart: quality.neighbours_apart,
            step_cores: 0,
            off_gpu: None,
        })
    }

    /// What is counted, which grows with the number of nodes.
    fn counts(&mut self) -> [&mut u32; 7] {
        [
            &mut self.spanning_numa,
            &mut self.spanning_l3,
            &mut self.spanning_packages,
            &mut self.shared_cores,
            &mut self.idle_cores,
            &mut self.far_cpus,
            &mut self.neighbours_apart,
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
        self.tasks_per_numa = both(self.tasks_per_numa, other.tasks_per_numa);
        self.tasks_per_l3 = match (self.tasks_per_l3, other.tasks_per_l3) {
            (Some(one), Some(other)) => Some(both(one, other)),
            (one, other) => one.or(other),
        };
        self
    }
}
