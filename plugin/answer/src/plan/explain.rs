//! `--explain`: for each task the rule that decided, the levels that did not fit, and the changes that
//! were tried, in the user's words; and `--score`, the plan's figures.

use std::cmp::Ordering;
use std::io::{self, Write};

use berth_placement::answer::cores::places;
use berth_placement::answer::quality::Range;
use berth_placement::{CpuSet, Level, Mode, Node, Plan, Quality, Request, Rule, counted, either};

use super::change::{Change, changes};
use super::devices::Variables;
use super::step::{Answered, Planned};
use super::{cpuset, decision, devices};
use crate::parents::Parents;

/// The meaning of `--confine=task` and the site's `confine=task` for the tasks.
const CONFINED: &str = "confined    each task's cgroup has only its CPUs, so it cannot leave them (--confine, or the \
                        site's confine=)";

/// Writes what `--explain` and `--score` ask for behind an answer.
///
/// # Errors
/// Those of `out`.
pub fn reasons(out: &mut impl Write, of: Answered<'_>) -> io::Result<()> {
    if of.args.explain {
        writeln!(out)?;
        let lines = lines(of, &changes(of));
        lines.iter().try_for_each(|line| writeln!(out, "{line}"))?;
    }
    if of.args.score {
        write_score(out, of)?;
    }
    Ok(())
}

/// The lines of the explanation behind an answer: once for each number of tasks that a node may have.
pub(super) fn lines(of: Answered<'_>, changes: &[Change]) -> Vec<String> {
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
    lines.extend(changes.iter().map(|change| format!("change      {change}")));
    lines
}

fn one_node(of: Answered<'_>, planned: &Planned) -> Vec<String> {
    let (args, on) = (of.args, planned.on(of.on));
    let (request, plan) = (&planned.request, &planned.plan);
    let mut lines = vec![format!(
        "why         {}",
        decision::why(args, request, &plan.decision, &plan.decision.rule)
    )];
    if let Some(set) = &plan.cpuset {
        lines.extend(args.sources_of_cpuset());
        lines.extend(cpuset::not_chosen(set));
    }
    let not = |line| format!("not         {line}");
    lines.extend(decision::rejected(&plan.decision).into_iter().map(not));
    let parents = of.parents(planned);
    lines.extend(decision::order(args, planned, parents.as_ref()));
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
    text += &other_count(request, plan, task.cpus.count());
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
fn other_count(request: &Request, plan: &Plan, has: usize) -> String {
    let requested = request.cpus_per_task as usize;
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

/// Writes the plan's figures, once for each number of tasks that a node may have.
fn write_score(out: &mut impl Write, of: Answered<'_>) -> io::Result<()> {
    let Answered { on, step, .. } = of;
    writeln!(out)?;
    for planned in &step.plans {
        if step.plans.len() > 1 {
            writeln!(out, "on a node with {} of the tasks:", planned.part.tasks)?;
        }
        match Quality::of(&planned.plan, planned.on(on)) {
            Some(quality) => write_quality(out, &quality)?,
            None => writeln!(out, "score       unknown: the machine's tree is not known")?,
        }
    }
    Ok(())
}

fn write_quality(out: &mut impl Write, quality: &Quality) -> io::Result<()> {
    let (shared, idle) = (quality.shared_cores, quality.idle_cores);
    writeln!(
        out,
        "spanning    {} {} NUMA nodes, {} L3 caches, {} packages",
        counted(quality.span_numa, "task"),
        either(&quality.span_numa, "spans", "span"),
        quality.span_l3,
        quality.span_packages
    )?;
    writeln!(
        out,
        "cores       {shared} {} shared by tasks, {idle} of the step {} idle",
        either(&shared, "is", "are"),
        either(&idle, "stays", "stay")
    )?;
    let between = |range: &Range| match (range.least, range.most) {
        (least, most) if least == most => least.to_string(),
        (least, most) => format!("{least} to {most}"),
    };
    let caches = quality.tasks_per_l3.as_ref().map(between);
    let caches = caches.map_or(String::new(), |tasks| format!(", {tasks} on each L3 cache"));
    writeln!(
        out,
        "tasks       {} on each NUMA node{caches}",
        between(&quality.tasks_per_numa)
    )?;
    writeln!(
        out,
        "memory      {} {} far from {} task's memory",
        counted(quality.far_cpus, "CPU"),
        either(&quality.far_cpus, "is", "are"),
        either(&quality.far_cpus, "its", "their")
    )?;
    writeln!(
        out,
        "neighbours  {} of successive tasks {} no NUMA node in common",
        counted(quality.neighbours_apart, "pair"),
        either(&quality.neighbours_apart, "has", "have")
    )
}
