//! Open MPI's rank file: one line per task with its node and its cores, for an mpirun that must
//! bind as the step would. Cores are numbered over the node, `slot=0-1,5`: only this form of a rank
//! file means the same to Open MPI 4.1, 5.0 and 6.0.

use std::io::Write;

use berth_placement::{CpuId, CpuSet, Node};

use super::json::allocation;
use super::owns::is_listed;
use super::step::PlannedStep;
use crate::Failure;
use crate::args::PlanArgs;
use crate::parents::Parents;
use crate::progress::watched;
use crate::say;

/// The whole text.
///
/// # Errors
/// A plan that binds nothing, and those of `out`.
pub(crate) fn write(
    out: &mut impl Write,
    args: &PlanArgs,
    on: &Node,
    step: &PlannedStep,
) -> Result<(), Failure> {
    let known = step.planned().iter();
    let parents: Option<Vec<_>> = known
        .map(|planned| Some(Parents::new(planned.on(on).machine()?, args.socket_kind())))
        .collect();
    let Some(parents) = parents.filter(|_| step.is_bound()) else {
        return Err(
            "nothing is bound, so there is no core to write into a rank file; ask for a level, as \
             --cpu-bind=cores"
                .into(),
        );
    };
    writeln!(out, "# allocation: {}", allocation(step))?;
    if is_listed(args) {
        writeln!(
            out,
            "# cores have their numbers on the whole node; where a cgroup confines the job, Open \
             MPI numbers the job's cores from 0"
        )?;
    }
    let mut narrow = false;
    for task in watched(step.tasks(), step.tasks) {
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
    if narrow {
        say::note(
            "a rank file names whole cores: mpirun gives a rank all hardware threads of its \
             cores, but this plan gives fewer",
        );
    }
    Ok(())
}
