//! The nodes among which a job's nodes are chosen, with what each offers and what is still due.
//! In: offers. Out: CPUs of a node. Pure. Source: `_select_cores`, `_cpus_to_use` and `_get_rem_max_cpus` of
//! cons_tres.

use crate::controller::select::cluster::{Cluster, Unit};
use crate::controller::select::details::Details;

/// The numbers of nodes that a job requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NodeCounts {
    pub least: u32,
    pub most: u32,
    pub best: u32,
}

/// What each node offers the job, by its position in the cluster.
pub(super) struct Candidates<'a> {
    pub cluster: &'a Cluster,
    pub job: &'a Details,
    /// CPUs that the job may have on each node (`avail_cpus`); 0 where it may have none.
    pub offers: Vec<u32>,
}

/// What the job still needs while nodes are chosen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Due {
    pub cpus: i64,
    pub nodes: i64,
    pub least_nodes: i64,
    pub most_nodes: i64,
}

impl Due {
    pub(super) fn new(job: &Details, node_counts: NodeCounts) -> Self {
        Self {
            cpus: job.min_cpus.into(),
            nodes: node_counts.least.max(node_counts.best).into(),
            least_nodes: node_counts.least.into(),
            most_nodes: node_counts.most.into(),
        }
    }

    /// Whether nothing is due any more.
    pub(super) fn is_served(&self) -> bool {
        self.nodes <= 0 && self.cpus <= 0
    }
}

impl Candidates<'_> {
    pub(super) fn weight(&self, at: usize) -> u32 {
        self.cluster.nodes[at].weight
    }

    /// CPUs of the node that the job's tasks can use; 0 where a node's tasks do not fit.
    pub(super) fn usable(&self, at: usize) -> u32 {
        let job = self.job;
        let cpus = self.offers[at];
        let tasks = job
            .per_node
            .or(job.per_socket.filter(|tasks| *tasks > 0))
            .or(job.per_core_of_node)
            .unwrap_or(match job.max_nodes == 1 {
                true => job.tasks.max(1),
                false => 1,
            });
        let counts_tasks = !job.overcommit && self.cluster.select.unit != Unit::Node;
        match counts_tasks && cpus / job.each < tasks {
            true => 0,
            false => cpus,
        }
    }

    /// Takes the node; the CPUs that the job takes of it. One core's CPUs are kept back for each node still due.
    pub(super) fn take(&self, at: usize, due: &mut Due) -> u32 {
        let job = self.job;
        let node = &self.cluster.nodes[at];
        let unit = match self.cluster.select.unit {
            Unit::Socket => node.cores_per_socket,
            _ => 1,
        };
        let each = i64::from(job.cpus_per_core(node.cpus_per_core())) * i64::from(unit);
        let left = due.cpus - (due.least_nodes - 1).max(0) * each;
        let mut cpus = self.usable(at);
        if !job.whole && i64::from(cpus) > left {
            cpus = left.max(job.node_cpus.into()) as u32;
        }
        due.cpus -= i64::from(cpus);
        due.nodes -= 1;
        due.least_nodes -= 1;
        due.most_nodes -= 1;
        cpus
    }
}
