//! A plan for other programs: the line that answers a line of a file, Open MPI's drawing of each task's CPUs, and its
//! rank file.

use std::collections::BTreeMap;
use std::io::{self, Write};

use berth_placement::{CpuId, CpuSet, Node};

use super::json::allocation;
use super::step::{Answered, Planned, PlannedStep, Task};
use super::{json, masks, notes};
use crate::Failure;
use crate::args::Format;
use crate::parents::Parents;

/// Why there is no rank file.
const NOTHING: &str = "nothing is bound, so there is no core to write into a rank file; ask for a level, as --cpu-bind=cores";

/// Said of a salloc without a step.
pub(super) const ALONE: &str = "salloc alone binds no task, so only the formats table and json show it; give a step \
                                inside, as --job 'salloc -n8' 'srun ./app'";

/// Said where a plan gives less than whole cores.
const WHOLE_CORES: &str = "a rank file names whole cores: mpirun gives a rank all hardware threads of its cores, but this \
                           plan gives fewer";

/// The whole text. Returns a note on what it cannot say.
///
/// # Errors
/// A plan that binds nothing, and those of `out`.
pub(crate) fn rank_file(
    out: &mut impl Write,
    of: Answered<'_>,
) -> Result<Option<&'static str>, Failure> {
    let Answered { on, step, .. } = of;
    let parents = parents(of);
    let parents = parents.filter(|_| step.is_bound()).ok_or(NOTHING)?;
    writeln!(out, "# allocation: {}", allocation(step))?;
    if step.plans.iter().any(|planned| is_part(planned, on)) {
        writeln!(
            out,
            "# cores have their numbers on the whole node; where a cgroup confines the job, Open \
             MPI numbers the job's cores from 0"
        )?;
    }
    let mut narrow = false;
    for task in step.tasks() {
        let cpus = match &task.node_plan.chosen {
            Some(chosen) => chosen.cpus_of_task(task.place.local as usize),
            None => task.plan().cpus.clone(),
        };
        let parents = &parents[step.place_of(task.place.node)];
        let mut cores = CpuSet::new();
        for core in parents.cores_of(&cpus) {
            cores.insert(CpuId(core.id.0));
            narrow |= !parents
                .cpus_of(core.id)
                .iter()
                .all(|cpu| cpus.contains(*cpu));
        }
        writeln!(
            out,
            "rank {}={} slot={cores}",
            task.id,
            step.names.long(task.place.node),
        )?;
    }
    Ok(narrow.then_some(WHOLE_CORES))
}

/// The cores of each different node as Open MPI counts them: with those that slurmd leaves out, on the machine as
/// it was found.
fn parents(of: Answered<'_>) -> Option<Vec<Parents<'_>>> {
    let Answered { args, on, step } = of;
    let known = step.plans.iter();
    let of_node = known.map(|planned| {
        let machine = planned.on(on).whole_machine()?;
        Some(Parents::new(machine, args.socket_kind()))
    });
    of_node.collect()
}

/// Whether the job may have less than its node, so that a cgroup may confine it.
fn is_part(planned: &Planned, on: &Node) -> bool {
    let on = planned.on(on);
    let all = on.machine().map(|machine| machine.cpus().count());
    let has_all = all == Some(planned.plan.own.count()) && on.efficiency_cpus().is_none();
    !has_all || planned.plan.cpuset.is_some()
}

/// The whole text.
///
/// # Errors
/// Those of `out`.
pub(crate) fn brackets(out: &mut impl Write, of: Answered<'_>) -> io::Result<()> {
    let step = of.step;
    let parents = of.all_parents();
    writeln!(out)?;
    let mut maps: BTreeMap<(usize, u32), String> = BTreeMap::new();
    for task in step.tasks() {
        let place = task.place;
        let at = step.place_of(place.node);
        let Some(parents) = &parents[at] else {
            continue;
        };
        let map_of = maps
            .entry((at, place.local))
            .or_insert_with(|| drawing(parents, &task.plan().cpus, task.node_plan.is_bound()));
        match step.node_count() {
            1 => writeln!(out, "task {} {map_of}", task.id)?,
            _ => writeln!(
                out,
                "task {} {} {map_of}",
                task.id,
                step.names.long(place.node)
            )?,
        }
    }
    Ok(())
}

fn drawing(parents: &Parents<'_>, cpus: &CpuSet, bound: bool) -> String {
    if !bound {
        return "not bound".into();
    }
    let letter = |cpu| if cpus.contains(cpu) { 'B' } else { '.' };
    let core = |id: &_| {
        parents
            .cpus_of(*id)
            .iter()
            .map(|cpu| letter(*cpu))
            .collect::<String>()
    };
    let socket = |cores: &Vec<_>| cores.iter().map(core).collect::<Vec<_>>().join("/");
    let sockets = parents
        .sockets
        .iter()
        .map(|cores| format!("[{}]", socket(cores)));
    sockets.collect()
}

/// The line in a format; its notes stand behind ` # `.
///
/// # Errors
/// A format that has several lines.
pub fn one_line(of: Answered<'_>, format: Option<Format>) -> Result<String, Failure> {
    let step = of.step;
    let format = match format.unwrap_or(Format::Masks) {
        format @ (Format::Cpus | Format::Masks) => format,
        Format::Json => return json::line(of),
        _ => {
            let why = "--batch prints one line per request; use --format masks, cpus or json";
            return Err(why.into());
        }
    };
    if step.tasks == 0 {
        return Err(ALONE.into());
    }
    let mut line = listed(format, step).join(" ");
    let of_job = step.job.iter().flat_map(|job| &job.steps);
    let of_job = of_job.map(|inside| match inside.planned() {
        Some(planned) => format!(
            "{}: {}",
            inside.title(),
            listed(format, &planned.step).join(" ")
        ),
        None => inside.title(),
    });
    for note in of_job.chain(notes(of)) {
        line.push_str(&format!(" # {}", joined(&note)));
    }
    Ok(line)
}

/// A reason in place of the line.
#[must_use]
pub fn no_line(why: &str, format: Option<Format>) -> String {
    let why = joined(why);
    match format {
        Some(Format::Json) => json::no_plan(&why),
        _ => format!("error: {why}"),
    }
}

/// Each task's CPUs, in task order; none of a task that is not bound.
pub(super) fn cpus(step: &PlannedStep) -> impl Iterator<Item = Option<String>> {
    let of_task = |task: Task<'_>| {
        let bound = task.node_plan.is_bound();
        bound.then(|| task.plan().cpus.to_string())
    };
    step.tasks().map(of_task)
}

/// The text of each node's launch message; or each task's CPUs as a text, `none` for a task that is not bound. A step
/// without any bound task has one text then.
pub(super) fn listed(format: Format, step: &PlannedStep) -> Vec<String> {
    let cpus = |cpus: Option<String>| cpus.unwrap_or_else(|| "none".into());
    match step.is_bound() {
        _ if format == Format::Masks => {
            let nodes = 0..step.node_count();
            nodes.map(|node| masks(step.plan_of(node))).collect()
        }
        true => self::cpus(step).map(cpus).collect(),
        false => vec![cpus(None)],
    }
}

fn joined(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
