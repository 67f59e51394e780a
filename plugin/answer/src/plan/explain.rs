//! `--explain`: for each task the rule that decided, the levels that did not fit, and the changes that
//! were tried, in the user's words. The rule comes from the plan's decision.

use berth_placement::sets::count::{counted, either};
use std::io::Write;

use berth_placement::answer::cores::places;
use berth_placement::answer::decision::Mapped;
use berth_placement::owned::Counts;
use berth_placement::request::mapping::{RankBy, Target, level_word};
use berth_placement::{
    Binding, CpuSet, Decision, Level, LevelFrom, Mode, Node, Order, Plan, Request, Rule, SharedOut,
    Unit,
};

use super::change::changes;
use super::cpuset;
use super::devices;
use super::step::{Planned, PlannedStep};
use super::variables::Variables;
use crate::Failure;
use crate::parents::Parents;
use crate::question::Question;
use crate::srun_options::level_from;

/// What `--confine=task` and the site's `confine=task` mean for the tasks.
const CONFINED: &str = "confined    each task's cgroup has only its CPUs, so it cannot leave them (--confine, or the \
                        site's confine=)";

/// Writes the explanation behind an answer.
///
/// # Errors
/// Those of `out`.
pub fn write(
    out: &mut impl Write,
    args: &Question,
    on: &Node,
    step: &PlannedStep,
) -> Result<(), Failure> {
    writeln!(out)?;
    for line in lines(args, on, step) {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

/// The same, line by line: once for each number of tasks a node may have.
pub fn lines(args: &Question, on: &Node, step: &PlannedStep) -> Vec<String> {
    let mut lines = Vec::new();
    for planned in step.planned() {
        if step.node_count() > 1 {
            lines.push(format!(
                "on a node with {} of the tasks, by their local numbers:",
                planned.tasks
            ));
        }
        let on = planned.on(on);
        lines.extend(one_node(args, on, planned));
    }
    let changes = changes(args, on, step);
    lines.extend(changes.iter().map(|change| format!("change      {change}")));
    lines
}

fn one_node(args: &Question, on: &Node, planned: &Planned) -> Vec<String> {
    let (ask, plan) = (&planned.request, &planned.plan);
    let mut lines = vec![format!(
        "why         {}",
        why(args, ask, &plan.decision, &plan.decision.rule)
    )];
    if let Some(set) = &plan.cpuset {
        lines.extend(args.sources_of_cpuset());
        lines.extend(cpuset::not_chosen(set));
    }
    let not = |line| format!("not         {line}");
    lines.extend(rejected(&plan.decision).into_iter().map(not));
    if let Rule::Level { order, .. } = plan.decision.rule {
        lines.push(format!("order       {}", order_why(args, ask, order)));
    }
    lines.extend(isolated(on, plan));
    lines.extend(args.confines(plan).then(|| CONFINED.to_string()));
    let parents = on
        .machine()
        .map(|machine| Parents::new(machine, args.socket_kind()));
    let variables = Variables::of(args, planned);
    lines.extend((0..plan.tasks.len()).map(|id| {
        let near = devices::labels(on, plan, id).zip(devices::distance(plan, id));
        let near = near.map_or(String::new(), |(devices, distance)| {
            format!("; next to {devices}: {distance}")
        });
        let set = variables.text(id);
        let set = set.map_or(String::new(), |set| format!("; {set}"));
        task_line(ask, plan, parents.as_ref(), id) + &near + &set
    }));
    lines
}

/// The step's isolated CPUs that no task is bound to.
fn isolated(on: &Node, plan: &Plan) -> Option<String> {
    let mut used = CpuSet::new();
    let tasks = plan.tasks.iter();
    tasks.for_each(|task| used.insert_all(&task.cpus));
    let own = on.machine()?.isolated().intersection(&plan.own);
    let left = own.difference(&used);
    let is_bound = !used.is_empty() && !left.is_empty();
    is_bound.then(|| {
        format!(
            "isolated    the kernel isolates CPUs {left}; no task gets them while others suffice"
        )
    })
}

fn wanted(ask: &Request) -> String {
    let all = u64::from(ask.tasks) * u64::from(ask.cpus_per_task);
    let tasks = counted(ask.tasks, "task");
    format!("{tasks} × {} = {all}", counted(ask.cpus_per_task, "CPU"))
}

const CPUSET_FAILED: &str =
    "all of the step's CPUs: the cpuset cannot be had, and this site lets the step run without it";

const BINDING_FAILED: &str =
    "all of the step's CPUs: the --binding or --near cannot be served, and it is not strict";

fn why(args: &Question, ask: &Request, decision: &Decision, rule: &Rule) -> String {
    let own = &decision.own;
    match rule {
        Rule::Unbound { whole: true } => {
            "nothing is bound: --cpu-bind=none, and the step has the whole node".into()
        }
        Rule::Unbound { whole: false } => format!(
            "all of the step's CPUs ({own}) for every task: --cpu-bind=none, on a part of the node"
        ),
        Rule::Asked(word) => format!("--cpu-bind={word} names the CPUs; berth chooses nothing"),
        Rule::Level { level, from, .. } => level_why(args, ask, *level, *from, &decision.owned),
        Rule::NoMatch => format!(
            "all of the step's CPUs ({own}) for every task: no level is requested, and {} is not \
             the number of its whole sockets, whole cores or threads",
            wanted(ask)
        ),
        Rule::Overcommit => format!(
            "all of the step's CPUs ({own}) for every task: --overcommit is given, and there are \
             fewer CPUs than requested"
        ),
        Rule::CgroupTooSmall => format!(
            "all of the step's CPUs ({own}) for every task: the step's cgroup has fewer CPUs than \
             slurmd counts for its cores, and not enough for {}",
            wanted(ask)
        ),
        Rule::TooManyReserved => format!(
            "all of the step's CPUs ({own}) for every task: the site keeps others free that Slurm has \
             given the step, and these are not enough for {}",
            wanted(ask)
        ),
        Rule::Binding(binding) => format!(
            "--binding={binding}: Grid Engine's rules choose the cores, free ones first; Slurm's \
             own levels do not count"
        ),
        Rule::Near(near) => format!(
            "--near={near}: each task gets cores next to its devices, an even share of those that \
             are next to them; Slurm's own levels give way"
        ),
        Rule::Share(binding, out) => share_why(binding, *out),
        Rule::CpusetFailed => CPUSET_FAILED.into(),
        Rule::BindingFailed => BINDING_FAILED.into(),
        Rule::Mapped(mapped) => mapped_why(mapped, ask.tasks),
        Rule::Narrowed(near, rule) => format!(
            "--near={near}: tasks with the same devices divide the cores next to these among them; {}",
            why(args, ask, decision, rule)
        ),
        Rule::Batch => format!("all of the job's CPUs here ({own}): it is a batch script"),
    }
}

/// How a mapping places tasks, and what it left open.
fn mapped_why(mapped: &Mapped, tasks: u32) -> String {
    let unit = if mapped.threads {
        "hardware threads"
    } else {
        "cores"
    };
    let places = match &mapped.target {
        Target::Slot | Target::Node => "the tasks one after the other".into(),
        Target::Level(kind) => format!("one task on each {}, round and round", level_word(*kind)),
        Target::PerObject { count, of } => {
            format!("{count} on each {}", of.map_or("node", level_word))
        }
        Target::List {
            list,
            ordered: true,
        } => format!("one entry of {list} for each task"),
        Target::List { list, .. } => format!("all of {list} for every task"),
    };
    let each = match mapped.each {
        1 => String::new(),
        each => format!(", {each} {unit} each"),
    };
    let order = match mapped.rank {
        RankBy::Slot | RankBy::Node => "numbered in that order",
        RankBy::Fill => "numbered object by object",
        RankBy::Span => "numbered in turn over the objects",
    };
    let bind = match mapped.bind {
        None => "bound to nothing".into(),
        Some(kind) => {
            let asked = mapped
                .asked
                .bind
                .as_ref()
                .is_some_and(|bind| bind.level.is_some());
            let by = if asked { "" } else { " (the default)" };
            format!("bound to {}{by}", level_word(kind))
        }
    };
    let tasks = counted(tasks, "task");
    format!("{}: {places}{each}; {tasks} {order}, {bind}", mapped.asked)
}

fn share_why(binding: &Binding, out: SharedOut) -> String {
    let cores = counted(out.cores, "free core");
    let threads = counted(out.threads, "hardware thread");
    let left_out = match out.left_out {
        0 => String::new(),
        some => format!(
            "; {} of jobs in pools stay out of it",
            counted(some, "core")
        ),
    };
    let each = match out.unit {
        Unit::Cores => "each core has one task",
        Unit::Threads => "there are fewer cores than tasks, and each hardware thread has one task",
        Unit::Time => "there are fewer hardware threads than tasks, and tasks run by turns",
    };
    format!(
        "--binding={binding}: the step's {cores} with {threads} are divided among the tasks, whole \
         packages, NUMA nodes and caches first; {each}{left_out}"
    )
}

fn level_why(
    args: &Question,
    ask: &Request,
    level: Level,
    from: LevelFrom,
    owned: &Counts,
) -> String {
    match from {
        LevelFrom::Asked => format!("{level}, because {}", level_from(args)),
        LevelFrom::Site => format!(
            "{level}, because no level is requested, none fits exactly, and the site sets \
             autobind={level}"
        ),
        LevelFrom::Exact => {
            let has = match level {
                Level::Sockets => counted(owned.sockets, "whole socket"),
                Level::Cores => counted(owned.cores, "whole core"),
                Level::Threads | Level::Ldoms => counted(owned.threads, "hardware thread"),
            };
            format!(
                "{level}, because no level is requested, and {} are as many as the step's {has}",
                wanted(ask)
            )
        }
    }
}

/// The levels that automatic binding tried before the one it took.
fn rejected(decision: &Decision) -> Vec<String> {
    let owned = &decision.owned;
    let part = |count| match count {
        0 => String::new(),
        count => format!(" and {count} in part"),
    };
    let has = |level: &Level| match level {
        Level::Sockets => format!(
            "sockets: the step has {} whole{}",
            owned.sockets,
            part(owned.part_sockets)
        ),
        Level::Cores => format!(
            "cores: it has {} whole{}",
            owned.cores,
            part(owned.part_cores)
        ),
        Level::Threads | Level::Ldoms => format!("threads: it has {}", owned.threads),
    };
    let line = |level| format!("{}, and {} are needed", has(level), decision.wanted);
    decision.tried.iter().map(line).collect()
}

fn order_why(args: &Question, ask: &Request, order: Order) -> String {
    let means = match order {
        Order::Block => "one socket is filled, then the next",
        Order::Cyclic => "each task goes to the next socket",
        Order::Fcyclic => "each CPU comes from the next socket, also within a task",
    };
    let by = match (&args.srun.distribution, ask.distribution.sockets) {
        (Some(asked), Some(_)) => format!("-m {asked}"),
        (Some(asked), None) if asked.plane_size.is_some() => format!("-m {asked}"),
        (Some(asked), None) => format!("-m {asked} leaves the sockets to the default"),
        (None, _) => "the default".into(),
    };
    format!("{order} over the sockets ({by}): {means}")
}

fn task_line(ask: &Request, plan: &Plan, parents: Option<&Parents<'_>>, id: usize) -> String {
    let task = &plan.tasks[id];
    let mut text = format!("task {id:<6} ");
    if !plan.is_bound() {
        return text + "every CPU of the node";
    }
    text += &place(parents, &task.cpus);
    if let Some(chosen) = &plan.chosen {
        text += &format!("; chosen: {}", places(chosen.of_task(id)));
    }
    if let Some(entry) = entry(ask, id) {
        text += &format!("; {entry}");
    }
    let asked = plan.decision.cpus_per_task as usize;
    let is_level = matches!(plan.decision.rule, Rule::Level { .. });
    if is_level && task.cpus.count() > asked {
        text += &format!("; the level gives whole objects, {asked} requested");
    } else if is_level && task.cpus.count() < asked {
        text += &format!("; fewer than the {asked} requested");
    }
    let shared: Vec<_> = plan.tasks[..id]
        .iter()
        .enumerate()
        .filter(|(_, other)| other.cpus.intersects(&task.cpus))
        .map(|(other, _)| other.to_string())
        .take(4)
        .collect();
    match shared.as_slice() {
        [] => text,
        [one] => format!("{text}; shared with task {one}"),
        [first @ .., _] if shared.len() == 4 => {
            format!("{text}; shared with tasks {}, …", first.join(", "))
        }
        all => format!("{text}; shared with tasks {}", all.join(", ")),
    }
}

/// `core 3 of socket 0 (CPUs 3,11)`
fn place(parents: Option<&Parents<'_>>, cpus: &CpuSet) -> String {
    let noun = either(&cpus.count(), "CPU", "CPUs");
    let Some(parents) = parents else {
        return format!("{noun} {cpus}");
    };
    let [sockets, _, cores] = parents.of(cpus);
    let plural = |list: &str, noun: &str| match list.contains([',', '-']) {
        true => format!("{noun}s {list}"),
        false => format!("{noun} {list}"),
    };
    format!(
        "{} of {} ({noun} {cpus})",
        plural(&cores, "core"),
        plural(&sockets, "socket")
    )
}

/// Which entry of a list is a task's.
fn entry(ask: &Request, id: usize) -> Option<String> {
    let length = match ask.cpu_bind.mode.as_ref()? {
        Mode::MapCpu(list) => list.len(),
        Mode::MapLdom(list) => list.len(),
        Mode::MaskCpu(list) | Mode::MaskLdom(list) => list.len(),
        _ => return None,
    };
    let length = length as usize;
    let at = id.checked_rem(length)?;
    let again = if id >= length {
        ", which starts again"
    } else {
        ""
    };
    Some(format!("entry {} of the list{again}", at + 1))
}
