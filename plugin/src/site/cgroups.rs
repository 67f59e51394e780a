//! Whether Slurm's own cgroups confine a step to the CPUs that slurmd counts for its cores.

use berth_placement::Rules;
use slurm_sys::CgroupConf;
use slurm_sys::process::is_slurms_daemon;

use crate::site::standing::{self, Abi};

/// The rules with the answer. Up to 23.02 slurmd reads cgroup.conf again without a restart, so the
/// answer is asked each time; on machines that slurmd counts as they are, it changes nothing.
pub(crate) fn confine(slurm: Abi, rules: Rules) -> Rules {
    Rules {
        constrain_cores: constrain_cores(slurm),
        ..rules
    }
}

/// `TaskPlugin=task/cgroup` with `ConstrainCores=yes`, in slurmd and slurmstepd.
pub(crate) fn constrain_cores(slurm: Abi) -> bool {
    if !is_slurms_daemon() || !standing::has_task_cgroup(slurm) {
        return false;
    }
    match conf(slurm) {
        Ok(conf) => conf.constrains_cores(),
        Err(why) => {
            log::debug!("whether ConstrainCores=yes is set is unknown: {why}");
            false
        }
    }
}

/// `TaskPlugin=task/cgroup` with `ConstrainDevices=yes`; `None` where that cannot be found out.
pub(crate) fn constrain_devices(slurm: Abi) -> Option<bool> {
    if !standing::has_task_cgroup(slurm) {
        return Some(false);
    }
    let conf = is_slurms_daemon().then(|| conf(slurm))?;
    conf.ok().map(|conf| conf.constrains_devices())
}

/// The settings; only in one of Slurm's daemons that has a list of task plugins.
fn conf(slurm: Abi) -> Result<CgroupConf, slurm_sys::Error> {
    // SAFETY: the callers asked for that: such a daemon reads cgroup.conf before it loads the plugins.
    unsafe { CgroupConf::read(slurm.symbols) }
}
