//! What srun is told of a refused launch. srun prints the text of every node that sends one, so a
//! step that several nodes refuse is explained by the first of them alone. Each slurmd sees in the
//! credential what the nodes before it got, and finds out by planning whether they refuse too.

use berth_placement::{Allocation, RefusalKind};
use libc::c_int;
use slurm_sys::{LaunchRequest, Layout};

use crate::planning::convert;
use crate::site::node;

/// The number of the job's nodes that are looked through: the launch hook must not take long.
const MOST_NODES: u32 = 4096;
/// The number of unlike shares that are planned, for the same reason.
const MOST_SHARES: usize = 8;

/// A node's tasks and its part of the step.
pub(crate) type Share = (u32, Allocation);

/// The text for srun, unless a node before this one says it. `refuses` plans a share on this node.
/// Nodes of another shape are not planned for, so the first node of each shape speaks.
pub(crate) fn text(
    launch: &LaunchRequest<'_>,
    node_id: u32,
    why: &str,
    refuses: impl Fn(Share) -> bool,
) -> Option<String> {
    if launch.nnodes() < 2 {
        return Some(format!("berth: {why}"));
    }
    let name = node::name().unwrap_or_default();
    let before = shares_before(launch, node_id, &name).unwrap_or_default();
    let is_said = before.into_iter().any(refuses);
    (!is_said).then(|| format!("berth: node {name}: {why}"))
}

/// The shares of the step's nodes before this one, each kind once; nothing where the step's nodes
/// are not in the job's order (`-m arbitrary`).
fn shares_before(launch: &LaunchRequest<'_>, node_id: u32, name: &str) -> Option<Vec<Share>> {
    let cred = launch.cred().ok()?;
    let own_index = cred.node_index(name).ok()?;
    let own = cred.node_cores(own_index).ok()?;
    let (mut shares, mut rank) = (Vec::<Share>::new(), 0);
    for index in 0..own_index.min(MOST_NODES) {
        let node = cred.node_cores(index).ok()?;
        let cores = cred.step_cores(&node).ok()?;
        if cores.is_empty() {
            continue;
        }
        let tasks = u32::from(launch.tasks_here(rank)?);
        rank += 1;
        let is_alike = (node.sockets, node.cores_per_socket) == (own.sockets, own.cores_per_socket);
        let share = (tasks, convert::allocation(cores, &node));
        if is_alike && shares.len() < MOST_SHARES && !shares.contains(&share) {
            shares.push(share);
        }
    }
    (rank == node_id).then_some(shares)
}

/// Slurm's code of a refusal.
pub(crate) fn code(kind: RefusalKind, layout: &Layout) -> c_int {
    let c = &layout.constants;
    let bind = c.ESLURMD_CPU_BIND_ERROR;
    let code = match kind {
        RefusalKind::Bind => bind,
        RefusalKind::Layout => c.ESLURMD_CPU_LAYOUT_ERROR.unwrap_or(bind),
    };
    code as c_int
}
