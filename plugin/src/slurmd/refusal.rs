//! Why a launch is not planned, and what srun is told of a refused one. srun prints the text of every node that sends
//! one, so a step that several nodes refuse is explained by the first of them alone. Each slurmd sees in the
//! credential what the nodes before it got, and finds out by planning whether they refuse too.

use berth_placement::{Allocation, Refusal, RefusalKind};
use libc::c_int;
use slurm_sys::{LaunchRequest, Layout};

use crate::site::node;
use crate::site::standing::NAME;
use crate::slurmd::{discovery, near};
use crate::step::convert;
use crate::step::own_options::{self, Own};

/// The step's first nodes that are looked at: the launch hook must not take long.
const FIRST: usize = 64;
/// The nodes right before its own that are looked at.
const RIGHT_BEFORE: usize = 8;
/// The job's nodes among which both are sought.
const MOST_NODES: u32 = 4096;
/// The unlike shares that are planned.
const MOST_SHARES: usize = 4;
/// The longest list for which that is done, in bytes. A user may send megabytes, and each plan reads
/// them again; every node then sends its text.
const MOST_LIST: usize = 4 << 10;

/// Why a launch is not planned.
pub(crate) enum NotPlanned {
    /// We leave the step alone: off, or a record that cannot be trusted.
    FallBack(String),
    /// The step must not run as requested.
    Refused(RefusalKind, String),
}

impl NotPlanned {
    /// A request that cannot be read, or must not be served.
    pub(crate) fn refused(why: impl ToString) -> Self {
        Self::Refused(RefusalKind::Bind, why.to_string())
    }
}

impl From<Refusal> for NotPlanned {
    fn from(why: Refusal) -> Self {
        let text = match why.lacks_tree() && discovery::is_unfinished() {
            true => "the request needs to know the node's objects, and the node is still being discovered; try again".into(),
            false => why.to_string(),
        };
        Self::Refused(why.kind(), text)
    }
}

impl From<slurm_sys::Error> for NotPlanned {
    fn from(why: slurm_sys::Error) -> Self {
        Self::FallBack(why.to_string())
    }
}

/// A node's part of the step.
pub(crate) struct Share {
    /// Its tasks.
    pub tasks: u32,
    /// The step's allocation there.
    pub allocation: Allocation,
    /// Its place among the job's nodes.
    pub index: u32,
}

/// The text for srun, unless a node before this one says it. `refuses` plans a share on this node.
/// Nodes of another shape are not planned for, so the first node of each shape speaks.
pub(crate) fn text_for_srun(
    launch: &LaunchRequest<'_>,
    (node_id, layout): (u32, &Layout),
    why: &str,
    refuses: impl Fn(Share) -> bool,
) -> Option<String> {
    if launch.nnodes() < 2 {
        return Some(format!("berth: {why}"));
    }
    let name = node::name().unwrap_or_default();
    // With -m arbitrary the step's nodes are not in the job's order, and each node speaks.
    let is_ordered = launch.task_dist() & 0xf != layout.constants.SLURM_DIST_ARBITRARY;
    let is_short = launch.cpu_bind(MOST_LIST).is_ok() && launch.mem_bind(MOST_LIST).is_ok();
    let before = (is_ordered && is_short).then(|| shares_before(launch, node_id, &name));
    let before = before.flatten().unwrap_or_default();
    let is_said = before.into_iter().any(refuses);
    (!is_said).then(|| format!("berth: node {name}: {why}"))
}

/// The unlike shares of nodes before this one. The credential is locked only here: `refuses` may
/// read it again.
fn shares_before(launch: &LaunchRequest<'_>, node_id: u32, name: &str) -> Option<Vec<Share>> {
    let cred = launch.cred().ok()?;
    let own_index = cred.node_index(name).ok()?;
    let own = cred.node_cores(own_index).ok()?;
    // The cores of a node of the job, if the step has any there.
    let cores = |index: u32| {
        let node = cred.node_cores(index).ok()?;
        let cores = cred.step_cores(&node).ok()?;
        (!cores.is_empty()).then_some((index, node, cores))
    };
    let first = (0..own_index.min(MOST_NODES)).filter_map(cores);
    let before = (own_index.saturating_sub(MOST_NODES)..own_index).rev();
    let before = before.filter_map(cores);
    let first = (0..node_id).zip(first).take(FIRST);
    let before = (0..node_id).rev().zip(before).take(RIGHT_BEFORE);
    let options = launch.options(NAME, Own::longest()).unwrap_or_default();
    let near = own_options::of_step(&options).get(Own::Near).is_some();
    let mut seen = Vec::new();
    let mut shares = Vec::new();
    for (rank, (index, node, cores)) in first.chain(before) {
        let is_alike = (node.sockets, node.cores_per_socket) == (own.sockets, own.cores_per_socket);
        let tasks = u32::from(launch.tasks_here(rank)?);
        let allocation = convert::allocation(cores, &node);
        if !is_alike || shares.len() == MOST_SHARES {
            continue;
        }
        // The devices count only for a --near.
        let given = near.then(|| near::gres_of_node(&cred, index));
        let what = (tasks, allocation.clone(), given);
        if !seen.contains(&what) {
            seen.push(what);
            shares.push(Share {
                tasks,
                allocation,
                index,
            });
        }
    }
    Some(shares)
}

/// Slurm's code of a refusal.
pub(crate) fn slurm_code(kind: RefusalKind, layout: &Layout) -> c_int {
    let c = &layout.constants;
    let bind = c.ESLURMD_CPU_BIND_ERROR;
    let code = match kind {
        RefusalKind::Bind => bind,
        RefusalKind::Layout => c.ESLURMD_CPU_LAYOUT_ERROR.unwrap_or(bind),
    };
    code as c_int
}
