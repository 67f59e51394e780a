//! `--near`: each task gets cores next to its device.
//! In: the request, the step's devices. Out: a plan with each task's devices, or a refusal. Pure.
//!
//! A level beside it gives way; only `threads` still says that `-c` counts hardware threads, where
//! otherwise whole cores are given.

mod devices;
mod next_to;
mod notes;
mod places;
mod share;

use crate::answer::decision::Rule;
use crate::answer::near_refusal::NearRefusal;
use crate::answer::plan::{Plan, TaskPlan};
use crate::answer::refusal::{NoPlace, Refusal};
use crate::request::Request;
use crate::request::cpu_bind::Level;
use crate::request::near::Near;
use crate::sets::cpuset::CpuSet;
use crate::sets::ids::PuIdx;
use crate::strategy::near::devices::Devices;
use crate::strategy::near::next_to::NextTo;
use crate::strategy::near::places::{Cores, Group};
use crate::strategy::near::share::Wanted;
use crate::strategy::situation::Situation;
use crate::topology::machine::Machine;
use crate::topology::surroundings::Surroundings;

/// The step's devices and usable cores, and its tasks by the place of their devices.
struct Neighbours<'a> {
    machine: &'a Machine,
    on: &'a Surroundings,
    devices: Devices,
    cores: Cores,
    groups: Vec<Group>,
}

/// Cores next to each task's devices.
pub(crate) fn choose(here: &Situation<'_>, near: &Near) -> Result<Plan, Refusal> {
    here.owns_any()?;
    let found = match Neighbours::of(here, near) {
        Ok(found) => found,
        Err(why) => return failed(here, near, why),
    };
    if found.cores.is_empty() {
        // Slurm has granted CPUs that the step's cgroup lacks.
        return Ok(here.all_to_all(Rule::CgroupTooSmall));
    }
    let request = here.request;
    if found.cores.pus().len() < request.tasks as usize && !request.overcommit {
        return Err(too_many(here));
    }
    let wanted = Wanted {
        cpus: request.cpus_per_task,
        exact: request.cpu_bind.level == Some(Level::Threads),
    };
    let shares = share::tasks(&found.groups, &found.cores, wanted, request.tasks);
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
    found.finish(here, near, plan)
}

/// Another strategy's plan, made among the cores next to each task's devices alone: it plans each
/// group of tasks as if the step owned nothing else.
pub(crate) fn narrow(
    here: &Situation<'_>,
    near: &Near,
    strategy: impl Fn(&Situation<'_>) -> Result<Plan, Refusal>,
) -> Result<Plan, Refusal> {
    here.owns_any()?;
    let found = match Neighbours::of(here, near) {
        Ok(found) => found,
        Err(why) => return failed(here, near, why),
    };
    if found.cores.is_empty() {
        return strategy(here);
    }
    let mut tasks = vec![TaskPlan::on(CpuSet::new()); here.request.tasks as usize];
    let mut whole: Option<Plan> = None;
    for (group, cores) in share::by_group(&found.groups, &found.cores) {
        let pus = cores
            .iter()
            .flat_map(|core| found.cores.of(*core).iter().copied());
        let owned = here.owned.within(&here.node.table().cpus(pus), here.node);
        let request = Request {
            tasks: group.tasks.len() as u32,
            near: None,
            ..here.request.clone()
        };
        let plan = strategy(&Situation {
            request: &request,
            owned: &owned,
            ..*here
        })?;
        for (at, task) in group.tasks.iter().zip(&plan.tasks) {
            tasks[*at as usize] = match task.cpus.is_empty() {
                true => TaskPlan::on(owned.cpus.clone()),
                false => task.clone(),
            };
        }
        match &mut whole {
            None => whole = Some(plan),
            Some(whole) => whole.notes.extend(plan.notes),
        }
    }
    let Some(first) = whole else {
        return strategy(here);
    };
    let mut plan = here.each(tasks, first.decision.rule);
    plan.notes = first.notes;
    plan.notes.dedup();
    found.finish(here, near, plan)
}

impl<'a> Neighbours<'a> {
    fn of(here: &Situation<'a>, near: &Near) -> Result<Self, NearRefusal> {
        let node = here.node;
        let Some((machine, on)) = node.machine().zip(node.surroundings()) else {
            return Err(NearRefusal::Unknown(near.clone()));
        };
        let request = here.request;
        let devices = devices::of(near, request.gres.as_ref(), request.tasks, machine)?;
        let cores = places::cores(here);
        let groups = places::groups(here, (machine, on), &devices, &cores);
        Ok(Self {
            machine,
            on,
            devices,
            cores,
            groups,
        })
    }

    /// The plan with each task's devices, and with what the user should know of them.
    fn finish(self, here: &Situation<'_>, near: &Near, mut plan: Plan) -> Result<Plan, Refusal> {
        let next_to = NextTo::of(self.machine, self.on, &self.devices);
        let nearby = next_to.measured((self.machine, self.on), self.devices, &plan.tasks);
        let found = (&nearby, &next_to);
        let notes = notes::of(here, near, found, &plan.tasks, &self.cores)?;
        plan.notes.extend(notes);
        plan.near = Some(nearby);
        Ok(plan)
    }
}

/// There are no such devices, or too few: the step is refused or runs unbound, as with a `--binding`
/// that cannot be served.
fn failed(here: &Situation<'_>, near: &Near, why: NearRefusal) -> Result<Plan, Refusal> {
    match near.strict {
        true => Err(why.into()),
        false => here.wish_failed(why.to_string()),
    }
}

fn too_many(here: &Situation<'_>) -> Refusal {
    Refusal::NoPlace {
        why: NoPlace::TooManyTasks,
        tasks: here.request.tasks,
        cpus_per_task: here.request.cpus_per_task,
        threads_per_core: here.threads_per_core(),
        own: here.owned.cpus.clone(),
    }
}
