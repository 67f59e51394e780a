//! The figures of one line: those of `berth plan --score`, added up over the step's nodes, and their order for a kind
//! of program. In: a planned step. Out: [`Figures`]. Pure.

use berth_placement::{CpuSet, Node};
use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use crate::plan::{Planned, PlannedStep, QualityJson};

/// The figures of a line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Figures {
    /// The smallest and the largest number of CPUs of a task.
    pub cpus_per_task: [u32; 2],
    /// Those of `berth plan`, added up over the nodes.
    #[serde(flatten)]
    pub quality: QualityJson,
}

impl Figures {
    /// The figures of a step; none where a machine's tree is not known.
    pub(super) fn of(step: &PlannedStep, on: &Node) -> Option<Self> {
        let mut all: Option<Self> = None;
        for (at, planned) in step.plans.iter().enumerate() {
            let of_node = Self::of_node(planned, on)?;
            let nodes = step.of_node.iter().filter(|of_node| **of_node == at);
            let of_node = of_node.times(nodes.count() as u32);
            all = Some(match all {
                None => of_node,
                Some(before) => before.with(&of_node),
            });
        }
        all
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

/// The kind of program, which decides whose figures count first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Goal {
    /// One process per task; neighbouring tasks talk to each other
    Mpi,
    /// Threads in each task, which share its caches and memory
    Openmp,
    /// Tasks that wait for memory: as few as possible share a NUMA node and a cache
    Memory,
    /// Tasks with a GPU: their cores are next to it
    Gpu,
}

impl Goal {
    /// The figures that count, the most important first; a smaller one is better.
    pub(super) fn order(self, figures: &Figures, is_near: bool) -> Vec<u32> {
        let all = &figures.quality;
        let (numa, l3) = (
            all.tasks_per_numa[1],
            all.tasks_per_l3.map_or(0, |[_, most]| most),
        );
        let [shared, idle, apart] = [all.shared_cores, all.idle_cores, all.neighbours_apart];
        let (span_numa, span_l3) = (all.spanning_numa, all.spanning_l3);
        match self {
            Self::Mpi => vec![shared, span_numa, span_l3, numa, apart, idle],
            Self::Openmp => vec![shared, span_numa, idle, span_l3, numa, apart],
            Self::Memory => vec![span_numa, all.far_cpus, numa, l3, shared, idle, apart],
            Self::Gpu => vec![u32::from(!is_near), shared, span_numa, idle, apart],
        }
    }

    /// The order of the figures for this kind of program, in words.
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Mpi => {
                "shared cores, tasks over several NUMA nodes, over several L3 caches, tasks on one NUMA node"
            }
            Self::Openmp => {
                "shared cores, tasks over several NUMA nodes, idle cores, tasks over several L3 caches"
            }
            Self::Memory => {
                "tasks over several NUMA nodes, far CPUs, tasks on one NUMA node, on one L3 cache"
            }
            Self::Gpu => {
                "lines without --near, shared cores, tasks over several NUMA nodes, idle cores"
            }
        }
    }
}
