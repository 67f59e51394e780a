//! A step on what the options say that it owns: how many tasks srun starts, and how they are laid out
//! over nodes that are all alike. slurmctld is not asked.

use berth_placement::controller::JobCpus;
use berth_placement::request::keyword_options::CoreKindWish;
use berth_placement::{Across, CpuSet, Node, Owned, Request, counted, either};

use super::owns::owns;
use super::premises;
use super::request::request;
use super::step::{PlannedStep, Plans};
use crate::lines::NoAnswer;
use crate::nodes::{Nodes, nodes};
use crate::{Failure, Question};

/// A step's tasks of one node are counted in 16 bits.
const MOST_ON_A_NODE: u32 = u16::MAX as u32;

/// Plans it.
///
/// # Errors
/// [`NoAnswer`], and options that do not fit the machine or each other.
pub(super) fn plan(args: &Question, on: &Node) -> Result<PlannedStep, Failure> {
    let nodes = nodes(args)?;
    let bound = args.bound_as(nodes.names.listed());
    let args = bound.as_ref().unwrap_or(args);
    let owns = owns(args, on)?;
    let one = request(args, owns.allocation, 1);
    let mut notes = Vec::new();
    let tasks = tasks(args, on, &nodes, &one, &mut notes)?;
    let count = nodes.count.min(tasks);
    if count < nodes.count {
        notes.push(format!(
            "{} {} fewer than {} nodes; srun uses {count}",
            counted(tasks, "task"),
            either(&tasks, "needs", "need"),
            nodes.count
        ));
    }
    if let Some(why) = too_many(args, tasks, count) {
        return Err(NoAnswer::Refused(why).into());
    }
    let across = match nodes.of_tasks {
        Some(listed) if listed.len() as u32 == tasks => Across::listed(listed),
        Some(listed) => return Err(NoAnswer::Refused(other_count(tasks, listed.len())).into()),
        None => {
            let requested = args.srun.distribution.unwrap_or_default();
            Across::new(
                &vec![room(args, on, &one); count as usize],
                tasks,
                &requested,
            )
        }
    };
    let most = across.counts().iter().max();
    if let Some(why) = uncounted(tasks, count, most.copied().unwrap_or(0)) {
        return Err(NoAnswer::Refused(why).into());
    }
    let mut premises = premises::of(args)?;
    premises.push(owns.premise);
    let plans = Plans::of_alike(args, on, &across, &one)?;
    Ok(PlannedStep {
        names: nodes.names,
        tasks,
        notes,
        nodes_assumed: false,
        job: None,
        premises,
        across,
        plans: plans.all,
        of_node: plans.of_node,
    })
}

/// How many tasks srun starts.
fn tasks(
    args: &Question,
    on: &Node,
    nodes: &Nodes,
    one: &Request,
    notes: &mut Vec<String>,
) -> Result<u32, Failure> {
    let requested = &args.srun;
    // The names in a file were not counted when the options were read.
    let from_file = requested
        .nodelist
        .as_ref()
        .is_some_and(|list| list.contains('/'));
    let times = if from_file { nodes.count } else { 1 };
    let tasks = match (requested.ntasks, &nodes.of_tasks) {
        (Some(tasks), _) if requested.ntasks_given => tasks,
        (_, Some(listed)) => listed.len() as u32,
        (Some(tasks), None) => tasks.saturating_mul(times),
        (None, None) => match requested.cpus_per_task {
            Some(each) => {
                let tasks = by_cpus(on, one, each).saturating_mul(nodes.count);
                if tasks != nodes.count {
                    notes.push(format!(
                        "without -n srun starts one task for every {each} CPUs of the job; here \
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

/// Tasks of a node where only `-c` is given: as many as the job's CPUs hold. slurmctld knows neither the
/// kinds of cores nor what the site keeps free.
fn by_cpus(on: &Node, one: &Request, each: u32) -> u32 {
    let job = Request {
        core_kind: CoreKindWish::Any,
        reserved: CpuSet::new(),
        ..one.clone()
    };
    let (cpus, threads) = (Owned::of(&job, on).count, on.shape().threads.max(1));
    let cpus = match on.counts_cores() {
        true => JobCpus {
            cpus: cpus / threads,
            of_core: 1,
        },
        false => JobCpus {
            cpus,
            of_core: threads,
        },
    };
    let limit = one.threads_per_core;
    let limit = if one.cpu_bind.one_thread {
        Some(1)
    } else {
        limit
    };
    cpus.tasks(each, limit).max(1)
}

fn other_count(tasks: u32, listed: usize) -> String {
    format!(
        "-n asks for {} and the list of nodes has {listed}; -m arbitrary takes one node per task; use \
         -n {listed}",
        counted(tasks, "task")
    )
}

fn too_many(args: &Question, tasks: u32, nodes: u32) -> Option<String> {
    let each = tasks.div_ceil(nodes.max(1));
    if let Some(most) = args.srun.ntasks_per_node.filter(|most| each > *most) {
        let nodes_asked = args.srun.nodes.map_or(1, |nodes| nodes.least);
        return Some(format!(
            "{tasks} tasks are requested with at most {most} per node, and this is a plan of \
             {}; use -N {}{}",
            counted(nodes, "node"),
            tasks.div_ceil(most),
            if nodes_asked == 1 {
                ", or give this node's share with -n"
            } else {
                ""
            }
        ));
    }
    // Every order gives the fullest node at least the average. If that is too much already, no order is tried: it takes
    // memory for each task.
    uncounted(tasks, nodes, each)
}

/// Why so many tasks of a node cannot be: Slurm's records hold their number in 16 bits.
pub(super) fn uncounted(tasks: u32, nodes: u32, each: u32) -> Option<String> {
    (each > MOST_ON_A_NODE).then(|| {
        format!(
            "{tasks} tasks on {} are {each} per node, but Slurm counts only to {MOST_ON_A_NODE}; use \
             more nodes (-N) or fewer tasks",
            counted(nodes, "node")
        )
    })
}

/// How many tasks slurmctld believes a node has CPUs for (`step_layout_create`).
fn room(args: &Question, on: &Node, one: &Request) -> u32 {
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
