//! `--explain`: for each task the rule that decided, the levels that did not fit, and the changes that
//! were tried, in the user's words. The rule comes from the plan's decision.

use std::cmp::Ordering;
use std::io::{self, Write};

use berth_placement::answer::cores::places;
use berth_placement::answer::decision::Mapped;
use berth_placement::owned::Counts;
use berth_placement::request::mapping::{RankBy, Target, level_word};
use berth_placement::{
    Binding, CpuSet, Decision, Level, LevelFrom, Mode, Node, Plan, Request, Rule, SharedOut, Unit,
    counted, either,
};

use super::change::changes;
use super::devices::Variables;
use super::step::{Answered, Planned};
use super::wishes::level_from;
use super::{cpuset, devices, order};
use crate::Question;
use crate::parents::Parents;

/// What `--confine=task` and the site's `confine=task` mean for the tasks.
const CONFINED: &str = "confined    each task's cgroup has only its CPUs, so it cannot leave them (--confine, or the \
                        site's confine=)";

/// Writes the explanation behind an answer.
///
/// # Errors
/// Those of `out`.
pub fn write(out: &mut impl Write, of: Answered<'_>) -> io::Result<()> {
    writeln!(out)?;
    let lines = lines(of);
    lines.iter().try_for_each(|line| writeln!(out, "{line}"))
}

/// The lines of the explanation behind an answer: once for each number of tasks that a node may have.
pub fn lines(of: Answered<'_>) -> Vec<String> {
    let step = of.step;
    let mut lines = Vec::new();
    for planned in &step.plans {
        if step.node_count() > 1 {
            lines.push(format!(
                "on a node with {} of the tasks, by their local numbers:",
                planned.part.tasks
            ));
        }
        lines.extend(one_node(of, planned));
    }
    let changes = changes(of);
    lines.extend(changes.iter().map(|change| format!("change      {change}")));
    lines
}

fn one_node(of: Answered<'_>, planned: &Planned) -> Vec<String> {
    let (args, on) = (of.args, planned.on(of.on));
    let (request, plan) = (&planned.request, &planned.plan);
    let mut lines = vec![format!(
        "why         {}",
        why(args, request, &plan.decision, &plan.decision.rule)
    )];
    if let Some(set) = &plan.cpuset {
        lines.extend(args.sources_of_cpuset());
        lines.extend(cpuset::not_chosen(set));
    }
    let not = |line| format!("not         {line}");
    lines.extend(rejected(&plan.decision).into_iter().map(not));
    let parents = of.parents(planned);
    lines.extend(order::line(args, planned, parents.as_ref()));
    lines.extend(isolated(on, plan));
    lines.extend(args.confines(plan).then(|| CONFINED.to_string()));
    let variables = Variables::of(args, planned);
    lines.extend((0..plan.tasks.len()).map(|id| {
        let near = devices::labels(on, plan, id).zip(devices::distance(plan, id));
        let near = near.map_or(String::new(), |(devices, distance)| {
            format!("; next to {devices}: {distance}")
        });
        let set = variables.text(id);
        let set = set.map_or(String::new(), |set| format!("; {set}"));
        task_line(request, plan, parents.as_ref(), id) + &near + &set
    }));
    lines
}

/// The step's isolated CPUs that no task is bound to.
fn isolated(on: &Node, plan: &Plan) -> Option<String> {
    let used: CpuSet = plan
        .tasks
        .iter()
        .flat_map(|task| task.cpus.iter())
        .collect();
    let own = on.machine()?.isolated().intersection(&plan.own);
    let left = own.difference(&used);
    let is_bound = !used.is_empty() && !left.is_empty();
    is_bound.then(|| {
        format!(
            "isolated    the kernel isolates CPUs {left}; no task gets them while others suffice"
        )
    })
}

fn wanted(request: &Request) -> String {
    let all = u64::from(request.tasks) * u64::from(request.cpus_per_task);
    let tasks = counted(request.tasks, "task");
    format!(
        "{tasks} × {} = {all}",
        counted(request.cpus_per_task, "CPU")
    )
}

fn why(args: &Question, request: &Request, decision: &Decision, rule: &Rule) -> String {
    if let Some(why) = why_all(request, rule) {
        let own = &decision.own;
        return format!("every task gets all of the step's CPUs ({own}), because {why}");
    }
    match rule {
        Rule::Unbound { .. } => {
            "nothing is bound, because --cpu-bind=none is given and the step has the whole node"
                .into()
        }
        Rule::Asked(word) => format!("--cpu-bind={word} names the CPUs; berth chooses nothing"),
        Rule::Level { level, from, .. } => level_why(args, request, *level, *from, &decision.owned),
        Rule::Binding(binding) => format!(
            "--binding={binding}: Grid Engine's rules choose the cores, free ones first; Slurm's \
             own levels do not count"
        ),
        Rule::Near(near) => format!(
            "--near={near}: each task gets cores next to its devices, an even share of those that \
             are next to them; Slurm's own levels give way"
        ),
        Rule::Share(binding, out) => share_why(binding, *out),
        Rule::Mapped(mapped) => mapped_why(mapped, request.tasks),
        Rule::Narrowed(near, rule) => format!(
            "--near={near}: tasks with the same devices divide the cores next to these among them; {}",
            why(args, request, decision, rule)
        ),
        // The others give every task all CPUs.
        _ => format!(
            "the batch script gets all of the job's CPUs on this node ({})",
            decision.own
        ),
    }
}

/// Why every task gets all of the step's CPUs; none where a rule divides them.
fn why_all(request: &Request, rule: &Rule) -> Option<String> {
    Some(match rule {
        Rule::Unbound { whole: false } => {
            "--cpu-bind=none is given and the step has a part of the node".into()
        }
        Rule::NoMatch => format!(
            "no level is requested, and the step does not have exactly as many whole sockets, whole \
             cores or threads as its tasks need CPUs ({})",
            wanted(request)
        ),
        Rule::Overcommit => "--overcommit is given and there are fewer CPUs than requested".into(),
        Rule::CgroupTooSmall => format!(
            "the step's cgroup has fewer CPUs than slurmd counts for its cores, and these are not \
             enough for {}",
            wanted(request)
        ),
        Rule::TooManyReserved => format!(
            "the site keeps others free that Slurm has given the step, and the rest is not enough \
             for {}",
            wanted(request)
        ),
        Rule::CpusetFailed => {
            "the cpuset is not available, and this site then lets the step run without it".into()
        }
        Rule::BindingFailed => {
            "the --binding or --near cannot be served, and it is not strict".into()
        }
        _ => return None,
    })
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
        Target::Level(kind) => format!("one task on each {} in turn", level_word(*kind)),
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
            let requested = mapped
                .requested
                .bind
                .as_ref()
                .is_some_and(|bind| bind.level.is_some());
            let by = if requested { "" } else { " (the default)" };
            format!("bound to {}{by}", level_word(kind))
        }
    };
    let tasks = counted(tasks, "task");
    format!(
        "{}: {places}{each}; {tasks} {order}, {bind}",
        mapped.requested
    )
}

fn share_why(binding: &Binding, out: SharedOut) -> String {
    let cores = counted(out.cores, "free core");
    let threads = counted(out.threads, "hardware thread");
    let left_out = match out.left_out {
        0 => String::new(),
        some => format!(
            "; auto leaves out {} of jobs in pools",
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
    request: &Request,
    level: Level,
    from: LevelFrom,
    owned: &Counts,
) -> String {
    match from {
        LevelFrom::Asked => format!("tasks are bound to {level}, because {}", level_from(args)),
        LevelFrom::Site => format!(
            "tasks are bound to {level}, because no level is requested, none fits exactly, and the \
             site sets autobind={level}"
        ),
        LevelFrom::Exact => {
            let has = match level {
                Level::Sockets => counted(owned.sockets, "whole socket"),
                Level::Cores => counted(owned.cores, "whole core"),
                Level::Threads | Level::Ldoms => counted(owned.threads, "hardware thread"),
            };
            format!(
                "tasks are bound to {level}, because no level is requested, and the step's {has} are \
                 exactly as many as the CPUs that its tasks need ({})",
                wanted(request)
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
            "sockets: the step has {}{}",
            counted(owned.sockets, "whole socket"),
            part(owned.part_sockets)
        ),
        Level::Cores => format!(
            "cores: the step has {}{}",
            counted(owned.cores, "whole core"),
            part(owned.part_cores)
        ),
        Level::Threads | Level::Ldoms => {
            let threads = counted(owned.threads, "hardware thread");
            format!("threads: the step has {threads}")
        }
    };
    let line = |level| format!("{}, and its tasks need {}", has(level), decision.wanted);
    decision.tried.iter().map(line).collect()
}

fn task_line(request: &Request, plan: &Plan, parents: Option<&Parents<'_>>, id: usize) -> String {
    let task = &plan.tasks[id];
    let mut text = format!("task {id:<6} ");
    if !plan.is_bound() {
        return text + "every CPU of the node";
    }
    text += &place(parents, &task.cpus);
    if let Some(chosen) = &plan.chosen {
        text += &format!("; chosen: {}", places(chosen.of_task(id)));
    }
    if let Some(entry) = entry(request, id) {
        text += &format!("; {entry}");
    }
    text += &other_count(plan, task.cpus.count());
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

/// Why a task has more or fewer CPUs than it requests, by a level.
fn other_count(plan: &Plan, has: usize) -> String {
    let requested = plan.decision.cpus_per_task as usize;
    let Rule::Level { level, .. } = plan.decision.rule else {
        return String::new();
    };
    let whole = match level {
        Level::Sockets => ", because it is bound to whole sockets",
        Level::Cores => ", because it is bound to whole cores",
        Level::Ldoms => ", because it is bound to whole NUMA nodes",
        Level::Threads => "",
    };
    let requests = counted(requested as u64, "CPU");
    match has.cmp(&requested) {
        Ordering::Equal => String::new(),
        Ordering::Greater => format!("; it requests {requests} and gets {has}{whole}"),
        Ordering::Less => format!("; it requests {requests} and gets {has}"),
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
fn entry(request: &Request, id: usize) -> Option<String> {
    let length = match request.cpu_bind.mode.as_ref()? {
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
