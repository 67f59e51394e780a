//! Open MPI's rank file: one line per task with its node and its cores, for an mpirun that must
//! bind as the step would. Cores are numbered over the node, `slot=0-1,5`: only this form of a rank
//! file means the same to Open MPI 4.1, 5.0 and 6.0.

use std::io::Write;

use berth_placement::{CpuId, CpuSet, Node};

use super::json::allocation;
use super::step::{Answered, Planned};
use crate::Failure;
use crate::parents::Parents;

/// Why there is no rank file.
const NOTHING: &str = "nothing is bound, so there is no core to write into a rank file; ask for a level, as --cpu-bind=cores";

/// Said where a plan gives less than whole cores.
const WHOLE_CORES: &str = "a rank file names whole cores: mpirun gives a rank all hardware threads of its cores, but this \
                           plan gives fewer";

/// The whole text. Returns a note on what it cannot say.
///
/// # Errors
/// A plan that binds nothing, and those of `out`.
pub fn write(out: &mut impl Write, of: Answered<'_>) -> Result<Option<&'static str>, Failure> {
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
        let told = task.node_plan.chosen.as_ref();
        let cpus = match told {
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
