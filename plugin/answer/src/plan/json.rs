//! A plan for scripts: `berth-plan`, version 1. A field may be added within a version; none
//! changes its meaning or disappears. Tasks are written one by one, so a million fit.

use std::collections::BTreeMap;
use std::io::Write;

use berth_placement::answer::cores::places;
use berth_placement::{Node, ObjectKind, Quality};
use serde::{Serialize, Serializer};

use super::change::{Change, changes};
use super::cpuset::CpusetJson;
use super::devices::{self, DeviceJson, Variables};
use super::owns::listed;
use super::step::{Answered, Planned, PlannedJob, PlannedStep, Task};
use super::{explain, gpu_options};
use crate::json::{self, Framed};
use crate::parents::{Parents, gpus};
use crate::plan::{bound_to, notes};
use crate::world::LIVE;
use crate::{Failure, Premise, Question};

const FORMAT: &str = "berth-plan";

/// The whole answer.
#[derive(Serialize)]
struct Document<'a> {
    machine: MachineJson<'a>,
    allocation: String,
    /// The premises behind the answer, each with its source.
    assumed: &'a [Premise],
    /// Whether slurmctld may choose other nodes; absent where there was no choice.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    nodes_assumed: bool,
    /// The rule that decided, by the number of tasks on a node.
    rules: BTreeMap<u32, String>,
    bound: bool,
    /// Whether the tasks cannot leave their CPUs; absent where they can.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    confined: bool,
    /// The job, where the line is that of a job; `nodes` has its batch script then.
    #[serde(skip_serializing_if = "Option::is_none")]
    job: Option<&'a PlannedJob>,
    /// `-c` as served, which the launch message has, by the number of tasks on a node. A mask may have more CPUs.
    cpus_per_task: BTreeMap<u32, u32>,
    /// The job's cpuset, by the number of tasks on a node.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    cpusets: BTreeMap<u32, CpusetJson>,
    /// How good the plan is, by the number of tasks on a node.
    quality: BTreeMap<u32, Option<Quality>>,
    notes: Vec<String>,
    nodes: Vec<NodeJson<'a>>,
    tasks: Tasks<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    explanation: Vec<String>,
    /// Options that change the plan, each tried.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    changes: Vec<Change>,
}

#[derive(Serialize)]
struct MachineJson<'a> {
    source: &'a str,
    sockets: u32,
    cores_per_socket: u32,
    threads_per_core: u32,
    /// The number of each that the machine has; null where that is not known.
    numa_nodes: Option<usize>,
    l3_caches: Option<usize>,
    cores: Option<usize>,
    cpus: Option<usize>,
    gpus: Option<usize>,
    topology: Option<String>,
}

impl<'a> MachineJson<'a> {
    fn of(args: &'a Question, on: &Node) -> Self {
        let (shape, machine) = (on.shape(), on.machine());
        let kind = args.socket_kind();
        let count = |kind| machine.map(|machine| machine.objects(kind).len());
        // A host's devices are looked for only with --near.
        let gpus = machine.map(|machine| gpus(machine).count());
        Self {
            source: &args.machine,
            sockets: shape.sockets,
            cores_per_socket: shape.cores,
            threads_per_core: shape.threads,
            numa_nodes: count(ObjectKind::Numa),
            l3_caches: count(ObjectKind::L3),
            cores: machine.map(|machine| machine.sockets(kind).concat().len()),
            cpus: machine.map(|machine| machine.cpus().count()),
            gpus: gpus.filter(|count| args.machine != LIVE || *count > 0),
            topology: machine.map(|machine| machine.topology_string(kind)),
        }
    }
}

#[derive(Serialize)]
struct NodeJson<'a> {
    name: std::borrow::Cow<'a, str>,
    tasks: u32,
    /// Slurm's core numbers of the job and of the step on the node, `0-3,8`.
    cores: String,
    step_cores: String,
    /// The rule that decided, and `-c` as served: nodes with as many tasks may differ, as they own other cores.
    rule: String,
    cpus_per_task: u32,
    /// As in the launch message; absent where nothing is bound.
    masks: Option<String>,
}

#[derive(Serialize)]
struct TaskJson {
    task: u32,
    /// Position of the node in `nodes`.
    node: u32,
    local: u32,
    /// Kernel numbers as a list, `0-3,8`; absent where nothing is bound.
    cpus: Option<String>,
    mask: Option<String>,
    /// Numbers of the objects that it touches; null where nothing is bound, and where there are none.
    sockets: Option<String>,
    numa_nodes: Option<String>,
    l3_caches: Option<String>,
    cores: Option<String>,
    /// NUMA nodes of its memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    memory: Option<String>,
    /// `SOCKET,CORE:…` that a --binding chose.
    #[serde(skip_serializing_if = "Option::is_none")]
    chosen: Option<String>,
    /// The GPUs that it sees by Slurm's own options, by number on the node.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    gpus: Vec<u32>,
    /// The devices that a --near gave to it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    devices: Vec<DeviceJson>,
    /// The step's devices of this kind in the order in which the task is to see them, each by its
    /// number among them: its own first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    device_order: Vec<u32>,
    /// The variables that list its GPUs, with their values.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    variables: BTreeMap<&'static str, String>,
    /// From its cores to these devices: the smallest object that has both.
    #[serde(skip_serializing_if = "Option::is_none")]
    distance: Option<String>,
}

struct Tasks<'a> {
    step: &'a PlannedStep,
    /// The machine that was given.
    on: &'a Node,
    /// Of each different plan's machine.
    parents: Vec<Option<Parents<'a>>>,
    variables: Vec<Variables>,
    /// Of each different plan's tasks, by local id.
    gpus: Vec<Vec<Vec<u32>>>,
}

impl Tasks<'_> {
    fn json(&self, task: Task<'_>) -> TaskJson {
        let plan = task.plan();
        let bound = task.node_plan.is_bound();
        let place = self.step.place_of(task.place.node);
        let parents = &self.parents[place];
        let parents = parents.as_ref();
        let touched = parents.map_or([const { String::new() }; 3], |all| all.of(&plan.cpus));
        let [sockets, numa_nodes, cores] = touched.map(some);
        let l3_caches = parents.and_then(|all| some(all.caches_of(&plan.cpus)));
        let chosen = task.node_plan.chosen.as_ref();
        let local = task.place.local as usize;
        let on = self.step.planned_on(task.place.node).on(self.on);
        TaskJson {
            task: task.id,
            node: task.place.node,
            local: task.place.local,
            cpus: bound.then(|| plan.cpus.to_string()),
            mask: bound.then(|| plan.cpus.to_hex(on.shape().mask_width())),
            sockets,
            numa_nodes,
            l3_caches,
            cores,
            memory: plan.mems.as_ref().map(ToString::to_string),
            chosen: chosen.map(|chosen| places(chosen.of_task(local))),
            gpus: self.gpus[place].get(local).cloned().unwrap_or_default(),
            devices: devices::json(on, task.node_plan, local),
            device_order: devices::order(self.step.planned_on(task.place.node), local),
            variables: self.variables[place]
                .of_task(local)
                .iter()
                .cloned()
                .collect(),
            distance: devices::distance(task.node_plan, local),
        }
    }
}

/// A list of numbers, unless it is empty.
fn some(list: String) -> Option<String> {
    Some(list).filter(|list| !list.is_empty())
}

/// One task after the other.
impl Serialize for Tasks<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(self.step.tasks().map(|task| self.json(task)))
    }
}

/// The step's part of each node in one text.
pub(super) fn allocation(step: &PlannedStep) -> String {
    let mut parts = step
        .premises
        .iter()
        .filter(|premise| premise.what == "allocation");
    parts.next().map(ToString::to_string).unwrap_or_default()
}

/// Writes it.
///
/// # Errors
/// Those of `out`.
pub(crate) fn write(out: &mut impl Write, of: Answered<'_>) -> Result<(), Failure> {
    json::write_all(out, FORMAT, &document(of))
}

/// The JSON document of an answer on one line.
///
/// # Errors
/// None that is known: every part can be written as JSON.
pub(crate) fn line(of: Answered<'_>) -> Result<String, Failure> {
    Ok(serde_json::to_string(&Framed::of(FORMAT, &document(of)))?)
}

/// The line of a file's answer for a request without a plan.
pub(crate) fn no_plan(why: &str) -> String {
    let error = BTreeMap::from([("error", why)]);
    serde_json::to_string(&Framed::of(FORMAT, &error)).unwrap_or_default()
}

fn document(of: Answered<'_>) -> Document<'_> {
    let Answered { args, on, step } = of;
    let gpus = |planned: &Planned| gpu_options::visible_gpus(of, planned);
    let quality = |one: &Planned| (one.part.tasks, Quality::of(&one.plan, one.on(on)));
    let plans = || step.plans();
    let explained = args.explain.then_some(of);
    let changes = explained.map(changes).unwrap_or_default();
    let explanation = explained.map(|of| explain::lines(of, &changes));
    Document {
        machine: MachineJson::of(args, step.plans.first().map_or(on, |one| one.on(on))),
        allocation: allocation(step),
        assumed: &step.premises,
        nodes_assumed: step.nodes_assumed,
        rules: plans()
            .map(|(count, plan)| (count, plan.decision.rule.to_string()))
            .collect(),
        bound: step.is_bound(),
        confined: plans().any(|(_, plan)| args.confines(plan)),
        job: step.job.as_ref(),
        cpus_per_task: plans()
            .map(|(count, plan)| (count, plan.decision.cpus_per_task))
            .collect(),
        cpusets: CpusetJson::of_step(step),
        quality: step.plans.iter().map(quality).collect(),
        notes: notes(of),
        nodes: (0..step.node_count())
            .map(|node| of_node(step, node))
            .collect(),
        tasks: Tasks {
            step,
            on,
            parents: of.all_parents(),
            variables: Variables::of_step(args, step),
            gpus: step.plans.iter().map(gpus).collect(),
        },
        explanation: explanation.unwrap_or_default(),
        changes,
    }
}

fn of_node(step: &PlannedStep, node: u32) -> NodeJson<'_> {
    let planned = step.planned_on(node);
    NodeJson {
        name: step.names.long(node),
        tasks: planned.part.tasks,
        cores: listed(&planned.part.job),
        step_cores: listed(&planned.part.step),
        rule: planned.plan.decision.rule.to_string(),
        cpus_per_task: planned.plan.decision.cpus_per_task,
        masks: bound_to(&planned.plan),
    }
}
