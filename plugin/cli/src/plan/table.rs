//! The table of a plan: the request, the assumptions, and one row per task.

use std::collections::BTreeMap;
use std::io::{self, Write};

use berth_placement::answer::cores::places;
use berth_placement::request::grid_engine::Instance;
use berth_placement::{Node, Plan};

use super::step::PlannedStep;
use crate::args::PlanArgs;
use crate::columns::{Columns, write_named};
use crate::parents::Parents;
use crate::plan::socket_kind;
use crate::progress::watched;
use crate::say;

/// The whole text.
///
/// # Errors
/// Those of `out`.
pub(crate) fn write(
    out: &mut impl Write,
    args: &PlanArgs,
    on: &Node,
    step: &PlannedStep,
) -> io::Result<()> {
    head(out, args, on, step)?;
    let (heads, cells) = cells(args, on, step);
    let several = step.node_count() > 1;
    if heads.is_empty() && !several {
        return Ok(());
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
    for row in cells.values().flatten() {
        let first = prefix([&last, &longest, ""]);
        columns.fit(first.iter().chain(row).map(String::as_str));
    }
    columns.fold_to(say::width(args.width));
    columns.write(out, heads)?;
    // A task's cells are those of any task in its place on a node, so they become lines once.
    let lines = |row: &Vec<String>| columns.lines(before.len(), row.iter().map(String::as_str));
    let cells: BTreeMap<u32, Vec<_>> = cells
        .iter()
        .map(|(count, rows)| (*count, rows.iter().map(lines).collect()))
        .collect();
    for task in watched(step.tasks(), step.tasks) {
        let count = step.across.counts()[task.place.node as usize];
        let (id, local) = (task.id.to_string(), task.place.local.to_string());
        let first = prefix([&id, &step.names.short(task.place.node), &local]);
        columns.write_before(out, &first, &cells[&count][task.place.local as usize])?;
    }
    Ok(())
}

/// The request and the assumptions.
pub(super) fn head(
    out: &mut impl Write,
    args: &PlanArgs,
    on: &Node,
    step: &PlannedStep,
) -> io::Result<()> {
    writeln!(out, "machine     {} ({})", args.machine, on.shape())?;
    if step.node_count() > 1 {
        writeln!(
            out,
            "nodes       {} like it, {}",
            step.node_count(),
            counts(step)
        )?;
    }
    write_named(out, args.width, "allocation", &allocation(args))?;
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
    if !step.is_bound() {
        writeln!(
            out,
            "nothing is bound: every task may run on every CPU of the node"
        )?;
    }
    Ok(())
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

/// Rows of cells for each number of tasks a node may have, by local id.
type Cells = BTreeMap<u32, Vec<Vec<String>>>;

/// The heads behind the task's number, and each task's cells: CPUs where they are bound, NUMA
/// nodes where memory is.
fn cells(args: &PlanArgs, on: &Node, step: &PlannedStep) -> (Vec<&'static str>, Cells) {
    let parents = on
        .machine()
        .map(|machine| Parents::new(machine, socket_kind(args.socket)));
    let has = |what: fn(&Plan) -> bool| step.plans().any(|(_, plan)| what(plan));
    let bound = step.is_bound();
    let memory = has(|plan| plan.tasks.iter().any(|task| task.mems.is_some()));
    let told = is_told(args) && has(|plan| plan.chosen.is_some());
    let mut heads = Vec::new();
    if bound {
        heads.extend(["socket", "NUMA", "core", "CPUs", "mask"]);
    }
    heads.extend(told.then_some("chosen"));
    heads.extend(memory.then_some("memory"));
    let row = |plan: &Plan, id: usize| {
        let task = &plan.tasks[id];
        let mut row = Vec::new();
        if bound {
            let [sockets, numa, cores] = match &parents {
                Some(parents) => parents.of(&task.cpus),
                None => ["?", "?", "?"].map(String::from),
            };
            let mask = task.cpus.to_hex(on.shape().mask_width());
            row.extend([sockets, numa, cores, task.cpus.to_string(), mask]);
        }
        if told {
            row.push(
                plan.chosen
                    .as_ref()
                    .map(|chosen| places(chosen.of_task(id)))
                    .unwrap_or_default(),
            );
        }
        if let Some(mems) = task.mems.as_ref().filter(|_| memory) {
            let first = if task.prefer { " first" } else { "" };
            row.push(format!("{mems}{first}"));
        }
        row
    };
    let rows = |plan: &Plan| (0..plan.tasks.len()).map(|id| row(plan, id)).collect();
    let cells = step
        .plans()
        .map(|(count, plan)| (count, rows(plan)))
        .collect();
    (heads, cells)
}

/// Whether the job gets its cores in variables instead of being bound to them.
fn is_told(args: &PlanArgs) -> bool {
    let binding = args.binding.as_ref();
    binding.is_some_and(|binding| binding.instance != Instance::Set)
}

/// The cores that the plan assumes for the step on each node.
pub(super) fn allocation(args: &PlanArgs) -> String {
    let each = if args.srun.nodes.is_some() {
        " of each node"
    } else {
        ""
    };
    match (&args.cores, &args.cpus) {
        (Some(cores), _) => format!("cores {cores}{each} (--cores)"),
        (None, Some(cpus)) => format!("CPUs {cpus}{each} (--cpus)"),
        (None, None) if args.srun.one_core_a_socket => {
            "one core of each socket (--hint=memory_bound)".into()
        }
        (None, None) => "the whole node (assumed; --cores or --cpus for less)".into(),
    }
}
