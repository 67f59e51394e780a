//! What the engine plans for a line: its placement, by which lines are alike, and the variables of OpenMP that fit it.

use berth_placement::{Across, CpuSet, Node, NodeSet, Rule};

use super::line::TunedLine;
use super::{Candidate, Figures, no_answer};
use crate::Unreadable;
use crate::lines::{NoAnswer, Unusable};
use crate::plan::{self, Answer, Planned, PlannedStep};
use crate::reader::Reader;
use crate::text;

/// More tasks are not checked one by one.
const MOST_TASKS: u32 = 4096;

/// A task's CPUs, its memory, whether that is a preference, and its devices.
type OfTask = (CpuSet, Option<NodeSet>, bool, Vec<u32>);

/// What each task gets, and whatever else the program may notice.
#[derive(PartialEq, Eq)]
pub(super) struct Placement {
    beside: Vec<String>,
    across: Across,
    nodes: Vec<String>,
    of_node: Vec<usize>,
    plans: Vec<Vec<OfTask>>,
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
    /// What is wrong with it, or cannot be read.
    pub(super) fn today(&mut self, line: &TunedLine) -> Result<Candidate, NoAnswer> {
        match self.plan(line) {
            Err(why @ (NoAnswer::Usage(_) | NoAnswer::Failed(_))) => Err(why),
            planned => Ok(self.of(line, "today's line".into(), planned)),
        }
    }

    /// Another line, with the variables that fit it.
    pub(super) fn candidate(&mut self, line: &TunedLine, options: &str) -> Candidate {
        let planned = self.plan(line);
        let (line, places) = match &planned {
            Ok((question, _, step)) => {
                let is_set = |name: &str| question.standing.environment.contains_key(name);
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
        let question = self.reader.line(&line.text()).map_err(no_answer)?;
        let answer = plan::answer_of_line(&question, self.on);
        let answer = answer.map_err(|why| match why.is::<Unusable>() || why.is::<Unreadable>() {
            true => NoAnswer::Usage(why.to_string()),
            false => NoAnswer::Refused(why.to_string()),
        });
        let step = match answer? {
            Answer::Planned(step) => step,
            Answer::Refused(why) if plan::is_not_modelled(&why) => {
                return Err(NoAnswer::NotModelled(why));
            }
            Answer::Refused(why) => return Err(NoAnswer::Refused(why)),
        };
        let notes = plan::notes(&question, self.on, &step);
        let is_served = |plan: &berth_placement::Plan| plan.decision.rule != Rule::BindingFailed;
        let is_near = question.effective_near().is_none()
            || step.plans().all(|(_, plan)| plan.near.is_some());
        match is_near && step.plans().all(|(_, plan)| is_served(plan)) {
            true => Ok((question, notes, step)),
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
            alike: Vec::new(),
            refused: None,
            cpus: Vec::new(),
            notes: Vec::new(),
            figures: None,
            placement: None,
        };
        match planned {
            _ if !self.is_planned => {}
            Ok((_, notes, step)) => {
                new.notes = notes;
                new.figures = Figures::of(&step, self.on);
                new.cpus = cpus(&step);
                new.placement = Some(Placement::of(line, &step));
            }
            Err(NoAnswer::NotModelled(why)) => new.notes.push(why),
            Err(why) => new.refused = Some(text::short(&why.to_string()).into_owned()),
        }
        new
    }
}

type PlannedLine = (crate::question::Question, Vec<String>, Box<PlannedStep>);

impl Placement {
    fn of(line: &TunedLine, step: &PlannedStep) -> Self {
        let nodes = 0..step.node_count();
        Self {
            beside: line
                .beside_placement()
                .into_iter()
                .map(String::from)
                .collect(),
            across: step.across.clone(),
            nodes: nodes
                .map(|node| step.names.long(node).into_owned())
                .collect(),
            of_node: step.of_node.clone(),
            plans: step.plans.iter().map(of_tasks).collect(),
        }
    }
}

fn of_tasks(planned: &Planned) -> Vec<OfTask> {
    let plan = &planned.plan;
    let near = |task| {
        plan.near
            .as_ref()
            .map_or_else(Vec::new, |near| near.devices(task).collect())
    };
    let tasks = plan.tasks.iter().enumerate();
    let of_task = tasks.map(|(at, task)| {
        (
            own(planned, &task.cpus),
            task.mems.clone(),
            task.prefer,
            near(at),
        )
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
    match step.tasks <= MOST_TASKS {
        true => step
            .tasks()
            .map(|task| task.plan().cpus.to_string())
            .collect(),
        false => Vec::new(),
    }
}

/// Variables for a step with `-c`: one thread for each CPU that a task requests, on cores of their own if the task has as
/// many cores.
fn threads(line: &TunedLine, on: &Node, step: &PlannedStep) -> Option<Vec<String>> {
    let each: u32 = line
        .value("cpus-per-task")?
        .parse()
        .ok()
        .filter(|each| *each > 1)?;
    let cores_of = |planned: &Planned, cpus: &CpuSet| {
        let table = planned.on(on).table();
        let cores = table.cores.iter();
        cores
            .filter(|core| {
                core.iter()
                    .any(|pu| table.cpu(*pu).is_some_and(|cpu| cpus.contains(cpu)))
            })
            .count()
    };
    let counts = step.plans.iter().flat_map(|planned| {
        planned
            .plan
            .tasks
            .iter()
            .map(|task| cores_of(planned, &own(planned, &task.cpus)))
    });
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
