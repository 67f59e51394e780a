//! `--near`: each task gets cores next to its device.
//! In: the request, the step's devices. Out: a plan with each task's devices, or a refusal. Pure.
//!
//! A level beside it gives way; only `threads` still says that `-c` counts hardware threads, where
//! otherwise whole cores are given.

mod devices;
mod hand_out;
mod narrow;
mod neighbours;
mod places;
mod share;

use crate::answer::decision::Rule;
use crate::answer::plan::{Plan, TaskPlan};
use crate::answer::refusal::{NoPlace, Refusal};
use crate::owned::Reserved;
use crate::request::cpu_bind::Level;
use crate::request::near::Near;
use crate::sets::cpuset::CpuSet;
use crate::sets::ids::PuIdx;
use crate::strategy::near::neighbours::{Neighbours, failed};
use crate::strategy::near::share::CpusPerTask;
use crate::strategy::situation::Situation;

pub(crate) use crate::strategy::near::narrow::{Amount, Failure, Need, narrow};

/// Cores next to each task's devices.
pub(crate) fn choose(here: &Situation<'_>, near: &Near) -> Result<Plan, Refusal> {
    here.owns_any()?;
    // A level of threads means one of each core where slurm.conf counts cores.
    let exact = here.request.cpu_bind.level == Some(Level::Threads);
    let limit = match exact {
        true => here.threads_per_core(),
        false => here.threads_of_bound_core(),
    };
    let found = match Neighbours::of(here, near, limit) {
        Ok(found) => found,
        Err(why) => return failed(here, near, why),
    };
    if found.places.cores.is_empty() {
        // Slurm has granted CPUs that the step's cgroup lacks.
        return Ok(here.all_to_all(Rule::CgroupTooSmall));
    }
    let request = here.request;
    if found.places.cores.pus().len() < request.tasks as usize && !request.overcommit {
        return match here.owned.reserved == Reserved::Some && !near.strict {
            true => Ok(here.too_many_reserved()),
            false => Err(here.no_place(NoPlace::TooManyTasks)),
        };
    }
    let each = CpusPerTask {
        cpus: here.threads_each(limit),
        exact,
    };
    let shares = share::tasks(&found.places, each, request.tasks);
    let table = here.node.table();
    // Many tasks beyond the hardware threads have the same ones.
    let mut before: Option<(&[PuIdx], CpuSet)> = None;
    let mut tasks = Vec::with_capacity(request.tasks as usize);
    for pus in shares.iter() {
        let cpus = match before.take() {
            Some((same, cpus)) if std::ptr::eq(same, pus) => cpus,
            _ => table.cpus_of(pus),
        };
        tasks.push(TaskPlan::on(cpus.clone()));
        before = Some((pus, cpus));
    }
    let plan = here.each(tasks, Rule::Near(near.clone()));
    found.finish(here, near, plan, Some(each.cpus))
}
