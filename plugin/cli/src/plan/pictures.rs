//! The plan as a picture, with the numbers of tasks in their CPUs.

use std::io::Write;

use berth_placement::{CpuSet, Machine, Node, Owned, Plan};

use super::request::request;
use super::step::PlannedStep;
use super::table;
use crate::Failure;
use crate::args::PlanArgs;
use crate::picture::{self, Cell, Cells, Picture};
use crate::plan::socket_kind;

/// For the terminal.
///
/// # Errors
/// Those of `out`.
pub(crate) fn tree(
    out: &mut impl Write,
    args: &PlanArgs,
    on: &Node,
    step: &PlannedStep,
) -> Result<(), Failure> {
    table::head(out, args, on, step)?;
    writeln!(out)?;
    let pictures = pictures(args, on, step)?;
    picture::show(out, &pictures, args.width, args.color)?;
    Ok(())
}

/// For documents.
///
/// # Errors
/// Those of `out`.
pub(crate) fn svg(
    out: &mut impl Write,
    args: &PlanArgs,
    on: &Node,
    step: &PlannedStep,
) -> Result<(), Failure> {
    let pictures = pictures(args, on, step)?;
    out.write_all(picture::svg::draw(&pictures, &title(args, step), &below(args)).as_bytes())?;
    Ok(())
}

fn below(args: &PlanArgs) -> String {
    format!("allocation: {}", table::allocation(args))
}

fn title(args: &PlanArgs, step: &PlannedStep) -> String {
    let rules: Vec<_> = step
        .plans()
        .map(|(_, plan)| plan.decision.rule.to_string())
        .collect();
    format!(
        "{} tasks on {}: {}",
        step.tasks,
        args.machine,
        rules.join(", ")
    )
}

fn pictures<'a>(
    args: &PlanArgs,
    on: &'a Node,
    step: &PlannedStep,
) -> Result<Vec<Picture<'a>>, Failure> {
    let machine = on
        .machine()
        .ok_or("the machine is unknown, so there is nothing to draw")?;
    let one = request(args, on, 1)?;
    let owned = Owned::of(&one, on).cpus;
    let several = step.node_count() > 1;
    let nodes = (0..).zip(step.tasks_by_node());
    Ok(nodes
        .map(|(node, tasks): (u32, _)| {
            let name = several.then(|| format!("node {}", step.names.short(node)));
            let kind = socket_kind(args.socket);
            let cells = cells(machine, step.plan_of(node), &tasks, &owned);
            Picture::new(machine, kind, name, cells)
        })
        .collect())
}

fn cells(machine: &Machine, plan: &Plan, tasks: &[u32], owned: &CpuSet) -> Cells {
    let bound = plan.is_bound();
    let on = |cpu| {
        let has = |at: &usize| !bound || plan.tasks[*at].cpus.contains(cpu);
        (0..plan.tasks.len())
            .filter(has)
            .map(|at| tasks[at])
            .collect::<Vec<_>>()
    };
    let cell = |cpu| match on(cpu).as_slice() {
        [] if owned.contains(cpu) => Cell::Free,
        [] => Cell::Outside,
        [task] => Cell::Task(*task),
        all if all.len() == tasks.len() => Cell::All,
        [first, ..] => Cell::Several(*first),
    };
    machine.cpus().iter().map(|cpu| (cpu, cell(cpu))).collect()
}
