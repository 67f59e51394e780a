//! The table of a plan: what was asked, what is assumed, one row a task.

use std::fmt::Write;

use berth_placement::binding::Instance;
use berth_placement::chosen::places;
use berth_placement::{CpuSet, Host, Machine, Plan, SocketKind};

use crate::args::PlanArgs;
use crate::request::socket_kind;
use crate::srun_options::derive;

/// The whole text.
pub(crate) fn table(args: &PlanArgs, on: &Host, plan: &Plan) -> String {
    let kind = socket_kind(args.socket);
    let mut text = String::new();
    let _ = writeln!(text, "machine     {} ({})", args.machine, on.shape);
    let _ = writeln!(text, "allocation  {}", allocation(args));
    let _ = writeln!(text, "rule        {}", plan.rule);
    if !plan.is_bound() {
        text.push_str("nothing is bound: every task may run on every CPU of the node\n");
    }
    let rows = rows(args, on, plan, kind);
    if rows.first().is_none_or(|head| head.len() < 2) {
        return text;
    }
    text.push('\n');
    text + &columns(&rows)
}

/// Rows of cells as lines, each column as wide as it must be.
pub(crate) fn columns(rows: &[Vec<String>]) -> String {
    let widths = widths(rows);
    let mut text = String::new();
    rows.iter().for_each(|row| line(&mut text, row, &widths));
    text
}

/// The heads, then each task's cells: CPUs where they are bound, NUMA nodes where
/// memory is.
fn rows(args: &PlanArgs, on: &Host, plan: &Plan, kind: SocketKind) -> Vec<Vec<String>> {
    let bound = plan.is_bound();
    let memory = plan.tasks.iter().any(|task| task.mems.is_some());
    let mut heads = vec!["task"];
    heads.extend(
        bound
            .then_some(["socket", "core", "CPUs", "mask"])
            .into_iter()
            .flatten(),
    );
    let chosen = plan.chosen.as_ref().filter(|_| is_told(args));
    heads.extend(chosen.map(|_| "chosen"));
    heads.extend(memory.then_some("memory"));
    let mut rows = vec![heads.into_iter().map(String::from).collect()];
    for (id, task) in plan.tasks.iter().enumerate() {
        let mut row = vec![id.to_string()];
        if bound {
            let (sockets, cores) = parents(on.machine.as_deref(), kind, &task.cpus);
            let mask = task.cpus.to_hex(on.shape.mask_width());
            row.extend([sockets, cores, task.cpus.to_string(), mask]);
        }
        if let Some(chosen) = chosen {
            row.push(places(chosen.of_task(id)));
        }
        if let Some(mems) = &task.mems {
            let first = if task.prefer { " first" } else { "" };
            row.push(format!("{mems}{first}"));
        }
        rows.push(row);
    }
    rows
}

/// Whether the job is told its cores instead of being bound to them.
fn is_told(args: &PlanArgs) -> bool {
    let binding = args.binding.as_ref();
    binding.is_some_and(|binding| binding.instance != Instance::Set)
}

fn widths(rows: &[Vec<String>]) -> Vec<usize> {
    let columns = rows.first().map_or(0, Vec::len);
    (0..columns)
        .map(|at| {
            rows.iter()
                .filter_map(|row| row.get(at))
                .map(String::len)
                .max()
        })
        .map(Option::unwrap_or_default)
        .collect()
}

fn line(text: &mut String, cells: &[String], widths: &[usize]) {
    let cells = cells
        .iter()
        .zip(widths)
        .map(|(cell, &width)| format!("{cell:<width$}"));
    text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
    text.push('\n');
}

fn allocation(args: &PlanArgs) -> String {
    match (&args.cores, &args.cpus) {
        (Some(cores), _) => format!("cores {cores} (--cores)"),
        (None, Some(cpus)) => format!("CPUs {cpus} (--cpus)"),
        (None, None) if derive(args).one_core_a_socket => {
            "one core of each socket (--hint=memory_bound)".into()
        }
        (None, None) => "the whole node (assumed; --cores or --cpus for less)".into(),
    }
}

/// Logical numbers of the sockets and cores a set touches.
fn parents(machine: Option<&Machine>, kind: SocketKind, cpus: &CpuSet) -> (String, String) {
    let Some(machine) = machine else {
        return ("?".into(), "?".into());
    };
    let (mut sockets, mut cores) = (CpuSet::new(), CpuSet::new());
    for (number, socket) in (0..).zip(machine.sockets(kind)) {
        for core in socket {
            if machine.pus_of(core).iter().any(|cpu| cpus.contains(*cpu)) {
                sockets.insert(berth_placement::CpuId(number));
                cores.insert(berth_placement::CpuId(core.0));
            }
        }
    }
    (sockets.to_string(), cores.to_string())
}
