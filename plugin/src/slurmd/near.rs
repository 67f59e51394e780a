//! What a user should know of a `--near` beyond its plan: what slurmd cannot do for it yet.

use berth_placement::Near;
use slurm_sys::LaunchRequest;

/// The notes on a step's `--near`. A credential without an answer has no such resources.
pub(crate) fn notes(near: Option<&Near>, launch: &LaunchRequest<'_>) -> Vec<String> {
    let Some(near) = near else {
        return Vec::new();
    };
    let has_gres = launch.cred().is_ok_and(|cred| cred.has_step_gres());
    let gres = has_gres.then(|| {
        format!(
            "--near={near}: Slurm gave this step generic resources (GRES), and berth does not read \
             which devices these are; the tasks are placed next to all such devices of this node, in \
             PCI order; request whole nodes, or see the plan with berth plan"
        )
    });
    let own = near.own.then(|| {
        format!(
            "--near={near}: berth sets no variable that lists a task's devices, so :own changes \
             nothing here; leave it out"
        )
    });
    gres.into_iter().chain(own).collect()
}
