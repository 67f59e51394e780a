//! What makes one line better than another: criteria in words, their figures, and what a line costs.
//! In: [`Figures`]. Out: an order that is stated above the table. Pure.

use super::figures::Figures;
use berth_placement::sets::count::{counted, either};
use clap::ValueEnum;

/// One criterion; the smaller figure is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Criterion {
    /// Cores with several tasks.
    Shared,
    /// Tasks that span NUMA nodes.
    SpanNuma,
    /// Tasks that span L3 caches.
    SpanL3,
    /// The most tasks of a NUMA node.
    FullestNuma,
    /// The most tasks of an L3 cache.
    FullestL3,
    /// Pairs of successive tasks on different NUMA nodes.
    Apart,
    /// Cores of the step without a task.
    Idle,
    /// CPUs far from their task's memory.
    Far,
    /// Tasks with a CPU that is not next to their GPU.
    OffGpu,
    /// Cores that the step gets.
    Cores,
}

use Criterion::{
    Apart, Cores, Far, FullestL3, FullestNuma, Idle, OffGpu, Shared, SpanL3, SpanNuma,
};

/// The kind of program that the lines are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
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
    /// As it is typed.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Mpi => "mpi",
            Self::Openmp => "openmp",
            Self::Memory => "memory",
            Self::Gpu => "gpu",
        }
    }

    /// Its criteria, the most important first.
    pub(super) fn criteria(self) -> &'static [Criterion] {
        match self {
            Self::Mpi => &[Shared, SpanNuma, SpanL3, FullestNuma, Apart, Idle, Cores],
            Self::Openmp => &[Shared, SpanNuma, Idle, SpanL3, FullestNuma, Apart, Cores],
            Self::Memory => &[
                SpanNuma,
                Far,
                FullestNuma,
                FullestL3,
                Shared,
                Idle,
                Apart,
                Cores,
            ],
            Self::Gpu => &[OffGpu, Shared, SpanNuma, Idle, Apart, Cores],
        }
    }
}

impl Criterion {
    /// Its name in the JSON.
    pub(super) fn name(self) -> &'static str {
        match self {
            Shared => "shared_cores",
            SpanNuma => "spanning_numa",
            SpanL3 => "spanning_l3",
            FullestNuma => "most_tasks_per_numa",
            FullestL3 => "most_tasks_per_l3",
            Apart => "neighbours_apart",
            Idle => "idle_cores",
            Far => "far_cpus",
            OffGpu => "off_gpu",
            Cores => "step_cores",
        }
    }

    /// What there should be few of, in words.
    pub(super) fn words(self) -> &'static str {
        match self {
            Shared => "cores shared by tasks",
            SpanNuma => "tasks that span NUMA nodes",
            SpanL3 => "tasks that span L3 caches",
            FullestNuma => "tasks on the fullest NUMA node",
            FullestL3 => "tasks on the fullest L3 cache",
            Apart => "pairs of successive tasks without a NUMA node in common",
            Idle => "idle cores",
            Far => "CPUs far from their task's memory",
            OffGpu => "tasks with CPUs that are not next to their GPU",
            Cores => "cores of the step",
        }
    }

    /// The two rows of its column's head.
    pub(super) fn head(self) -> [&'static str; 2] {
        match self {
            Shared => ["cores", "shared"],
            SpanNuma => ["span", "NUMA"],
            SpanL3 => ["span", "L3"],
            FullestNuma => ["tasks", "per NUMA"],
            FullestL3 => ["tasks", "per L3"],
            Apart => ["pairs", "apart"],
            Idle => ["cores", "idle"],
            Far => ["CPUs", "far"],
            OffGpu => ["tasks", "off GPU"],
            Cores => ["cores", "of step"],
        }
    }

    /// Its figure.
    pub(super) fn value(self, figures: &Figures) -> u32 {
        match self {
            Shared => figures.quality.shared_cores,
            SpanNuma => figures.quality.spanning_numa,
            SpanL3 => figures.quality.spanning_l3,
            FullestNuma => figures.quality.tasks_per_numa[1],
            FullestL3 => figures.quality.tasks_per_l3.map_or(0, |[_, most]| most),
            Apart => figures.quality.neighbours_apart,
            Idle => figures.quality.idle_cores,
            Far => figures.quality.far_cpus,
            OffGpu => figures.off_gpu.unwrap_or(0),
            Cores => figures.step_cores,
        }
    }

    /// The figure as the table shows it.
    pub(super) fn cell(self, figures: &Figures) -> String {
        match self {
            FullestNuma => range(figures.quality.tasks_per_numa),
            FullestL3 => figures.quality.tasks_per_l3.map_or("-".into(), range),
            SpanL3 if figures.quality.tasks_per_l3.is_none() => "-".into(),
            one => one.value(figures).to_string(),
        }
    }

    /// What a line costs by this criterion, in words; none if nothing.
    fn cost(self, figures: &Figures) -> Option<String> {
        let count = self.value(figures);
        let uneven = |[least, most]: [u32; 2], what: &str| {
            (least != most)
                .then(|| format!("{what} have {least} to {} each", counted(most, "task")))
        };
        let (tasks, cores) = (counted(count, "task"), counted(count, "core"));
        let verb = |one, several| either(&count, one, several);
        Some(match self {
            FullestNuma => return uneven(figures.quality.tasks_per_numa, "NUMA nodes"),
            FullestL3 => return uneven(figures.quality.tasks_per_l3?, "L3 caches"),
            Cores => return None,
            _ if count == 0 => return None,
            Shared => format!("{cores} {} shared by tasks", verb("is", "are")),
            SpanNuma => format!("{tasks} {} NUMA nodes", verb("spans", "span")),
            SpanL3 => format!("{tasks} {} L3 caches", verb("spans", "span")),
            Apart => format!(
                "{} of successive tasks {} on different NUMA nodes",
                counted(count, "pair"),
                verb("is", "are")
            ),
            Idle => format!(
                "{cores} of {} {} idle",
                figures.step_cores,
                verb("stays", "stay")
            ),
            Far => format!(
                "{} {} far from {} task's memory",
                counted(count, "CPU"),
                verb("is", "are"),
                verb("its", "their")
            ),
            OffGpu => format!(
                "{tasks} {} CPUs that are not next to {} GPU",
                verb("has", "have"),
                verb("its", "their")
            ),
        })
    }
}

/// `3 to 4` for a column of numbers.
pub(super) fn range([least, most]: [u32; 2]) -> String {
    match least == most {
        true => most.to_string(),
        false => format!("{least}-{most}"),
    }
}

/// The figures of a line in the order of the criteria.
pub(super) fn values(criteria: &[Criterion], figures: &Figures) -> Vec<u32> {
    criteria.iter().map(|one| one.value(figures)).collect()
}

/// What a line costs by these criteria, in words.
pub(super) fn costs(criteria: &[Criterion], figures: &Figures) -> Vec<String> {
    criteria
        .iter()
        .filter_map(|one| one.cost(figures))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::QualityJson;

    #[test]
    fn costs_are_sentences() {
        let figures = Figures {
            quality: QualityJson {
                shared_cores: 1,
                spanning_numa: 1,
                idle_cores: 3,
                tasks_per_numa: [0, 4],
                neighbours_apart: 7,
                ..QualityJson::default()
            },
            step_cores: 16,
            off_gpu: Some(1),
            ..Figures::default()
        };
        let all = |goal: Goal| costs(goal.criteria(), &figures).join("; ");
        assert_eq!(
            all(Goal::Mpi),
            "1 core is shared by tasks; 1 task spans NUMA nodes; \
             NUMA nodes have 0 to 4 tasks each; 7 pairs of successive tasks are on different NUMA \
             nodes; 3 cores of 16 stay idle"
        );
        assert!(all(Goal::Gpu).contains("1 task has CPUs that are not next to its GPU"));
        assert_eq!(costs(Goal::Memory.criteria(), &Figures::default()), [""; 0]);
    }

    #[test]
    fn no_criterion_counts_twice() {
        for goal in [Goal::Mpi, Goal::Openmp, Goal::Memory, Goal::Gpu] {
            let all = goal.criteria();
            assert_eq!(all.last(), Some(&Cores), "{goal:?}");
            let mut names: Vec<_> = all.iter().map(|one| one.name()).collect();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), all.len(), "{goal:?}");
        }
    }
}
