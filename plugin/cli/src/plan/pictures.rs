//! The plan as a picture, with the numbers of tasks in their CPUs.

use std::io::Write;

use berth_placement::{CpuSet, Machine, Node, Owned, Plan};

use super::json::allocation;
use super::step::PlannedStep;
use super::table;
use crate::Failure;
use crate::args::PlanArgs;
use crate::picture::{self, Cell, Cells, Picture};

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
    out.write_all(picture::svg::draw(&pictures, &title(args, step), &below(step)).as_bytes())?;
    Ok(())
}

fn below(step: &PlannedStep) -> String {
    format!("allocation: {}", allocation(step))
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
    step: &'a PlannedStep,
) -> Result<Vec<Picture<'a>>, Failure> {
    let several = step.node_count() > 1;
    let nodes = (0..).zip(step.tasks_by_node());
    nodes
        .map(|(node, tasks): (u32, _)| {
            let name = several.then(|| format!("node {}", step.names.short(node)));
            let planned = step.planned_on(node);
            let on = planned.on(on);
            let machine = on
                .machine()
                .ok_or("the machine is unknown, so there is nothing to draw")?;
            let owned = Owned::of(&planned.request, on).cpus;
            let cells = cells(machine, &planned.plan, &tasks, &owned);
            Ok(Picture::new(machine, args.socket_kind(), name, cells))
        })
        .collect()
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
