//! The figures of one line: those of `berth plan --score`, added up over the step's nodes, and their order for a kind
//! of program. In: a planned step. Out: [`Figures`]. Pure.
//! Beside them stands what the engine plans for a line: its placement, by which lines are alike, and the variables of OpenMP
//! that fit it.

use berth_placement::answer::quality::Range;
use berth_placement::{Across, CpuSet, Node, NodeSet, Quality, Rule};
use clap::ValueEnum;
use derive_more::Display;
use serde::{Deserialize, Serialize};

use super::Candidate;
use super::line::TunedLine;
use crate::lines::NoAnswer;
use crate::plan::{self, Planned, PlannedStep};
use crate::reader::Reader;
use crate::{Question, Unreadable, text};

/// The figures of a line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Figures {
    /// The smallest and the largest number of CPUs of a task.
    pub cpus_per_task: Range,
    /// Those of `berth plan`, added up over the nodes.
    #[serde(flatten)]
    pub quality: Quality,
}

impl Figures {
    /// The figures of a step; none where a machine's tree is not known.
    pub(super) fn of(step: &PlannedStep, on: &Node) -> Option<Self> {
        let plans = step.plans.iter();
        let of_plans: Option<Vec<_>> = plans.map(|planned| Self::of_node(planned, on)).collect();
        let of_plans = of_plans?;
        let nodes = step.of_node.iter().map(|at| of_plans[*at].clone());
        nodes.reduce(Self::with)
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
            cpus_per_task: Range {
                least: counts().min()?,
                most: counts().max()?,
            },
            quality: Quality::of(plan, planned.on(on))?,
        })
    }

    /// The counts, which grow with the number of nodes.
    fn counts(&mut self) -> [&mut u32; 7] {
        let quality = &mut self.quality;
        [
            &mut quality.span_numa,
            &mut quality.span_l3,
            &mut quality.span_packages,
            &mut quality.shared_cores,
            &mut quality.idle_cores,
            &mut quality.far_cpus,
            &mut quality.neighbours_apart,
        ]
    }

    fn with(mut self, mut other: Self) -> Self {
        for (count, more) in self.counts().into_iter().zip(other.counts()) {
            *count = count.saturating_add(*more);
        }
        let both = |one: Range, other: Range| Range {
            least: one.least.min(other.least),
            most: one.most.max(other.most),
        };
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

/// The kind of program, which decides whose figures count first: in words, in this order.
#[derive(Clone, Copy, Debug, Display, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Goal {
    /// One process per task; neighbouring tasks talk to each other
    #[display(
        "shared cores, tasks with less than -c, over several NUMA nodes, over several L3 caches, on one NUMA node"
    )]
    Mpi,
    /// Threads in each task, which share its caches and memory
    #[display(
        "shared cores, tasks with less than -c, over several NUMA nodes, idle cores, tasks over several L3 caches"
    )]
    Openmp,
    /// Tasks that wait for memory: as few as possible share a NUMA node and a cache
    #[display("tasks over several NUMA nodes, far CPUs, tasks on one NUMA node, on one L3 cache")]
    Memory,
    /// Tasks with a GPU: their cores are next to it
    #[display(
        "lines without --near, shared cores, tasks with less than -c, over several NUMA nodes, idle cores"
    )]
    Gpu,
}

impl Goal {
    /// The figures that count, the most important first; a smaller one is better.
    pub(super) fn order(self, figures: &Figures, is_near: bool, is_short: bool) -> Vec<u32> {
        let all = &figures.quality;
        let l3 = all.tasks_per_l3.map_or(0, |range| range.most);
        let numa = all.tasks_per_numa.most;
        let [shared, idle, apart] = [all.shared_cores, all.idle_cores, all.neighbours_apart];
        let (span_numa, span_l3) = (all.span_numa, all.span_l3);
        let short = u32::from(is_short);
        match self {
            Self::Mpi => vec![shared, short, span_numa, span_l3, numa, apart, idle],
            Self::Openmp => vec![shared, short, span_numa, idle, span_l3, numa, apart],
            Self::Memory => vec![span_numa, all.far_cpus, numa, l3, shared, idle, apart],
            Self::Gpu => vec![u32::from(!is_near), shared, short, span_numa, idle, apart],
        }
    }
}

/// More tasks are not checked one by one.
const MOST_TASKS: u32 = 4096;

/// A task's placement.
#[derive(PartialEq, Eq)]
struct TaskPlacement {
    cpus: CpuSet,
    memory: Option<NodeSet>,
    /// Whether the memory is a preference.
    prefers: bool,
    devices: Vec<u32>,
}

/// The placement of each task, and whatever else the program may notice.
#[derive(PartialEq, Eq)]
pub(super) struct Placement {
    beside: Vec<String>,
    across: Across,
    nodes: Vec<String>,
    of_node: Vec<usize>,
    plans: Vec<Vec<TaskPlacement>>,
}

/// Plans lines on one machine.
pub(super) struct Planner<'a, 'b> {
    pub reader: Reader<'a>,
    pub on: &'b Node,
    pub is_planned: bool,
}

impl Planner<'_, '_> {
    /// Today's line, as it is.
    ///
    /// # Errors
    /// A line that cannot be read, or is refused.
    pub(super) fn today(&mut self, line: &TunedLine) -> Result<Candidate, NoAnswer> {
        match self.plan(line) {
            Err(why @ NoAnswer::Usage(_)) => Err(why),
            planned => Ok(self.of(line, "today's line".into(), planned)),
        }
    }

    /// Another line, with the variables that fit it.
    pub(super) fn candidate(&mut self, line: &TunedLine, options: &str) -> Candidate {
        let planned = self.plan(line);
        let (line, places) = match &planned {
            Ok(PlannedLine { question, step, .. }) => {
                let is_set = |name: &str| question.context.environment.contains_key(name);
                let variables = threads(line, self.on, step).unwrap_or_default();
                line.with_variables(variables, is_set)
            }
            Err(_) => (line.clone(), Vec::new()),
        };
        let words = places.iter().map(String::as_str).chain([options]);
        let words: Vec<_> = words.filter(|word| !word.is_empty()).collect();
        let change = match words.as_slice() {
            [] => "no option".into(),
            words => words.join(" "),
        };
        self.of(&line, change, planned)
    }

    fn plan(&mut self, line: &TunedLine) -> Result<PlannedLine, NoAnswer> {
        let question = self.reader.line(&line.text())?;
        let answer = plan::answer_of_line(&question, self.on);
        let step = answer.map_err(|why| match why.downcast() {
            Ok(why) => match *why {
                NoAnswer::Failed(why) => NoAnswer::Usage(why),
                why => why,
            },
            Err(why) if why.is::<Unreadable>() => NoAnswer::Usage(why.to_string()),
            Err(why) => NoAnswer::Refused(why.to_string()),
        })?;
        let notes = plan::notes(step.answered(&question, self.on));
        let is_served = |plan: &berth_placement::Plan| plan.decision.rule != Rule::BindingFailed;
        let is_near = question.effective_near().is_none()
            || step.plans().all(|(_, plan)| plan.near.is_some());
        match is_near && step.plans().all(|(_, plan)| is_served(plan)) {
            true => Ok(PlannedLine {
                question,
                notes,
                step,
            }),
            false => Err(NoAnswer::Refused(notes.join("; "))),
        }
    }

    fn of(
        &self,
        line: &TunedLine,
        change: String,
        planned: Result<PlannedLine, NoAnswer>,
    ) -> Candidate {
        let mut new = Candidate {
            line: line.text(),
            typed: line.clone(),
            change,
            ..Candidate::default()
        };
        match planned {
            _ if !self.is_planned => {}
            Ok(PlannedLine { notes, step, .. }) => {
                new.notes = notes;
                new.figures = Figures::of(&step, self.on);
                new.cpus = cpus(&step);
                new.placement = Some(Placement::of(line, &step));
            }
            Err(why @ NoAnswer::NotModelled(_)) => new.notes.push(why.to_string()),
            Err(why) => new.refused = Some(text::short(&why.to_string()).into_owned()),
        }
        new
    }
}

/// A line with its plan, and the notes to the user.
struct PlannedLine {
    question: Question,
    notes: Vec<String>,
    step: PlannedStep,
}

impl Placement {
    fn of(line: &TunedLine, step: &PlannedStep) -> Self {
        let nodes = 0..step.node_count();
        Self {
            beside: line.beside_placement(),
            across: step.across.clone(),
            nodes: nodes.map(|node| step.names.long(node).into()).collect(),
            of_node: step.of_node.clone(),
            plans: step.plans.iter().map(of_tasks).collect(),
        }
    }
}

fn of_tasks(planned: &Planned) -> Vec<TaskPlacement> {
    let plan = &planned.plan;
    let near = |task| plan.near.iter().flat_map(move |near| near.devices(task));
    let tasks = plan.tasks.iter().enumerate();
    let of_task = tasks.map(|(at, task)| TaskPlacement {
        cpus: own(planned, &task.cpus),
        memory: task.mems.clone(),
        prefers: task.prefer,
        devices: near(at).collect(),
    });
    of_task.collect()
}

/// A task that is bound to nothing runs on every CPU of the step.
fn own(planned: &Planned, cpus: &CpuSet) -> CpuSet {
    match cpus.is_empty() {
        true => planned.plan.decision.own.clone(),
        false => cpus.clone(),
    }
}

/// The CPUs of each task, empty for one that is not bound.
fn cpus(step: &PlannedStep) -> Vec<String> {
    let shown = step.tasks().filter(|_| step.tasks <= MOST_TASKS);
    shown.map(|task| task.plan().cpus.to_string()).collect()
}

/// Variables for a step with `-c`: one thread for each CPU that a task requests, on cores of their own if the task has as
/// many cores.
fn threads(line: &TunedLine, on: &Node, step: &PlannedStep) -> Option<Vec<String>> {
    let each: u32 = line.value("cpus-per-task")?.parse().ok()?;
    let cores_of = |planned: &Planned, cpus: CpuSet| {
        let table = planned.on(on).table();
        let has = |pu: &_| table.cpu(*pu).is_some_and(|cpu| cpus.contains(cpu));
        let cores = table.cores.iter();
        cores.filter(|core| core.iter().any(has)).count()
    };
    let counts = step.plans.iter().flat_map(|planned| {
        let tasks = planned.plan.tasks.iter();
        tasks.map(|task| cores_of(planned, own(planned, &task.cpus)))
    });
    (each > 1).then_some(())?;
    let places = match counts.min()? >= each as usize {
        true => "cores",
        false => "threads",
    };
    Some(vec![
        format!("OMP_NUM_THREADS={each}"),
        format!("OMP_PLACES={places}"),
        "OMP_PROC_BIND=close".into(),
    ])
}
