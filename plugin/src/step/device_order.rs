//! The order in which a step's tasks are to see its GPUs, for slurmstepd, which writes the variables.

use berth_placement::request::near::What;
use berth_placement::sets::limits::TRES_BIND_BYTES;
use berth_placement::{DeviceOrder, Near, Plan, Request};
use slurm_sys::LaunchRequest;

use crate::step::GpuGrant;

/// What a launch request says of the step's GPUs. `are_listed`: Slurm gave it some, and lists them.
/// Source: Slurm writes each task's list after berth's last hook (`gres_g_task_set_env`): the devices that it bound to the
/// task, or with `none` all of the step's.
pub(crate) fn gpu_grant(launch: &LaunchRequest<'_>, are_listed: bool) -> GpuGrant {
    // A list that is too long is a binding of Slurm's too.
    let bind = launch.tres_bind(TRES_BIND_BYTES);
    let bind = bind.map_or_else(|why| why.to_string(), Option::unwrap_or_default);
    GpuGrant {
        are_listed,
        are_bound: !bind.is_empty() || launch.accel_bind_type() != 0,
        all_in_each: bind.contains("gpu:none"),
    }
}

/// The order, unless Slurm itself lists each task's devices or no variable can. The second value is a note to the user
/// whose `:own` has no effect.
pub(crate) fn of(
    request: &Request,
    plan: &Plan,
    gpus: &GpuGrant,
) -> (Option<DeviceOrder>, Option<String>) {
    let Some((near, nearby)) = request.near.as_ref().zip(plan.near.as_ref()) else {
        return (None, None);
    };
    if gpus.are_bound {
        let is_lost = near.own && gpus.all_in_each;
        return (None, is_lost.then(|| bound_by_slurm(near)));
    }
    let order = DeviceOrder::of(near, nearby, gpus.are_listed);
    let note = order.is_none().then(|| too_many(near)).flatten();
    (order, note)
}

fn bound_by_slurm(near: &Near) -> String {
    format!(
        "--near={near}: with --gpu-bind=none Slurm lists all of the step's GPUs in each task, so \
         :own changes nothing here; leave out --gpu-bind"
    )
}

fn too_many(near: &Near) -> Option<String> {
    let own = near.own && near.what == What::Gpu;
    own.then(|| {
        format!(
            "--near={near}: this node has more GPUs than berth lists in a variable, so :own changes \
             nothing here; leave it out"
        )
    })
}
