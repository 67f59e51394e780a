//! What a user should know of a `--near` beyond its plan: what slurmd cannot do for it yet.

use berth_placement::Near;
use slurm_sys::LaunchRequest;

/// Whether a `:strict` can be kept: not where the step has some devices and we do not know which.
///
/// # Errors
/// A text for the user.
pub(crate) fn may_be_strict(near: Option<&Near>, launch: &LaunchRequest<'_>) -> Result<(), String> {
    let strict = near.filter(|near| near.strict && has_gres(launch));
    strict.map_or(Ok(()), |near| {
        Err(format!(
            "--near={near} is strict; Slurm gave this step generic resources (GRES), and berth does \
             not read which devices these are; leave out :strict"
        ))
    })
}

/// Whether the step has generic resources. A credential without an answer has none.
pub(crate) fn has_gres(launch: &LaunchRequest<'_>) -> bool {
    launch.cred().is_ok_and(|cred| cred.has_step_gres())
}

/// The notes on a step's `--near`.
pub(crate) fn notes(near: Option<&Near>, launch: &LaunchRequest<'_>) -> Vec<String> {
    let Some(near) = near else {
        return Vec::new();
    };
    let gres = has_gres(launch).then(|| {
        format!(
            "--near={near}: Slurm gave this step generic resources (GRES), and berth does not read \
             which devices these are; the tasks are placed next to all such devices of this node, in \
             PCI order; request whole nodes, or see the plan with berth plan"
        )
    });
    gres.into_iter().collect()
}
