//! The table of a plan: what was asked, what is assumed, one row a task.

use std::fmt::Write;

use berth_placement::{CpuSet, Host, Machine, Plan, SocketKind};

use crate::args::PlanArgs;
use crate::request::socket_kind;
use crate::srun_options::derive;

const HEAD: [&str; 5] = ["task", "socket", "core", "CPUs", "mask"];

/// The whole text.
pub(crate) fn table(args: &PlanArgs, on: &Host, plan: &Plan) -> String {
    let kind = socket_kind(args.socket);
    let mut text = String::new();
    let _ = writeln!(text, "machine     {} ({})", args.machine, on.shape);
    let _ = writeln!(text, "allocation  {}", allocation(args));
    let _ = writeln!(text, "rule        {}", plan.rule);
    if !plan.is_bound() {
        text.push_str("nothing is bound: every task may run on every CPU of the node\n");
        return text;
    }
    let rows: Vec<[String; 5]> = plan
        .tasks
        .iter()
        .enumerate()
        .map(|(id, task)| {
            let (sockets, cores) = parents(on.machine.as_deref(), kind, &task.cpus);
            let width = on.shape.mask_width();
            [
                id.to_string(),
                sockets,
                cores,
                task.cpus.to_string(),
                task.cpus.to_hex(width),
            ]
        })
        .collect();
    let widths: Vec<usize> = (0..HEAD.len())
        .map(|at| {
            rows.iter()
                .map(|row| row[at].len())
                .chain([HEAD[at].len()])
                .max()
                .unwrap_or(0)
        })
        .collect();
    text.push('\n');
    line(&mut text, &HEAD.map(String::from), &widths);
    for row in &rows {
        line(&mut text, row, &widths);
    }
    text
}

fn line(text: &mut String, cells: &[String; 5], widths: &[usize]) {
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
