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
    // SAFETY: one of Slurm's daemons, and it has a list of task plugins: it reads cgroup.conf
    // before it loads them.
    match unsafe { CgroupConf::read(slurm.symbols) } {
        Ok(conf) => conf.constrains_cores(),
        Err(why) => {
            log::debug!("whether ConstrainCores=yes is set is unknown: {why}");
            false
        }
    }
}
