//! slurmstepd with `quarantine=on`: what runs in it and in its children before the tasks are bound stays on
//! the job's first core. These are SPANK plugins of other makers; a task prolog runs after the binding.
//! The tasks are forked by the first thread and have its CPUs until each has its own.

use berth_host::{affinity_of, bind_threads, set_affinity};
use berth_placement::{CpuSet, Node};
use slurm_spank::SpankHandle;
use slurm_sys::Layout;

use crate::site::settings::{self, Quarantine as Setting};
use crate::site::{node, standing};
use crate::stepd::own_node;
use crate::stepd::own_node::of_cores;
use crate::stepd::running_step::{Adopts, Quarantine};
use crate::stepd::state::STATE;

/// SPANK's `init`, in slurmstepd's first thread: as early as a plugin of ours can be. Whether the
/// tasks will be bound is not known yet.
pub(crate) fn begin(spank: &SpankHandle<'_>) {
    let settings = settings::current();
    let is_off = standing::is_off(&settings) || standing::is_inert();
    if settings.quarantine == Setting::Off || is_off || node::is_pretended() {
        return;
    }
    let is_extern = is_extern(spank);
    let found = cores(spank, is_extern);
    let held = found.and_then(|cores| {
        if is_extern {
            let adopts = Adopts {
                job: spank.job_id().unwrap_or_default(),
                cores,
                first_only: settings.quarantine == Setting::Extern,
            };
            // SPANK's init is called once.
            let _ = STATE.adopts.set(adopts);
            return Ok(());
        }
        let mut kept = STATE.quarantine();
        kept.stepd = std::process::id() as libc::pid_t;
        kept.core = cores.into_iter().next().unwrap_or_default();
        hold(&mut kept)
    });
    if let Err(why) = held {
        log::error!("{why}; quarantine= has no effect on this step");
    }
}

/// Goes on or ends, by whether the step's tasks will be bound. task/cgroup writes the step's cpuset after `begin`; kernels
/// before 6.2 forget a mask at such a write, so the mask is set again.
pub(crate) fn decided(is_bound: bool) {
    if !is_bound {
        return end();
    }
    let mut kept = STATE.quarantine();
    if kept.before.is_some()
        && let Err(why) = hold(&mut kept)
    {
        log::error!("{why}; quarantine= has no effect on this step");
    }
}

/// The tasks have their CPUs: slurmstepd's threads get back what they had, also those that were made
/// meanwhile.
pub(crate) fn end() {
    let mut kept = STATE.quarantine();
    let Some(before) = kept.before.take() else {
        return;
    };
    if let Err(why) = bind_threads(kept.stepd, &before, Some(&kept.core)) {
        log::error!("{why}; slurmstepd stays on the job's first core");
    }
}

fn hold(kept: &mut Quarantine) -> Result<(), String> {
    let now = affinity_of(0).map_err(|why| why.to_string())?;
    if now == kept.core {
        return Ok(());
    }
    set_affinity(0, &kept.core).map_err(|why| why.to_string())?;
    log::debug!(
        "slurmstepd keeps to the job's first core, CPUs {}",
        kept.core
    );
    kept.before.get_or_insert(now);
    Ok(())
}

fn is_extern(spank: &SpankHandle<'_>) -> bool {
    // This public number has never changed, so an unknown line gets the newest known one.
    let layout = standing::unjudged().map(|slurm| slurm.layout);
    let layout = layout.or_else(|| Layout::all().last());
    let number = layout.map(|layout| layout.constants.SLURM_EXTERN_CONT);
    number.is_some() && spank.job_stepid().ok() == number
}

/// The CPUs of the job's cores, without reserved ones: of all cores, or of the first that has some.
fn cores(spank: &SpankHandle<'_>, all: bool) -> Result<Vec<CpuSet>, String> {
    let list = spank.job_alloc_cores().map_err(|why| why.to_string())?;
    let cores = CpuSet::from_list(list).map_err(|why| why.to_string())?;
    let name = node::name_in_stepd().unwrap_or_default();
    let node = match standing::working() {
        Some(slurm) => own_node::now(slurm, &name)?,
        None => own_node::public()?,
    };
    let found = of_each(&node, &cores, if all { usize::MAX } else { 1 });
    match found.is_empty() {
        true => Err(format!("the node has none of the job's cores {list}")),
        false => Ok(found),
    }
}

/// The CPUs of at most so many cores. Reserved CPUs are out, unless there are no others.
fn of_each(node: &Node, cores: &CpuSet, most: usize) -> Vec<CpuSet> {
    let usable = of_cores(node, cores);
    let each = cores.iter().map(|core| {
        let one = of_cores(node, &std::iter::once(core).collect());
        one.intersection(&usable)
    });
    each.filter(|cpus| !cpus.is_empty()).take(most).collect()
}

#[cfg(test)]
mod tests {
    use berth_placement::{Machine, Numbering, Rules, SocketKind};

    use super::*;

    #[test]
    fn the_first_core_is_the_jobs() {
        let machine = Machine::regular(2, 2, 2, Numbering::Block).unwrap();
        let node = Node::of(machine, SocketKind::Package, Rules::default());
        let set = |list: &str| CpuSet::from_list(list).unwrap();
        let found = |cores: &str, most| {
            let found = of_each(&node, &set(cores), most);
            found.iter().map(CpuSet::to_string).collect::<Vec<_>>()
        };
        assert_eq!(found("1-3", 1), ["2-3"]);
        assert_eq!(found("1,3", usize::MAX), ["2-3", "6-7"]);
        assert_eq!(found("3", usize::MAX), ["6-7"]);
    }

    #[test]
    fn threads_get_back_what_they_had() {
        let all = affinity_of(0).unwrap();
        let one: CpuSet = all.iter().take(1).collect();
        let mut kept = Quarantine {
            core: one.clone(),
            before: None,
            stepd: std::process::id() as libc::pid_t,
        };
        let has_others = all.count() > 1;
        hold(&mut kept).unwrap();
        assert_eq!(affinity_of(0).unwrap(), one);
        assert_eq!(kept.before.is_some(), has_others);
        // A second time changes nothing of what is given back.
        hold(&mut kept).unwrap();
        assert_eq!(kept.before, has_others.then(|| all.clone()));
        *STATE.quarantine() = kept;
        end();
        assert_eq!(affinity_of(0).unwrap(), all);
    }
}
