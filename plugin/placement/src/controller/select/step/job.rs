//! The job as its steps see it: the CPUs of each node, counted in slurmctld's several ways.
//! In: the grant. Out: counts. Pure. Source: `build_job_resources_cpu_array`, `_step_alloc_lps`.

use crate::controller::select::answer::{GrantedNode, JobGrant};
use crate::controller::select::cluster::{Cluster, ClusterNode, Memory, Specialised, Unit};

/// A job with its steps.
pub(in crate::controller::select) struct Job<'a> {
    pub cluster: &'a Cluster,
    pub grant: &'a JobGrant,
    pub nodes: &'a [GrantedNode],
    /// CPUs of each node as srun is told (`cpu_array_value`).
    pub values: Vec<u32>,
    /// All CPUs of the job (`total_cpus`).
    pub all_cpus: u32,
}

impl<'a> Job<'a> {
    pub(in crate::controller::select) fn new(cluster: &'a Cluster, grant: &'a JobGrant) -> Self {
        let count = grant.nodes.len();
        let mut job = Self {
            cluster,
            grant,
            nodes: &grant.nodes,
            values: Vec::with_capacity(count),
            all_cpus: 0,
        };
        job.values = (0..count).map(|at| job.value(at)).collect();
        job.all_cpus = (0..count).map(|at| job.total(at)).sum();
        job
    }

    pub(in crate::controller::select) fn node(&self, at: usize) -> &'a ClusterNode {
        &self.cluster.nodes[self.nodes[at].node]
    }

    /// Memory of the job on the node, in MiB, where slurmctld hands out memory per CPU.
    pub(in crate::controller::select) fn memory(&self, at: usize) -> u64 {
        match self.grant.record.memory {
            Memory::PerCpu(each) => each.saturating_mul(self.values[at].into()),
            Memory::PerNode(0) => self.node(at).memory,
            Memory::PerNode(memory) => memory,
        }
    }

    fn value(&self, at: usize) -> u32 {
        let (cpus, of_core) = (self.nodes[at].cpus, self.node(at).cpus_per_core());
        match self.grant.record.threads_per_core {
            Some(threads) if self.counts_cores() && threads < of_core => cpus / of_core * threads,
            _ => cpus,
        }
    }

    fn counts_cores(&self) -> bool {
        matches!(self.cluster.select.unit, Unit::Core | Unit::Socket)
    }

    fn total(&self, at: usize) -> u32 {
        let (granted, node) = (&self.nodes[at], self.node(at));
        let of_core = node.cpus_per_core();
        if self.grant.record.whole_nodes && self.cluster.select.unit != Unit::Node {
            let special = match &node.specialised {
                Specialised::None => 0,
                Specialised::Count(count) => *count,
                Specialised::Cores(cores) => cores.count(),
            };
            return node.cpus.saturating_sub(special.saturating_mul(of_core));
        }
        if self.cluster.select.unit != Unit::Socket {
            return granted.cpus;
        }
        let each = node.cores_per_socket;
        let sockets = (0..node.sockets).filter(|at| {
            let range = at * each..(at + 1) * each;
            granted.cores.count_in(range) > 0
        });
        sockets.count() as u32 * each * of_core
    }
}
