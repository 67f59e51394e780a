//! The table of a plan: the request, the assumptions, and one row per task.

use std::io::{self, Write};

use berth_placement::answer::cores::places;
use berth_placement::request::grid_engine::Instance;
use berth_placement::{CpuId, CpuSet, Node, Plan};

use super::cpuset::in_words;
use super::devices;
use super::gpu_options;
use super::step::{Planned, PlannedStep};
use crate::columns::{Columns, write_named};
use crate::parents::Parents;
use crate::picture::Screen;
use crate::question::Question;

/// The whole text.
///
/// # Errors
/// Those of `out`.
pub fn write(
    out: &mut impl Write,
    args: &Question,
    on: &Node,
    step: &PlannedStep,
    screen: Screen,
) -> io::Result<()> {
    head(out, args, on, step, screen)?;
    let (heads, cells) = cells(args, on, step);
    let several = step.node_count() > 1;
    if heads.is_empty() && !several {
        return steps(out, step);
    }
    writeln!(out)?;
    let before: &[&str] = match several {
        true => &["task", "node", "local"],
        false => &["task"],
    };
    let mut columns = Columns::default();
    let last = step.tasks.saturating_sub(1).to_string();
    let names = (0..step.node_count()).map(|node| step.names.short(node));
    let longest = names.max_by_key(|name| name.len()).unwrap_or_default();
    let heads: Vec<&str> = before.iter().chain(&heads).copied().collect();
    columns.fit(heads.iter().copied());
    let prefix = |row: [&str; 3]| {
        row.into_iter()
            .take(before.len())
            .map(String::from)
            .collect::<Vec<_>>()
    };
    for row in cells.iter().flatten() {
        let first = prefix([&last, &longest, ""]);
        columns.fit(first.iter().chain(row).map(String::as_str));
    }
    columns.fold_to(screen.width);
    columns.write(out, heads)?;
    // A task's cells are those of any task in its place on a node, so they become lines once.
    let lines = |row: &Vec<String>| columns.lines(before.len(), row.iter().map(String::as_str));
    let cells: Vec<Vec<_>> = cells
        .iter()
        .map(|rows| rows.iter().map(lines).collect())
        .collect();
    for task in step.tasks() {
        let (id, local) = (task.id.to_string(), task.place.local.to_string());
        let first = prefix([&id, &step.names.short(task.place.node), &local]);
        columns.write_before(
            out,
            &first,
            &cells[step.place_of(task.place.node)][task.place.local as usize],
        )?;
    }
    steps(out, step)
}

/// The steps of a job whose line was asked about.
fn steps(out: &mut impl Write, step: &PlannedStep) -> io::Result<()> {
    step.job.as_ref().map_or(Ok(()), |job| job.write_steps(out))
}

/// The request and the assumptions.
pub(super) fn head(
    out: &mut impl Write,
    args: &Question,
    on: &Node,
    step: &PlannedStep,
    screen: Screen,
) -> io::Result<()> {
    write_place(out, args, on, step, screen)?;
    if let Some(job) = &step.job {
        job.write_head(out, screen.width)?;
    }
    for (count, plan) in step.plans() {
        if step.plans().count() > 1 {
            writeln!(
                out,
                "rule        {} (nodes with {count} of the tasks)",
                plan.decision.rule
            )?;
        } else {
            writeln!(out, "rule        {}", plan.decision.rule)?;
        }
    }
    for (_, plan) in step.plans() {
        if let Some(set) = &plan.cpuset {
            writeln!(out, "cpuset      {}", in_words(set))?;
        }
    }
    if step.tasks == 0 {
        writeln!(
            out,
            "salloc itself binds nothing: its command runs where it is typed"
        )?;
    } else if !step.is_bound() {
        writeln!(
            out,
            "nothing is bound: every task may run on every CPU of the node"
        )?;
    }
    Ok(())
}

/// The machine, the nodes, and what is known or assumed about them.
///
/// # Errors
/// Those of `out`.
pub fn write_place(
    out: &mut impl Write,
    args: &Question,
    on: &Node,
    step: &PlannedStep,
    screen: Screen,
) -> io::Result<()> {
    writeln!(out, "machine     {}", machines(args, on, step))?;
    if step.node_count() > 1 {
        let mut planned = step.planned().iter();
        let all = match planned.all(|planned| std::ptr::eq(planned.on(on), on)) {
            true => "like it",
            false => "of the cluster",
        };
        let (count, tasks) = (step.node_count(), counts(step));
        writeln!(out, "nodes       {count} {all}, {tasks}")?;
    }
    for fact in &step.facts {
        write_named(out, screen.width, fact.what, &fact.to_string())?;
    }
    Ok(())
}

/// The machine that was given, and others that nodes of a cluster are counted as.
fn machines(args: &Question, on: &Node, step: &PlannedStep) -> String {
    let mut all: Vec<String> = Vec::new();
    if step.planned().is_empty() {
        all.push(format!("{} ({})", args.machine, on.shape()));
    }
    for planned in step.planned() {
        let node = planned.on(on);
        let text = match std::ptr::eq(node, on) {
            true => format!("{} ({})", args.machine, node.shape()),
            false => format!("CPUs numbered in blocks ({})", node.shape()),
        };
        if !all.contains(&text) {
            all.push(text);
        }
    }
    all.join("; ")
}

/// `8 tasks each`, or `2 to 3 tasks each`.
fn counts(step: &PlannedStep) -> String {
    let counts = step.across.counts();
    let (least, most) = (counts.iter().min(), counts.iter().max());
    match (least, most) {
        (Some(least), Some(most)) if least != most => format!("{least} to {most} tasks each"),
        (Some(1), _) => "1 task each".into(),
        (Some(each), _) => format!("{each} tasks each"),
        _ => "no task".into(),
    }
}

/// Rows of cells for each different plan, by local id.
type Cells = Vec<Vec<Vec<String>>>;

/// The heads behind the task's number, and each task's cells: CPUs where they are bound, NUMA
/// nodes where memory is.
fn cells(args: &Question, on: &Node, step: &PlannedStep) -> (Vec<&'static str>, Cells) {
    let has = |what: fn(&Plan) -> bool| step.plans().any(|(_, plan)| what(plan));
    let bound = step.is_bound();
    let memory = has(|plan| plan.tasks.iter().any(|task| task.mems.is_some()));
    let near = has(|plan| plan.near.is_some());
    let told = is_told(args) && has(|plan| plan.chosen.is_some());
    let mut heads = Vec::new();
    if bound {
        heads.extend(["socket", "NUMA", "core", "CPUs", "mask"]);
    }
    heads.extend(told.then_some("chosen"));
    if near {
        heads.extend(["device", "distance"]);
    }
    let gpus = |planned: &Planned| gpu_options::seen(args, planned.on(on), step, planned);
    let has_gpus = !near
        && step
            .planned()
            .iter()
            .any(|planned| !gpus(planned).is_empty());
    heads.extend(has_gpus.then_some("GPU"));
    heads.extend(memory.then_some("memory"));
    let row =
        |on: &Node, parents: Option<&Parents<'_>>, plan: &Plan, gpus: &[Vec<u32>], id: usize| {
            let task = &plan.tasks[id];
            let mut row = Vec::new();
            if bound {
                row.extend(bound_to(on, parents, &task.cpus));
            }
            if told {
                row.push(
                    plan.chosen
                        .as_ref()
                        .map(|chosen| places(chosen.of_task(id)))
                        .unwrap_or_default(),
                );
            }
            if near {
                row.extend(devices::of_task(on, plan, id));
            }
            if has_gpus {
                row.push(listed(gpus.get(id)));
            }
            if let Some(mems) = task.mems.as_ref().filter(|_| memory) {
                let first = if task.prefer { " first" } else { "" };
                row.push(format!("{mems}{first}"));
            }
            row
        };
    let rows = |planned: &Planned| {
        let on = planned.on(on);
        let parents = on.machine();
        let parents = parents.map(|machine| Parents::new(machine, args.socket_kind()));
        let gpus = gpus(planned);
        let ids = 0..planned.plan.tasks.len();
        ids.map(|id| row(on, parents.as_ref(), &planned.plan, &gpus, id))
            .collect()
    };
    (heads, step.planned().iter().map(rows).collect())
}

/// GPUs by number, as a list.
fn listed(gpus: Option<&Vec<u32>>) -> String {
    let numbers = gpus.into_iter().flatten().map(|number| CpuId(*number));
    numbers.collect::<CpuSet>().to_string()
}

/// What a task is bound to.
fn bound_to(on: &Node, parents: Option<&Parents<'_>>, cpus: &CpuSet) -> [String; 5] {
    let [sockets, numa, cores] = match parents {
        Some(parents) => parents.of(cpus),
        None => ["?", "?", "?"].map(String::from),
    };
    let mask = cpus.to_hex(on.shape().mask_width());
    [sockets, numa, cores, cpus.to_string(), mask]
}

/// Whether the job gets its cores in variables instead of being bound to them.
fn is_told(args: &Question) -> bool {
    let binding = args.binding.as_ref();
    binding.is_some_and(|binding| binding.instance != Instance::Set)
}
