//! The variables in the environment of a step's tasks. slurmstepd writes before the fork those that
//! are the same for all, and makes room for the rest, which each task fills in itself.

use std::collections::HashMap;
use std::sync::Arc;

use berth_placement::CpuSet;
use berth_placement::request::grid_engine::Instance;
use slurm_sys::views::{Change, StepKind};
use slurm_sys::{SlurmdConf, StepRecord};

use crate::site::node;
use crate::site::standing::Abi;
use crate::step::handover::{Handover, Member, Outcome, Served};
use crate::step::names;
use crate::stepd::devices::Devices;
use crate::stepd::running_step::Intent;
use crate::stepd::state::STATE;
use crate::stepd::task_env::{self, BindingEnv, Cores, Prepared};
use crate::stepd::{own_node, pe_hooks};

/// Removes the handover and all variables of an outer step from the environment, and writes this
/// step's outcome. Notes on the variables that list devices are added to the step's.
pub(crate) fn export(
    slurm: Abi,
    record: &mut StepRecord<'_>,
    intent: &Intent,
    handover: &mut Handover,
) {
    let devices = Devices::of(record, handover);
    let bound = match handover.outcome {
        Outcome::Bound => "1",
        Outcome::Refused => "refused",
        Outcome::Unbound | Outcome::Failed | Outcome::Off => "0",
    };
    let mut set = vec![
        (names::CPU_BIND, handover.list.as_str()),
        (names::NOTE, &handover.note),
        (names::BOUND, bound),
        (names::REQUEST, &handover.request),
        (names::RULE, &handover.rule),
    ];
    if let Some(cpuset) = &handover.cpuset {
        set.push((names::CPUSET_INFO, &cpuset.line));
    }
    let memory = handover.memory.as_ref().map(ToString::to_string);
    let masks = record
        .mem_bind(berth_placement::sets::limits::LIST_BYTES)
        .ok()
        .flatten();
    if let (Some(requested), Some(masks)) = (&memory, &masks) {
        set.extend([(names::MEM_BIND, requested.as_str()), (names::MEM, masks)]);
    }
    let cores = cores(slurm, record, handover);
    let tasks = match record.step_id().kind {
        StepKind::Interactive => of_interactive(record, handover, &cores),
        _ => entries(record, intent, &devices, handover, &cores),
    };
    // Slurm prepares a step once; what a second call would prepare is the same.
    let rooms = STATE.entries.get_or_init(|| Prepared::new(tasks)).rooms();
    // The list of all devices is as long as a task's own.
    set.extend(devices.all.iter().map(|(name, value)| (*name, &**value)));
    let mut reserve = rooms.to_vec();
    reserve.retain(|(name, _)| devices.all.iter().all(|(known, _)| known != name));
    let change = Change {
        reserve: &reserve,
        ..names::instead(&set)
    };
    if let Err(why) = record.env().change(&change) {
        log::error!("the variables about this step are not in the tasks' environment: {why}");
    }
}

/// salloc's shell is bound to nothing of its own; what it has from its pool its steps inherit, and overwrite.
fn of_interactive(
    record: &StepRecord<'_>,
    handover: &Handover,
    cores: &Cores,
) -> Vec<Arc<task_env::Entries>> {
    let all = number(handover).map(|number| number.of((&handover.own, cores), true).collect());
    let all = Arc::new(all.unwrap_or_default());
    vec![all; record.node_tasks() as usize]
}

/// How the tasks of a job in a pool find their number of CPUs.
struct Number<'a> {
    member: &'a Member,
    variable: &'static str,
}

fn number(handover: &Handover) -> Option<Number<'_>> {
    let member = handover.pool.as_ref()?.member.as_ref()?;
    // A slurmstepd serves one step, so this is one name in its life.
    let variable = member.export.clone().leak();
    Some(Number { member, variable })
}

impl Number<'_> {
    /// The variables of a task that has these CPUs. The number is Slurm's, as `cpus=` and the job's line have it; where
    /// Slurm counts cores, one of which a task has a single thread is a whole one.
    fn of(
        &self,
        (cpus, cores): (&CpuSet, &Cores),
        openmp_is_set: bool,
    ) -> impl Iterator<Item = (&'static str, String)> + use<> {
        let cores = u32::try_from(cores.under(cpus).count()).unwrap_or(u32::MAX);
        let count = self.member.count(cpus);
        let count = if self.member.threads > 1 {
            count.max(cores)
        } else {
            count
        };
        task_env::in_pool(self.variable, count, openmp_is_set)
    }
}

/// The other variables of each task.
fn entries(
    record: &StepRecord<'_>,
    intent: &Intent,
    devices: &Devices,
    handover: &Handover,
    cores: &Cores,
) -> Vec<Arc<task_env::Entries>> {
    if let Some(Served { binding, chosen }) = &handover.served
        && binding.instance == Instance::Pe
    {
        pe_hooks::ask(chosen, &record.node_name().unwrap_or_default());
    }
    let variables = match &handover.served {
        Some(Served { binding, chosen }) => {
            BindingEnv::new(binding, chosen, |name| record.env().has(name))
        }
        None => BindingEnv::nothing(),
    };
    let number = number(handover);
    // A script's steps inherit its variables, and each of their tasks has fewer CPUs.
    let is_set = record.is_batch() || record.env().has("OMP_NUM_THREADS");
    let mut known = HashMap::new();
    let mut places = devices.places();
    let of_task = |id: usize| {
        let place = places.next();
        let cpus = match intent {
            Intent::Bind(sets) => sets.get(id),
            Intent::Leave | Intent::Own(_) => None,
        };
        let (at, variables) = variables.of_task(id);
        let entries = known.entry((cpus, at, place)).or_insert_with(|| {
            let has_threads =
                is_set || variables.iter().any(|(name, _)| *name == "OMP_NUM_THREADS");
            let own = cpus.unwrap_or(&handover.own);
            let pool = number.iter();
            let pool: Vec<_> = pool
                .flat_map(|number| number.of((own, cores), has_threads))
                .collect();
            let cpus = cpus.map_or_else(task_env::unbound, |cpus| cores.bound(cpus));
            Arc::new([&cpus, variables, devices.at(place), &pool].concat())
        });
        entries.clone()
    };
    (0..record.node_tasks() as usize).map(of_task).collect()
}

/// The core of each CPU, as the step was planned.
fn cores(slurm: Abi, record: &StepRecord<'_>, handover: &Handover) -> Cores {
    if handover.by_tree {
        match own_node::now(slurm, &record.node_name().unwrap_or_default()) {
            Ok(node) => return Cores::of_node(&node),
            Err(why) => log::error!("the tasks' cores are reported by slurmd's map: {why}"),
        }
    }
    // SAFETY: the layout is the running release's, and the view ends here.
    let conf = unsafe { SlurmdConf::current(slurm.layout, slurm.symbols) };
    let conf = conf.filter(|conf| node::sane(conf).is_ok());
    let map = conf.as_ref().and_then(SlurmdConf::block_map);
    let map = map.unwrap_or_default();
    let stride = conf.map_or(1, |conf| node::stride(slurm, &conf));
    Cores::of(&map, stride)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step::handover::InPool;

    /// A member with eight hardware threads, where Slurm's CPU has some of them.
    fn variables(threads: u32, cpus: &str) -> Vec<(&'static str, String)> {
        let member = Member {
            cpus: CpuSet::from_list("0-7").unwrap(),
            threads,
            export: "NCPUS".into(),
            ..Member::default()
        };
        let handover = Handover {
            pool: Some(InPool {
                member: Some(member),
                ..InPool::default()
            }),
            ..Handover::default()
        };
        let number = number(&handover).unwrap();
        let cores = Cores::of(&[0, 1, 2, 3, 4, 5, 6, 7], 2);
        let cpus = CpuSet::from_list(cpus).unwrap();
        number.of((&cpus, &cores), false).collect()
    }

    #[test]
    fn a_task_counts_its_cpus_as_slurm_does() {
        for (threads, cpus, count) in [
            (0, "0-7", "8"),
            (1, "0-3", "4"),
            // slurmd counts cores: two threads are one CPU of Slurm's.
            (2, "0-7", "4"),
            (2, "0-1", "1"),
            (2, "0", "1"),
            (2, "0,2,4", "3"),
        ] {
            let expected = ["NCPUS", "OMP_NUM_THREADS"].map(|name| (name, count.to_owned()));
            assert_eq!(variables(threads, cpus), expected, "{threads} {cpus}");
        }
    }
}
