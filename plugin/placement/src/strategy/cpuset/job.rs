//! What a job owns on the node, as its cpuset is chosen from it.
//! In: the request's allocation of the job. Out: its CPUs, and how they are counted. Pure.

use crate::owned::{Owned, reserved_cpus};
use crate::request::Request;
use crate::sets::cpuset::CpuSet;
use crate::sets::ids::PuIdx;
use crate::topology::node::Node;

/// A job's CPUs on the node.
pub(super) struct Job<'a> {
    pub(super) node: &'a Node,
    pub(super) owned: Owned,
    /// The most hardware threads of a core that count: 1 where a CPU is a core.
    pub(super) limit: Option<u32>,
    /// Number of CPUs, as Slurm counts them here.
    pub(super) units: u32,
}

impl<'a> Job<'a> {
    pub(super) fn of(request: &Request, node: &'a Node, step: &Owned) -> Self {
        let owned = match &request.job_allocation {
            Some(allocation) => Owned::of_allocation(allocation, request, node),
            None => step.clone(),
        };
        let one = request.cpu_bind.one_thread || node.counts_cores();
        let limit = request.threads_per_core.or(one.then_some(1));
        let units = owned.count_within(node.table(), limit.unwrap_or(u32::MAX));
        Self {
            node,
            owned,
            limit,
            units,
        }
    }

    /// This job with each hardware thread counted as one CPU.
    pub(super) fn by_threads(self) -> Self {
        let units = self.owned.count_within(self.node.table(), u32::MAX);
        Self {
            limit: None,
            units,
            ..self
        }
    }

    /// Number of the job's CPUs among some.
    pub(super) fn units_in(&self, cpus: &CpuSet) -> u32 {
        let limit = self.limit.unwrap_or(u32::MAX);
        self.owned.count_among(cpus, self.node.table(), limit)
    }

    /// All CPUs of a NUMA node that any job may have, by its position among the distances; `None` if
    /// there is none.
    pub(super) fn whole_node(&self, at: usize, request: &Request) -> Option<CpuSet> {
        let (_, cpus) = self.node.distances().node(at)?;
        let table = self.node.table();
        let pus = (0..table.len() as u32).map(PuIdx);
        let all = table.all().cloned().unwrap_or_else(|| table.cpus(pus));
        let mut all = all
            .intersection(cpus)
            .difference(&reserved_cpus(request, self.node));
        if let Some(allowed) = self.node.allowed().filter(|allowed| !allowed.is_empty()) {
            all = all.intersection(allowed);
        }
        (!all.is_empty()).then_some(all)
    }
}
