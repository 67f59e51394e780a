//! One line per task, as users of Open MPI know it: a bracket is a socket, a slash separates cores,
//! and a letter is a hardware thread: `[B./..][../..]`.

use std::collections::BTreeMap;
use std::io::{self, Write};

use berth_placement::CpuSet;

use super::step::Answered;
use crate::parents::Parents;

/// The whole text.
///
/// # Errors
/// Those of `out`.
pub fn write(out: &mut impl Write, of: Answered<'_>) -> io::Result<()> {
    let step = of.step;
    let parents: Vec<_> = step
        .plans
        .iter()
        .map(|planned| of.parents(planned))
        .collect();
    writeln!(out)?;
    let mut maps: BTreeMap<(usize, u32), String> = BTreeMap::new();
    for task in step.tasks() {
        let place = task.place;
        let at = step.place_of(place.node);
        let Some(parents) = &parents[at] else {
            continue;
        };
        let map = maps
            .entry((at, place.local))
            .or_insert_with(|| map(parents, &task.plan().cpus, task.node_plan.is_bound()));
        match step.node_count() {
            1 => writeln!(out, "task {} {map}", task.id)?,
            _ => writeln!(
                out,
                "task {} {} {map}",
                task.id,
                step.names.long(place.node)
            )?,
        }
    }
    Ok(())
}

fn map(parents: &Parents<'_>, cpus: &CpuSet, bound: bool) -> String {
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
