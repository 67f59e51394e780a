//! A step over its nodes: what each gives it, how many tasks each has, and each different plan.
//! In: options and a machine. Out: the step's tasks in order, each with its node and plan. Nothing
//! is stored for each task, so a million tasks cost no memory.

use std::collections::BTreeSet;
use std::sync::Arc;

use berth_placement::controller::TaskPlace;
use berth_placement::{
    Across, Allocation, Claims, CoreIdx, Node, Owned, Plan, Refusal, Request, TaskPlan, plan,
};
use serde::Serialize;

use super::owns::{has_cpus, of_cores};
use super::request::claims;
use crate::lines::NoAnswer;
use crate::nodes::Names;
use crate::parents::Parents;
use crate::{Failure, Premise, Question};

/// A planned step.
pub struct PlannedStep {
    /// The names of its nodes.
    pub names: Names,
    /// Its tasks over these nodes.
    pub across: Across,
    /// The number of tasks.
    pub tasks: u32,
    /// Notes to the user on the layout.
    pub notes: Vec<String>,
    /// Whether slurmctld may choose other nodes.
    pub nodes_assumed: bool,
    /// The job itself, where its line was asked about and no step of it.
    pub job: Option<PlannedJob>,
    /// The premises of the answer.
    pub premises: Vec<Premise>,
    /// Each different plan.
    pub plans: Vec<Planned>,
    /// The position in `plans` of each node's.
    pub of_node: Vec<usize>,
}

/// A planned step with its question and the node that it is about.
#[derive(Clone, Copy)]
pub struct Answered<'a> {
    /// The question.
    pub args: &'a Question,
    /// The machine that was given.
    pub on: &'a Node,
    /// The plan.
    pub step: &'a PlannedStep,
}

impl<'a> Answered<'a> {
    /// The objects around the CPUs of a plan's node, if its machine is known.
    pub fn parents(&self, planned: &'a Planned) -> Option<Parents<'a>> {
        let machine = planned.on(self.on).machine()?;
        Some(Parents::new(machine, self.args.socket_kind()))
    }

    /// Those of each plan.
    pub(super) fn all_parents(&self) -> Vec<Option<Parents<'a>>> {
        let plans = self.step.plans.iter();
        plans.map(|planned| self.parents(planned)).collect()
    }
}

/// The plan of a node's slurmd, for all nodes that are alike in it.
pub struct Planned {
    /// The part of each such node.
    pub part: NodePart,
    /// The request to the node's slurmd.
    pub request: Request,
    /// Its plan.
    pub plan: Plan,
}

/// The part of a node that a job and its step have.
#[derive(Clone)]
pub struct NodePart {
    /// The job's cores, by Slurm's numbers.
    pub job: Vec<CoreIdx>,
    /// Those of the step.
    pub step: Vec<CoreIdx>,
    /// The number of its tasks.
    pub tasks: u32,
    /// The node, if it is another than the machine that was given.
    pub on: Option<Arc<Node>>,
}

impl Planned {
    /// The node that was planned on, among others the machine that was given.
    pub fn on<'a>(&'a self, given: &'a Node) -> &'a Node {
        self.part.on.as_deref().unwrap_or(given)
    }
}

/// One task of a step.
#[derive(Clone, Copy)]
pub struct Task<'a> {
    pub id: u32,
    pub place: TaskPlace,
    pub node_plan: &'a Plan,
}

impl<'a> Task<'a> {
    pub fn plan(&self) -> &'a TaskPlan {
        &self.node_plan.tasks[self.place.local as usize]
    }
}

impl PlannedStep {
    /// This step with its question and the node that it is about.
    pub fn answered<'a>(&'a self, args: &'a Question, on: &'a Node) -> Answered<'a> {
        let step = self;
        Answered { args, on, step }
    }

    /// Every task, by its number in the step.
    pub fn tasks(&self) -> impl Iterator<Item = Task<'_>> {
        (0..).zip(self.across.places()).map(|(id, place)| Task {
            id,
            place,
            node_plan: self.plan_of(place.node),
        })
    }

    /// Whether a step of the job's script would be refused.
    #[must_use]
    pub fn refuses_a_step(&self) -> bool {
        let mut refused = self.job.iter().flat_map(|job| job.refused_steps());
        refused.next().is_some()
    }

    /// The number of nodes.
    pub fn node_count(&self) -> u32 {
        self.across.counts().len() as u32
    }

    /// The plan of a node's slurmd.
    pub(crate) fn plan_of(&self, node: u32) -> &Plan {
        &self.planned_on(node).plan
    }

    /// The plan that a node's slurmd makes, with its request.
    pub(crate) fn planned_on(&self, node: u32) -> &Planned {
        &self.plans[self.place_of(node)]
    }

    /// The position among [`Self::plans`] of what a node plans.
    pub(crate) fn place_of(&self, node: u32) -> usize {
        self.of_node[node as usize]
    }

    /// Each different plan, with the number of tasks that leads to it.
    pub fn plans(&self) -> impl Iterator<Item = (u32, &Plan)> {
        self.plans
            .iter()
            .map(|planned| (planned.part.tasks, &planned.plan))
    }

    /// The number of cores that the step has on all its nodes.
    pub(crate) fn core_count(&self) -> usize {
        let of_node = |at: &usize| self.plans[*at].part.step.len();
        self.of_node.iter().map(of_node).sum()
    }

    /// The number of cores that its nodes have, also those that are not the step's.
    pub(crate) fn core_count_of_nodes(&self, given: &Node) -> usize {
        let of_node = |at: &usize| self.plans[*at].on(given).shape().core_count() as usize;
        self.of_node.iter().map(of_node).sum()
    }

    /// The numbers of each node's tasks, by local id.
    pub(crate) fn tasks_by_node(&self) -> Vec<Vec<u32>> {
        let mut nodes = vec![Vec::new(); self.node_count() as usize];
        for (id, place) in (0..).zip(self.across.places()) {
            nodes[place.node as usize].push(id);
        }
        nodes
    }

    /// Whether any task is bound.
    pub fn is_bound(&self) -> bool {
        self.plans().any(|(_, plan)| plan.is_bound())
    }
}

/// The job of a step.
#[derive(Serialize)]
pub struct PlannedJob {
    /// The line, as it was typed.
    pub(super) line: String,
    /// Tasks of the job's record.
    pub(super) tasks: u32,
    /// The nodes that it has.
    pub(super) nodes: Vec<PlannedJobNode>,
    /// The sruns of the batch script; of salloc one without options.
    pub(super) steps: Vec<JobStep>,
    #[serde(skip)]
    /// The line that submits the script with the variables before it, if the script was read.
    pub(crate) submits: Option<String>,
}

/// A node of the job.
#[derive(Clone, Debug, Serialize)]
pub(super) struct PlannedJobNode {
    pub(super) name: String,
    /// Slurm's numbers of the job's cores.
    pub(super) cores: String,
    /// The CPUs that slurmctld counts for the job there.
    pub(super) cpus: u32,
}

/// A step, and the command that plans it.
#[derive(Serialize)]
pub(crate) struct JobStep {
    /// Its line in the script, from 1; none where there is no script.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) line: Option<usize>,
    pub(crate) text: String,
    pub(crate) plan: String,
    #[serde(flatten)]
    pub(crate) answer: Option<StepAnswer>,
}

/// The answer for a step.
#[derive(Serialize)]
#[serde(tag = "status", rename_all = "kebab-case")]
pub(crate) enum StepAnswer {
    Planned {
        /// Each task's CPUs; none of a task that is not bound.
        cpus: Vec<Option<String>>,
        #[serde(skip)]
        inside: Box<InJob>,
    },
    Refused {
        why: String,
    },
    NotPlanned {
        why: String,
    },
}

/// A planned step of a job, with its request.
pub(crate) struct InJob {
    pub args: Question,
    pub step: PlannedStep,
}

/// Plans a step, or a batch script.
type Planner = fn(&Request, &Node, &Claims) -> Result<Plan, Refusal>;

/// The different plans of a step's nodes.
#[derive(Default)]
pub(super) struct Plans {
    pub all: Vec<Planned>,
    pub of_node: Vec<usize>,
}

impl Plans {
    /// Plans nodes that are all alike.
    ///
    /// # Errors
    /// [`NoAnswer`], and options that do not fit the machine.
    pub(super) fn of_alike(
        args: &Question,
        on: &Node,
        across: &Across,
        one: &Request,
    ) -> Result<Self, Failure> {
        let cores = owned_cores(one, on);
        let mut part = NodePart {
            job: cores.clone(),
            step: cores,
            tasks: 0,
            on: None,
        };
        let mut plans = Self::default();
        let several = across.counts().len() > 1;
        for &tasks in across.counts() {
            part.tasks = tasks;
            let requested = || Request {
                tasks,
                ..one.clone()
            };
            let refused = |why| refused(args, several.then_some(tasks), why);
            plans.add(plan, args, on, &part, requested, refused)?;
        }
        Ok(plans)
    }

    /// Adds a node with some of the tasks; one that is like an earlier one is not planned again.
    ///
    /// # Errors
    /// [`NoAnswer`] with the reason in words, and options that do not fit the machine.
    pub(super) fn add(
        &mut self,
        door: Planner,
        args: &Question,
        given: &Node,
        part: &NodePart,
        requested: impl FnOnce() -> Request,
        refused: impl FnOnce(Refusal) -> String,
    ) -> Result<(), Failure> {
        let same = |planned: &Planned| {
            let known = &planned.part;
            let on = [known, part].map(|part| part.on.as_ref().map(Arc::as_ptr));
            on[0] == on[1]
                && (known.tasks, &known.job, &known.step) == (part.tasks, &part.job, &part.step)
        };
        if let Some(at) = self.all.iter().position(same) {
            self.of_node.push(at);
            return Ok(());
        }
        let on = part.on.as_deref().unwrap_or(given);
        has_cpus(args, on)?;
        let mut request = requested();
        if request.cpuset.is_some() && part.job != part.step {
            // The cpuset is the job's, and the step is inside it.
            request.job_allocation = Some(of_cores(part.job.clone(), on));
        }
        let plan = door(&request, on, &claims(args, on)?);
        let plan = plan.map_err(|why| match why {
            Refusal::NoTasks => Failure::from(why),
            why => NoAnswer::Refused(refused(why)).into(),
        })?;
        self.of_node.push(self.all.len());
        let part = part.clone();
        self.all.push(Planned {
            part,
            request,
            plan,
        });
        Ok(())
    }
}

/// A refusal by a node; with several nodes it says how many of the tasks that node has.
pub(super) fn refused(args: &Question, count: Option<u32>, why: Refusal) -> String {
    let Some(count) = count else {
        return why.to_string();
    };
    let of = if args.srun.ntasks_given {
        "gets"
    } else {
        "has"
    };
    format!("a node that {of} {count} of the tasks: {why}")
}

/// The cores that a step owns, in whole or in part.
fn owned_cores(one: &Request, on: &Node) -> Vec<CoreIdx> {
    if let Allocation::Cores { cores, .. } = &one.allocation {
        return cores.clone();
    }
    let owned = Owned::of(one, on).all;
    let numbered = on.table().numbered();
    let cores = numbered.filter(|(cpu, _)| owned.contains(*cpu));
    let cores: BTreeSet<_> = cores.map(|(_, core)| CoreIdx(core)).collect();
    cores.into_iter().collect()
}
