//! How many CPUs each of a job's nodes gives it (`dist_tasks_compute_c_b`, `_compute_plane_dist`).
//! In: the CPUs that each node has for the job. Out: the CPUs that it gives. Pure.

use crate::controller::select::cluster::ClusterNode;
use crate::controller::select::details::Details;
use crate::request::distribution::AcrossHosts;

/// CPUs of each node, given those that it has for the job, in the order of the nodes.
pub(super) fn cpus(job: &Details, nodes: &[&ClusterNode], has: &[u32]) -> Vec<u32> {
    let spread = Spread::new(job, nodes, has);
    let planes = job.distribution.hosts == AcrossHosts::Plane && !job.overcommit;
    match job.distribution.plane_size.filter(|_| planes) {
        Some(size) => spread.by_planes(size.max(1)),
        None => spread.by_cores(),
    }
}

/// The tasks that the job's CPUs are counted for (`ncpus` of `job_resources`).
fn tasks_to_place(job: &Details, nodes: u32, has: &[u32], planes: bool) -> u32 {
    let cpus = nodes
        .saturating_mul(job.per_node.unwrap_or(1).max(1))
        .max(job.min_cpus)
        .max(nodes.saturating_mul(job.node_cpus));
    if job.overcommit && job.tasks > 0 {
        let all = has.iter().fold(0_u32, |all, has| all.saturating_add(*has));
        return all.min(job.tasks);
    }
    match job.per_node {
        _ if job.overcommit || job.each == 1 => cpus,
        Some(each) if !planes => each.saturating_mul(nodes),
        _ => cpus / job.each,
    }
}

/// Tasks spread over nodes, with the CPUs that they take.
struct Spread<'a> {
    job: &'a Details,
    nodes: &'a [&'a ClusterNode],
    has: &'a [u32],
    tasks: Vec<u32>,
    cpus: Vec<u32>,
    left: u32,
}

impl<'a> Spread<'a> {
    fn new(job: &'a Details, nodes: &'a [&'a ClusterNode], has: &'a [u32]) -> Self {
        Self {
            job,
            nodes,
            has,
            tasks: vec![0; has.len()],
            cpus: vec![0; has.len()],
            left: 0,
        }
    }

    /// Puts one task on the node, if CPUs lack also a part of one.
    fn put(&mut self, at: usize) {
        self.tasks[at] += 1;
        self.left -= 1;
        self.cpus[at] = self.cpus[at]
            .saturating_add(self.job.each)
            .min(self.has[at].max(self.cpus[at]));
    }

    fn room(&self, at: usize) -> bool {
        self.has[at] - self.cpus[at] >= self.job.each
    }

    fn is_below_limit(&self, at: usize) -> bool {
        self.job.per_node.is_none_or(|most| self.tasks[at] < most)
    }

    /// One task a node; then what fits into cores that are begun; then rounds over the nodes, each core filled.
    fn by_cores(mut self) -> Vec<u32> {
        let nodes = self.has.len();
        self.left = tasks_to_place(self.job, nodes as u32, self.has, false).max(1);
        let mut space = false;
        for at in 0..nodes {
            if self.left > 0 && self.has[at] > 0 {
                self.put(at);
                space |= self.cpus[at] < self.has[at];
            }
        }
        let mut beyond = !space;
        for at in 0..nodes {
            let of_core = self.nodes[at].cpus_per_core();
            let fit = self.cpus[at] % of_core / self.job.each;
            for _ in 0..fit {
                if self.left == 0 || !self.room(at) || !self.is_below_limit(at) {
                    break;
                }
                self.put(at);
            }
        }
        while self.left > 0 && !self.job.overcommit {
            let space = self.round(beyond);
            beyond |= !space;
        }
        self.cpus
    }

    /// One round; whether a node still has room that was used in it.
    fn round(&mut self, beyond: bool) -> bool {
        let mut space = false;
        for at in 0..self.has.len() {
            let fill = (self.nodes[at].cpus_per_core() / self.job.each).max(1);
            for _ in 0..fill {
                let fits = beyond || (self.room(at) && self.is_below_limit(at));
                if self.left == 0 || !fits {
                    break;
                }
                self.put(at);
                space |= self.room(at);
            }
        }
        space
    }

    fn by_planes(mut self, size: u32) -> Vec<u32> {
        let nodes = self.has.len();
        self.left = tasks_to_place(self.job, nodes as u32, self.has, true);
        let mut beyond = false;
        while self.left > 0 {
            let mut space = false;
            for at in 0..nodes {
                for _ in 0..size {
                    if self.left > 0 && (beyond || self.cpus[at] < self.has[at]) {
                        self.put(at);
                    }
                }
                space |= self.cpus[at] < self.has[at];
            }
            beyond |= !space;
        }
        self.cpus
    }
}
