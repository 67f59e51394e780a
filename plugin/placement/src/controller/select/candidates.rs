//! The nodes among which a job's nodes are chosen, with what each offers and what is still due.
//! In: offers. Out: taken nodes, each with its CPUs. Pure. Source: `_select_cores`, `_cpus_to_use`,
//! `_get_rem_max_cpus` and `_enough_nodes` of cons_tres.

use crate::controller::select::cluster::{Cluster, SlurmLine, Unit};
use crate::controller::select::details::Details;
use crate::controller::select::offer::Offer;

/// How many nodes a job wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wanted {
    pub least: u32,
    pub most: u32,
    pub best: u32,
}

/// Candidates, by the nodes' positions in the cluster.
pub(super) struct Candidates<'a> {
    pub cluster: &'a Cluster,
    pub job: &'a Details,
    pub offers: Vec<Option<Offer>>,
    /// Nodes that may be taken.
    pub open: Vec<bool>,
}

/// What is still due while nodes are taken.
#[derive(Clone, Copy, Debug)]
pub(super) struct Due {
    pub cpus: i64,
    pub most_cpus: i64,
    pub nodes: i64,
    pub least_nodes: i64,
    pub most_nodes: i64,
}

impl Due {
    pub(super) fn new(job: &Details, wanted: Wanted) -> Self {
        Self {
            cpus: job.min_cpus.into(),
            most_cpus: job.min_cpus.into(),
            nodes: wanted.least.max(wanted.best).into(),
            least_nodes: wanted.least.into(),
            most_nodes: wanted.most.into(),
        }
    }

    /// Counts one more node.
    pub(super) fn take(&mut self, cpus: u32) {
        self.cpus -= i64::from(cpus);
        self.most_cpus -= i64::from(cpus);
        self.nodes -= 1;
        self.least_nodes -= 1;
        self.most_nodes -= 1;
    }

    /// Whether nothing is due any more.
    pub(super) fn is_served(&self) -> bool {
        self.nodes <= 0 && self.cpus <= 0
    }
}

/// Whether that many nodes suffice for what is due.
pub(super) fn enough_nodes(found: i64, due: &Due, wanted: Wanted) -> bool {
    let spare = i64::from(wanted.best) - i64::from(wanted.least);
    found >= due.nodes - spare.max(0)
}

impl Candidates<'_> {
    /// CPUs of the node that the job's tasks can use; 0 where a node's tasks do not fit.
    pub(super) fn usable(&self, at: usize) -> u32 {
        let job = self.job;
        let Some(offer) = self.offers[at] else {
            return 0;
        };
        let tasks = job
            .per_node
            .or(job.per_socket.filter(|tasks| *tasks > 0))
            .or(job.per_core_of_node)
            .unwrap_or(match job.max_nodes == 1 {
                true => job.tasks.max(1),
                false => 1,
            });
        match !job.overcommit && offer.cpus / job.each < tasks {
            true => 0,
            false => offer.cpus,
        }
    }

    /// CPUs that the job takes of a node that has `cpus` for it: one core's CPUs are kept back for each node
    /// still due.
    pub(super) fn taken(&mut self, at: usize, cpus: u32, due: &Due) -> u32 {
        let job = self.job;
        let node = &self.cluster.nodes[at];
        let Some(offer) = self.offers[at].as_mut().filter(|_| !job.whole) else {
            return cpus;
        };
        let unit = match self.cluster.select.unit {
            Unit::Socket => node.cores_per_socket,
            _ => 1,
        };
        let each = i64::from(job.cpus_per_core(node.cpus_per_core())) * i64::from(unit);
        let left = due.most_cpus - (due.least_nodes - 1).max(0) * each;
        let mut cpus = cpus;
        if i64::from(cpus) > left {
            cpus = left.max(job.node_cpus.into()) as u32;
            offer.cpus = cpus;
        }
        if self.cluster.line < SlurmLine::V26_05 {
            offer.size = offer.cpus;
        }
        cpus
    }

    /// How many nodes may be taken.
    pub(super) fn open_count(&self) -> u32 {
        self.open.iter().filter(|open| **open).count() as u32
    }

    /// Whether every node of `-w` may be taken.
    pub(super) fn has_wanted(&self) -> bool {
        self.job.wanted.iter().all(|node| self.open[*node])
    }
}
