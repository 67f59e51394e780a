//! A step over its nodes: what each gives it, how many tasks each has, and each different plan.
//! In: options and a machine. Out: the step's tasks in order, each with its node and plan. Nothing
//! is stored for each task, so a million tasks cost no memory.

use std::rc::Rc;

use berth_placement::controller::layout::TaskPlace;
use berth_placement::{
    Across, Allocation, CoreIdx, Node, Owned, Plan, Refusal, Request, TaskPlan, plan,
};

use super::owns::{is_listed, listed, owns};
use super::request::{claims, request};
use super::site;
use crate::Failure;
use crate::args::PlanArgs;
use crate::here::Fact;
use crate::nodes::{Names, Nodes, nodes};

/// A step's tasks of one node are counted in 16 bits.
const MOST_ON_A_NODE: u32 = u16::MAX as u32;

/// A planned step.
pub(crate) struct PlannedStep {
    pub names: Names,
    pub across: Across,
    pub tasks: u32,
    /// Notes to the user on the layout.
    pub notes: Vec<String>,
    /// What the answer rests on.
    pub facts: Vec<Fact>,
    plans: Vec<Planned>,
    of_node: Vec<usize>,
}

/// What a node's slurmd plans, for all nodes that are alike in it.
pub(crate) struct Planned {
    /// The tasks of each such node.
    pub tasks: u32,
    pub request: Request,
    pub plan: Plan,
    /// The job's and the step's cores there, by Slurm's numbers.
    pub job_cores: String,
    pub step_cores: String,
    /// The node, if it is another than the machine that was given.
    other: Option<Rc<Node>>,
}

impl Planned {
    /// The node that was planned on, among others the machine that was given.
    pub(crate) fn on<'a>(&'a self, given: &'a Node) -> &'a Node {
        self.other.as_deref().unwrap_or(given)
    }
}

/// One task of a step.
#[derive(Clone, Copy)]
pub(crate) struct Task<'a> {
    pub id: u32,
    pub place: TaskPlace,
    pub node_plan: &'a Plan,
}

impl<'a> Task<'a> {
    pub(crate) fn plan(&self) -> &'a TaskPlan {
        &self.node_plan.tasks[self.place.local as usize]
    }
}

impl PlannedStep {
    /// Every task, by its number in the step.
    pub(crate) fn tasks(&self) -> impl Iterator<Item = Task<'_>> {
        (0..).zip(self.across.places()).map(|(id, place)| Task {
            id,
            place,
            node_plan: self.plan_of(place.node),
        })
    }

    /// How many nodes there are.
    pub(crate) fn node_count(&self) -> u32 {
        self.across.counts().len() as u32
    }

    /// What a node's slurmd plans.
    pub(crate) fn plan_of(&self, node: u32) -> &Plan {
        &self.planned_on(node).plan
    }

    /// The same with what led to it.
    pub(crate) fn planned_on(&self, node: u32) -> &Planned {
        &self.plans[self.place_of(node)]
    }

    /// The position among [`Self::planned`] of what a node plans.
    pub(crate) fn place_of(&self, node: u32) -> usize {
        self.of_node[node as usize]
    }

    /// Each different plan.
    pub(crate) fn planned(&self) -> &[Planned] {
        &self.plans
    }

    /// Each different plan, with the number of tasks that leads to it.
    pub(crate) fn plans(&self) -> impl Iterator<Item = (u32, &Plan)> {
        self.plans
            .iter()
            .map(|planned| (planned.tasks, &planned.plan))
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
    pub(crate) fn is_bound(&self) -> bool {
        self.plans().any(|(_, plan)| plan.is_bound())
    }
}

/// Lays a step out over its nodes and plans each.
///
/// # Errors
/// Options that do not fit the machine or each other. Within: why the step would not run.
pub(crate) fn step(args: &PlanArgs, on: &Node) -> Result<Result<PlannedStep, String>, Failure> {
    let ruled = args.rules()?;
    let other;
    let on = if ruled == on.rules() {
        on
    } else {
        other = on.with_rules(ruled);
        &other
    };
    let nodes = nodes(args)?;
    let owns = owns(args, on)?;
    let one = request(args, owns.allocation, 1);
    let mut notes = Vec::new();
    let tasks = tasks(args, on, &nodes, &one, &mut notes)?;
    let count = nodes.count.min(tasks);
    if count < nodes.count {
        notes.push(format!(
            "{tasks} tasks need fewer than {} nodes; srun uses {count}",
            nodes.count
        ));
    }
    if let Some(why) = too_many(args, tasks, count) {
        return Ok(Err(why));
    }
    let across = match nodes.of_tasks {
        Some(listed) if listed.len() as u32 == tasks => Across::listed(listed),
        Some(listed) => return Ok(Err(other_count(tasks, listed.len()))),
        None => {
            let asked = args.srun.distribution.unwrap_or_default();
            Across::new(&vec![room(args, on, &one); count as usize], tasks, &asked)
        }
    };
    let mut facts = site::facts(args)?;
    facts.extend(site::variables(args));
    facts.push(owns.fact);
    let plans = match Plans::of_alike(args, on, &across, &one)? {
        Ok(plans) => plans,
        Err(why) => return Ok(Err(why)),
    };
    Ok(Ok(PlannedStep {
        names: nodes.names,
        tasks,
        notes,
        facts,
        across,
        plans: plans.all,
        of_node: plans.of_node,
    }))
}

/// The different plans of a step's nodes.
#[derive(Default)]
struct Plans {
    all: Vec<Planned>,
    of_node: Vec<usize>,
}

impl Plans {
    /// Plans nodes that are all alike. Within: why one of them would refuse its tasks.
    fn of_alike(
        args: &PlanArgs,
        on: &Node,
        across: &Across,
        one: &Request,
    ) -> Result<Result<Self, String>, Failure> {
        let cores = owned_cores(one, on);
        let mut plans = Self::default();
        for &tasks in across.counts() {
            let asked = || Request {
                tasks,
                ..one.clone()
            };
            if let Err(why) = plans.add(args, (on, None), (&cores, &cores), tasks, asked)? {
                let several = across.counts().len() > 1;
                return Ok(Err(refused(args, several.then_some(tasks), &why)));
            }
        }
        Ok(Ok(plans))
    }

    /// Adds a node with some of the tasks; one that is like an earlier one is not planned again.
    fn add(
        &mut self,
        args: &PlanArgs,
        (on, other): (&Node, Option<&Rc<Node>>),
        (job_cores, step_cores): (&str, &str),
        tasks: u32,
        asked: impl FnOnce() -> Request,
    ) -> Result<Result<(), Refusal>, Failure> {
        let same = |planned: &Planned| {
            planned.tasks == tasks
                && planned.step_cores == step_cores
                && planned.job_cores == job_cores
                && planned.other.as_ref().map(Rc::as_ptr) == other.map(Rc::as_ptr)
        };
        if let Some(at) = self.all.iter().position(same) {
            self.of_node.push(at);
            return Ok(Ok(()));
        }
        let request = asked();
        let plan = match plan(&request, on, &claims(args, on)?) {
            Ok(plan) => plan,
            Err(why @ Refusal::NoTasks) => return Err(why.into()),
            Err(why) => return Ok(Err(why)),
        };
        self.of_node.push(self.all.len());
        self.all.push(Planned {
            tasks,
            request,
            plan,
            job_cores: job_cores.into(),
            step_cores: step_cores.into(),
            other: other.cloned(),
        });
        Ok(Ok(()))
    }
}

/// A refusal by a node; with several nodes it says how many of the tasks that node has.
fn refused(args: &PlanArgs, count: Option<u32>, why: &Refusal) -> String {
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
fn owned_cores(one: &Request, on: &Node) -> String {
    match &one.allocation {
        Allocation::Cores { cores, .. } => listed(cores),
        _ => {
            let owned = Owned::of(one, on).all;
            let numbered = on.table().numbered();
            let cores = numbered.filter(|(cpu, _)| owned.contains(*cpu));
            listed(&cores.map(|(_, core)| CoreIdx(core)).collect::<Vec<_>>())
        }
    }
}

/// How many tasks srun starts.
fn tasks(
    args: &PlanArgs,
    on: &Node,
    nodes: &Nodes,
    one: &Request,
    notes: &mut Vec<String>,
) -> Result<u32, Failure> {
    let asked = &args.srun;
    // The names in a file were not counted when the options were read.
    let from_file = asked
        .nodelist
        .as_ref()
        .is_some_and(|list| list.contains('/'));
    let times = if from_file { nodes.count } else { 1 };
    let tasks = match (asked.ntasks, &nodes.of_tasks) {
        (Some(tasks), _) if asked.ntasks_given => tasks,
        (_, Some(listed)) => listed.len() as u32,
        (Some(tasks), None) => tasks.saturating_mul(times),
        (None, None) => match asked.cpus_per_task {
            Some(each) => {
                let tasks = by_cpus(args, on, one, each).saturating_mul(nodes.count);
                if tasks != nodes.count {
                    notes.push(format!(
                        "without -n srun starts one task for every {each} CPUs of the step; here \
                         the number of tasks is {tasks}"
                    ));
                }
                tasks
            }
            None => nodes.count,
        },
    };
    match tasks {
        0 => Err("the options request 0 tasks; request at least one with -n".into()),
        tasks => Ok(tasks),
    }
}

/// Tasks of a node where only `-c` is given: as many as fit the CPUs that slurmctld gives, which are
/// whole cores for one task, or what is known of the allocation.
fn by_cpus(args: &PlanArgs, on: &Node, one: &Request, each: u32) -> u32 {
    let named = is_listed(args) || args.standing.job.is_some();
    let threads = on.shape().threads.max(1);
    let cpus = match named {
        true => Owned::of(one, on).count,
        false => each.div_ceil(threads).saturating_mul(threads),
    };
    (cpus / each.max(1)).max(1)
}

fn other_count(tasks: u32, listed: usize) -> String {
    format!(
        "-n asks for {tasks} tasks and the list of nodes has {listed}; -m arbitrary takes one \
         node per task; use -n {listed}"
    )
}

fn too_many(args: &PlanArgs, tasks: u32, nodes: u32) -> Option<String> {
    let each = tasks.div_ceil(nodes.max(1));
    if let Some(most) = args.srun.ntasks_per_node.filter(|most| each > *most) {
        let nodes_asked = args.srun.nodes.map_or(1, |nodes| nodes.least);
        return Some(format!(
            "{tasks} tasks are requested with at most {most} per node, and this is a plan of \
             {nodes} node(s); use -N {}{}",
            tasks.div_ceil(most),
            if nodes_asked == 1 {
                ", or give this node's share with -n"
            } else {
                ""
            }
        ));
    }
    (each > MOST_ON_A_NODE).then(|| {
        format!(
            "{tasks} tasks on {nodes} node(s) are {each} per node, but Slurm counts only to \
             {MOST_ON_A_NODE}; use more nodes (-N) or fewer tasks"
        )
    })
}

/// How many tasks slurmctld believes a node has CPUs for (`step_layout_create`).
fn room(args: &PlanArgs, on: &Node, one: &Request) -> u32 {
    let threads = on.shape().threads.max(1);
    let single = one.threads_per_core == Some(1) || one.cpu_bind.one_thread;
    let mut cpus = Owned::of(one, on).count;
    if single || on.counts_cores() {
        cpus /= threads;
    }
    let each = args.srun.cpus_per_task.unwrap_or(1).max(1);
    let whole_core = !single && one.ntasks_per_core == Some(1) && each < threads;
    let each = if whole_core { threads } else { each };
    let room = (cpus / each).max(1);
    // slurmctld holds tasks against CPUs here: with -c 2 the limit is twice as wide.
    match args.srun.ntasks_per_node {
        Some(most) => room.min(most.saturating_mul(each)),
        None => room,
    }
}
