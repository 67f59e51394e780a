//! The table of a plan: the request, the assumptions, and one row per task.

use std::io::{self, Write};

use berth_placement::answer::cores::places;
use berth_placement::request::grid_engine::Instance;
use berth_placement::request::near::What;
use berth_placement::{CpuId, CpuSet, Node, Numbering, ObjectKind, Plan};

use super::cpuset::in_words;
use super::step::{Answered, InJob, Planned, PlannedStep};
use super::{devices, gpu_options, notes};
use crate::parents::{Parents, gpus};
use crate::picture::Screen;
use crate::text::{Columns, write_named};
use crate::{Failure, Question};

/// The head of the column that is left out where it makes lines too long.
const MASK: &str = "mask";
const GPU: &str = "GPU";
/// The head above the GPUs next to a task's CPUs, which it need not see.
const NEXT: &str = "next GPU";

/// Each step of a script behind the script itself.
///
/// # Errors
/// Those of `out`, and of `body`.
pub(super) fn each_step<W: Write>(
    out: &mut W,
    of: Answered<'_>,
    screen: Screen,
    mut body: impl FnMut(&mut W, Answered<'_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let on = of.on;
    for one in of.step.job.iter().flat_map(|job| &job.steps) {
        let Some(InJob { args, step }) = one.write_head(out, screen)? else {
            continue;
        };
        let premises = step.premises.iter();
        for premise in premises.filter(|premise| premise.what == "allocation") {
            write_named(out, screen.width, premise.what, &premise.value)?;
        }
        write_rules(out, step)?;
        let of = step.answered(args, on);
        body(out, of)?;
        for note in notes(of) {
            write_named(out, screen.width, "note", &note)?;
        }
    }
    Ok(())
}

/// One row for each task.
pub(super) fn write_tasks(
    out: &mut impl Write,
    of: Answered<'_>,
    screen: Screen,
) -> io::Result<()> {
    let Answered { args, step, .. } = of;
    let mut rows = rows(of);
    let several = step.node_count() > 1;
    if heads(&rows).next().is_none() && !several {
        return Ok(());
    }
    writeln!(out)?;
    let before: &[&str] = match several {
        true => &["task", "node", "local"],
        false => &["task"],
    };
    let prefix = |row: [&str; 3]| {
        let cells = row.into_iter().take(before.len());
        cells.map(String::from).collect::<Vec<_>>()
    };
    let last = step.tasks.saturating_sub(1).to_string();
    let names = (0..step.node_count()).map(|node| step.names.short(node));
    let longest = names.max_by_key(|name| name.len()).unwrap_or_default();
    let longest = prefix([&last, &longest, ""]);
    let mut columns = columns(&rows, before, &longest);
    if !args.masks && columns.are_wider_than(screen.width) {
        let cells = rows.iter_mut().flatten();
        cells.for_each(|row| row.retain(|(head, _)| *head != MASK));
        columns = self::columns(&rows, before, &longest);
    }
    columns.fold_to(screen.width);
    columns.write(out, before.iter().copied().chain(heads(&rows)))?;
    // A task's cells are those of any task in its place on a node, so they become lines once.
    let lines = |row: &Row| columns.lines(before.len(), cells(row));
    let lines = |rows: &Vec<Row>| rows.iter().map(lines).collect();
    let cells: Vec<Vec<_>> = rows.iter().map(lines).collect();
    for task in step.tasks() {
        let (id, local) = (task.id.to_string(), task.place.local.to_string());
        let first = prefix([&id, &step.names.short(task.place.node), &local]);
        let of_node = &cells[step.place_of(task.place.node)];
        columns.write_before(out, &first, &of_node[task.place.local as usize])?;
    }
    Ok(())
}

/// The request and the assumptions.
pub(super) fn head(out: &mut impl Write, of: Answered<'_>, screen: Screen) -> io::Result<()> {
    write_place(out, of, screen)?;
    if let Some(job) = &of.step.job {
        job.write_head(out, screen.width)?;
    }
    write_rules(out, of.step)
}

/// The rules that decided, and what they leave open.
fn write_rules(out: &mut impl Write, step: &PlannedStep) -> io::Result<()> {
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
fn write_place(out: &mut impl Write, of: Answered<'_>, screen: Screen) -> io::Result<()> {
    let Answered { on, step, .. } = of;
    writeln!(out, "machine     {}", machines(of))?;
    if step.node_count() > 1 {
        let mut planned = step.plans.iter();
        let all = match planned.all(|planned| std::ptr::eq(planned.on(on), on)) {
            true => "like it",
            false => "of the cluster",
        };
        let (count, tasks) = (step.node_count(), counts(step));
        writeln!(out, "nodes       {count} {all}, {tasks}")?;
    }
    for premise in &step.premises {
        write_named(out, screen.width, premise.what, &premise.to_string())?;
    }
    Ok(())
}

/// The machine that was given, and others that nodes of a cluster are counted as.
fn machines(of: Answered<'_>) -> String {
    let Answered { args, on, step } = of;
    let mut all: Vec<String> = Vec::new();
    if step.plans.is_empty() {
        all.push(format!("{} ({})", args.machine, on.shape()));
    }
    for planned in &step.plans {
        let node = planned.on(on);
        let text = match std::ptr::eq(node, on) {
            true => format!("{} ({})", args.machine, node.shape()),
            false => format!(
                "CPUs numbered {} ({})",
                numbered(args.numbering),
                node.shape()
            ),
        };
        if !all.contains(&text) {
            all.push(text);
        }
    }
    all.join("; ")
}

/// How the nodes of a cluster number their CPUs.
fn numbered(numbering: Option<Numbering>) -> &'static str {
    match numbering {
        None | Some(Numbering::Block) => "in blocks",
        Some(Numbering::Cyclic) => "round the sockets",
        Some(Numbering::ThreadsLast) => "with second threads last",
    }
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

/// The parts of a plan that have columns.
#[derive(Clone, Copy)]
struct Shown {
    bound: bool,
    memory: bool,
    /// The head above the devices of a `--near`.
    near: Option<&'static str>,
    /// Whether the job gets its cores in variables instead of being bound to them.
    chosen: bool,
    /// Whether Slurm's own options say which GPUs a task sees.
    seen: bool,
    /// Whether there are several L3 caches.
    caches: bool,
    /// Whether there are GPUs, and no option says which of them a task gets.
    gpus: bool,
}

/// A task's cells behind its number, each with the head of its column: CPUs where they are bound, NUMA nodes where memory
/// is.
type Row = Vec<(&'static str, String)>;

/// The rows of each different plan's tasks, by local id.
fn rows(of: Answered<'_>) -> Vec<Vec<Row>> {
    let shown = Shown::of(of);
    let rows = |planned: &Planned| {
        let parents = of.parents(planned);
        let gpus = gpu_options::visible_gpus(of, planned);
        let row = |id: usize| {
            let mut row = shown.row(planned.on(of.on), parents.as_ref(), &planned.plan, id);
            row.extend(shown.seen.then(|| (GPU, listed(gpus.get(id)))));
            row
        };
        (0..planned.plan.tasks.len()).map(row).collect()
    };
    of.step.plans.iter().map(rows).collect()
}

/// The heads of all rows, which have the same.
fn heads(rows: &[Vec<Row>]) -> impl Iterator<Item = &str> {
    let first = rows.iter().flatten().next();
    first.into_iter().flatten().map(|(head, _)| *head)
}

fn cells(row: &Row) -> impl Iterator<Item = &str> {
    row.iter().map(|(_, cell)| cell.as_str())
}

/// The columns of these rows behind those of the task's place.
fn columns<'a>(rows: &'a [Vec<Row>], before: &[&'a str], longest: &'a [String]) -> Columns {
    let mut columns = Columns::default();
    columns.fit(before.iter().copied().chain(heads(rows)));
    for row in rows.iter().flatten() {
        columns.fit(longest.iter().map(String::as_str).chain(cells(row)));
    }
    columns
}

impl Shown {
    fn of(of: Answered<'_>) -> Self {
        let Answered { args, on, step } = of;
        let has = |what: fn(&Plan) -> bool| step.plans().any(|(_, plan)| what(plan));
        let planned = || step.plans.iter();
        let machines = || planned().filter_map(|planned| planned.on(on).machine());
        let near = planned().find(|planned| planned.plan.near.is_some());
        let requested = near.and_then(|planned| planned.request.near.as_ref());
        let near = near.map(|_| match requested {
            Some(requested) if requested.what == What::Gpu => GPU,
            _ => "device",
        });
        let sees = |planned: &Planned| !gpu_options::visible_gpus(of, planned).is_empty();
        let seen = near.is_none() && planned().any(sees);
        Self {
            seen,
            bound: step.is_bound(),
            memory: has(|plan| plan.tasks.iter().any(|task| task.mems.is_some())),
            near,
            chosen: has_core_variables(args) && has(|plan| plan.chosen.is_some()),
            caches: machines().any(|machine| machine.objects(ObjectKind::L3).len() > 1),
            gpus: !seen
                && near.is_none()
                && machines().any(|machine| gpus(machine).next().is_some()),
        }
    }

    fn row(&self, on: &Node, parents: Option<&Parents<'_>>, plan: &Plan, id: usize) -> Row {
        let task = &plan.tasks[id];
        let mut row = Row::new();
        if self.bound {
            self.add_bound(&mut row, on, parents, &task.cpus);
        }
        if self.chosen {
            let chosen = plan.chosen.as_ref().map(|chosen| {
                let cpus = chosen.cpus_of_task(id);
                format!("{} (CPUs {cpus})", places(chosen.of_task(id)))
            });
            row.push(("chosen", chosen.unwrap_or_default()));
        }
        if let Some(head) = self.near {
            let [devices, distance] = devices::of_task(on, plan, id);
            row.extend([(head, devices), ("distance", distance)]);
        }
        if self.memory {
            let first = if task.prefer { " first" } else { "" };
            let mems = task.mems.as_ref().map(|mems| format!("{mems}{first}"));
            row.push(("memory", mems.unwrap_or_default()));
        }
        row
    }

    /// Adds the cells that name a task's sockets, NUMA nodes and cores.
    fn add_bound(&self, row: &mut Row, on: &Node, parents: Option<&Parents<'_>>, cpus: &CpuSet) {
        let unknown = || "?".to_string();
        let of = |known: Option<String>| known.unwrap_or_else(unknown);
        let [sockets, numa, cores] = match parents {
            Some(parents) => parents.of(cpus),
            None => [(); 3].map(|()| unknown()),
        };
        let caches = || of(parents.map(|parents| parents.caches_of(cpus)));
        let gpus = || of(parents.map(|parents| parents.gpus_of(cpus)));
        row.extend([("socket", sockets), ("NUMA", numa)]);
        row.extend(self.caches.then(|| ("L3", caches())));
        row.extend([("core", cores), ("CPUs", cpus.to_string())]);
        row.extend(self.gpus.then(|| (NEXT, gpus())));
        row.push((MASK, cpus.to_hex(on.shape().mask_width())));
    }
}

/// GPUs by number, as a list.
fn listed(gpus: Option<&Vec<u32>>) -> String {
    let numbers = gpus.into_iter().flatten().map(|number| CpuId(*number));
    numbers.collect::<CpuSet>().to_string()
}

/// Whether the job gets its cores in variables instead of being bound to them.
fn has_core_variables(args: &Question) -> bool {
    let binding = args.binding.as_ref();
    binding.is_some_and(|binding| binding.instance != Instance::Set)
}
