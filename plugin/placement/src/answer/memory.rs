//! Each task's NUMA nodes, after its CPUs are known.
//! In: the policy, the tasks' CPUs, the machine. Out: node sets, or a refusal.
//! Pure. Source: `get_memset`; a request that fails a task there is refused here, before the task
//! starts.

use std::collections::{BTreeSet, HashMap};

use crate::answer::note::{MemoryNote, Note};
use crate::answer::plan::Plan;
use crate::answer::refusal::{MemoryRefusal, Refusal};
use crate::owned::Owned;
use crate::request::fixes::Fixes;
use crate::request::mem_bind::MemPolicy;
use crate::request::{Claims, Request};
use crate::sets::cpuset::CpuSet;
use crate::sets::cpuset::NodeSet;
use crate::sets::ids::{LocalId, NumaId};
use crate::topology::node::Node;

/// Puts each task's NUMA nodes into a plan, by the CPUs that the plan gives it. `local` leaves out nodes
/// whose memory others want for themselves, as long as a task has others.
///
/// # Errors
/// [`Refusal::Memory`]
pub(crate) fn bind(
    plan: &mut Plan,
    (request, node): (&Request, &Node),
    owned: &Owned,
    claims: &Claims,
) -> Result<(), Refusal> {
    let Some(policy) = &request.mem_bind.policy else {
        return Ok(());
    };
    let job_cpus = request.job_cpus.unwrap_or(owned.count);
    let wraps_at = job_cpus.saturating_mul(node.shape().threads.max(1));
    let mut memory = Memory::new(policy, node, wraps_at)?;
    // task/affinity knows no cpusets.
    if node.rules().fixes != Fixes::NONE {
        memory.wanted = claims.memory.clone();
    }
    for (id, task) in (0..).zip(&mut plan.tasks) {
        let unbound = task.cpus.is_empty();
        let cpus = if unbound { &owned.cpus } else { &task.cpus };
        let mut mems = memory.of_task(LocalId(id), cpus)?;
        if request.mem_bind.prefer {
            // The kernel takes one node; task/affinity gives it the lowest.
            mems = mems.lowest().into_iter().collect();
        }
        memory
            .shared
            .extend(mems.intersection(&memory.wanted).iter());
        task.mems = Some(mems);
        task.prefer = request.mem_bind.prefer;
    }
    plan.notes.extend(memory.notes());
    Ok(())
}

/// The facts on which the node sets of a step's tasks depend.
struct Memory<'a> {
    found: NodeSet,
    node: &'a Node,
    /// Nodes near the CPUs of earlier tasks.
    known: HashMap<CpuSet, NodeSet>,
    policy: &'a MemPolicy,
    /// The number of tasks after which `rank` begins again.
    rank_wraps_at: u32,
    /// Nodes whose memory other jobs' cpusets want for themselves.
    wanted: NodeSet,
    /// Those of them that tasks have all the same.
    shared: BTreeSet<NumaId>,
    /// Those of them that are left out.
    left_out: BTreeSet<NumaId>,
}

impl<'a> Memory<'a> {
    fn new(
        policy: &'a MemPolicy,
        node: &'a Node,
        rank_wraps_at: u32,
    ) -> Result<Self, MemoryRefusal> {
        let machine = node.machine().ok_or_else(|| MemoryRefusal::Unknown {
            requested: policy.clone(),
        })?;
        let found = machine.numa_nodes();
        if found.is_empty() {
            return Err(MemoryRefusal::NoNodes(policy.clone()));
        }
        Ok(Self {
            found,
            node,
            known: HashMap::new(),
            policy,
            rank_wraps_at: rank_wraps_at.max(1),
            wanted: NodeSet::default(),
            shared: BTreeSet::new(),
            left_out: BTreeSet::new(),
        })
    }

    /// One task's nodes. There is at least one, and every one exists. Lists wrap.
    fn of_task(&mut self, task: LocalId, cpus: &CpuSet) -> Result<NodeSet, MemoryRefusal> {
        let requested = match self.policy {
            MemPolicy::Local => return self.near(task, cpus),
            MemPolicy::Rank => one(NumaId(task.0 % self.rank_wraps_at)),
            MemPolicy::Map(list) => list.of_task(task.0).copied().map(one).unwrap_or_default(),
            MemPolicy::Mask(list) => list.of_task(task.0).cloned().unwrap_or_default(),
        };
        if requested.is_empty() {
            return Err(MemoryRefusal::Empty(task));
        }
        if !requested.is_subset(&self.found) {
            return Err(MemoryRefusal::Missing {
                requested: self.policy.clone(),
                task,
                missing: requested.difference(&self.found),
                found: self.found.clone(),
            });
        }
        Ok(requested)
    }

    /// Source: `numa_get_run_node_mask`.
    fn near(&mut self, task: LocalId, cpus: &CpuSet) -> Result<NodeSet, MemoryRefusal> {
        if let Some(known) = self.known.get(cpus) {
            return Ok(known.clone());
        }
        let near = self.node.numa_nodes_of(cpus);
        if near.is_empty() {
            let cpus = cpus.clone();
            return Err(MemoryRefusal::NoneNear { task, cpus });
        }
        // The user has named no nodes, so those that others want for themselves can be left out.
        let others = near.difference(&self.wanted);
        let near = match others.is_empty() {
            true => near,
            false => {
                self.left_out.extend(near.intersection(&self.wanted).iter());
                others
            }
        };
        self.known.insert(cpus.clone(), near.clone());
        Ok(near)
    }

    fn notes(self) -> impl Iterator<Item = Note> {
        let set = |nodes: BTreeSet<NumaId>| {
            let is_some = !nodes.is_empty();
            is_some.then(|| nodes.into_iter().collect())
        };
        let left_out = set(self.left_out).map(MemoryNote::LeftOut);
        let shared = set(self.shared).map(MemoryNote::Shared);
        left_out.into_iter().chain(shared).map(Note::Memory)
    }
}

fn one(node: NumaId) -> NodeSet {
    std::iter::once(node).collect()
}
