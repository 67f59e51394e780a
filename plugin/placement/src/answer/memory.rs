//! Each task's NUMA nodes, after its CPUs are known.
//! In: the policy, the tasks' CPUs, the machine. Out: node sets, or a refusal.
//! Pure. Source: `get_memset`; what fails a task there is refused here, before it starts.

use std::collections::HashMap;
use std::fmt;

use crate::request::mem_bind::MemPolicy;
use crate::sets::cpuset::CpuSet;
use crate::sets::ids::{LocalId, NumaId};
use crate::sets::nodeset::NodeSet;
use crate::topology::host::Host;

/// A `--mem-bind` that cannot be served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemoryRefusal {
    /// The machine tree is unknown.
    Unknown {
        /// Option value as asked.
        asked: MemPolicy,
    },
    /// NUMA nodes that are not there.
    Missing {
        /// Option value as asked.
        asked: MemPolicy,
        /// The task that would get them.
        task: LocalId,
        /// Those of them that are not there.
        missing: NodeSet,
        /// Those there are.
        found: NodeSet,
    },
    /// A task that would get no node: a zero mask in a list.
    Empty(LocalId),
    /// `local` for a task whose CPUs are in no NUMA node.
    NoneNear {
        /// The task.
        task: LocalId,
        /// Its CPUs.
        cpus: CpuSet,
    },
}

/// What the node sets of a step's tasks depend on.
pub(crate) struct Memory<'a> {
    found: NodeSet,
    near: Vec<(NumaId, CpuSet)>,
    /// Nodes near to CPUs that a task before had.
    known: HashMap<CpuSet, NodeSet>,
    policy: &'a MemPolicy,
    /// After so many tasks `rank` begins again.
    rank_wraps_at: u32,
}

impl<'a> Memory<'a> {
    pub(crate) fn new(
        policy: &'a MemPolicy,
        on: &Host,
        rank_wraps_at: u32,
    ) -> Result<Self, MemoryRefusal> {
        let machine = on.machine.as_ref().ok_or_else(|| MemoryRefusal::Unknown {
            asked: policy.clone(),
        })?;
        Ok(Self {
            found: machine.numa_nodes(),
            near: machine.cpus_by_nearest_node(),
            known: HashMap::new(),
            policy,
            rank_wraps_at: rank_wraps_at.max(1),
        })
    }

    /// One task's nodes: some, and every one of them is there. Lists wrap.
    pub(crate) fn of_task(
        &mut self,
        task: LocalId,
        cpus: &CpuSet,
    ) -> Result<NodeSet, MemoryRefusal> {
        let asked = match self.policy {
            MemPolicy::Local => return self.near(task, cpus),
            MemPolicy::Rank => one(NumaId(task.0 % self.rank_wraps_at)),
            MemPolicy::Map(list) => list.of_task(task.0).copied().map(one).unwrap_or_default(),
            MemPolicy::Mask(list) => list.of_task(task.0).cloned().unwrap_or_default(),
        };
        if asked.is_empty() {
            return Err(MemoryRefusal::Empty(task));
        }
        if !asked.is_subset(&self.found) {
            return Err(MemoryRefusal::Missing {
                asked: self.policy.clone(),
                task,
                missing: asked.difference(&self.found),
                found: self.found.clone(),
            });
        }
        Ok(asked)
    }

    /// Source: `numa_get_run_node_mask`.
    fn near(&mut self, task: LocalId, cpus: &CpuSet) -> Result<NodeSet, MemoryRefusal> {
        if let Some(known) = self.known.get(cpus) {
            return Ok(known.clone());
        }
        let near = self.near.iter().filter(|(_, node)| node.intersects(cpus));
        let near: NodeSet = near.map(|(id, _)| *id).collect();
        if near.is_empty() {
            let cpus = cpus.clone();
            return Err(MemoryRefusal::NoneNear { task, cpus });
        }
        self.known.insert(cpus.clone(), near.clone());
        Ok(near)
    }
}

fn one(node: NumaId) -> NodeSet {
    std::iter::once(node).collect()
}

impl fmt::Display for MemoryRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { asked } => write!(
                f,
                "--mem-bind={} asks for NUMA nodes; berth does not know this node's (its machine \
                 file is missing); leave --mem-bind out, and tell the administrator to run \
                 `berth discover`",
                short(asked)
            ),
            Self::Missing {
                asked,
                task,
                missing,
                found,
            } => {
                let what = match asked {
                    MemPolicy::Rank => "use fewer tasks on this node, or --mem-bind=local",
                    _ => "name only those, or let --mem-bind=local choose",
                };
                write!(
                    f,
                    "--mem-bind={} gives task {task} on this node NUMA node {missing}; here there \
                     are NUMA nodes {found}; {what}",
                    short(asked)
                )
            }
            Self::Empty(task) => write!(
                f,
                "--mem-bind gives task {task} on this node an empty mask; every task needs a NUMA \
                 node: name one, or use --mem-bind=none"
            ),
            Self::NoneNear { task, cpus } => write!(
                f,
                "--mem-bind=local asks for the NUMA nodes of CPUs {cpus}, which task {task} on \
                 this node may run on; they are in none; use --mem-bind=map_mem:LIST or none"
            ),
        }
    }
}

/// Long lists are cut, as in every refusal.
fn short(asked: &MemPolicy) -> String {
    crate::answer::refusal::short(asked)
}
