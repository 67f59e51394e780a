//! How many CPUs each of a job's nodes gives it (`dist_tasks_compute_c_b`, `_compute_plane_dist`).
//! In: the CPUs that each node has for the job. Out: the CPUs that it gives. Pure.

use crate::controller::select::cluster::{ClusterNode, SlurmLine};
use crate::controller::select::details::Details;
use crate::request::distribution::AcrossHosts;

/// CPUs of each node, given those that it has for the job, in the order of the nodes. `None` if 24.11 or
/// later finds no room for the tasks.
pub(super) fn cpus(
    line: SlurmLine,
    job: &Details,
    nodes: &[&ClusterNode],
    has: &[u32],
) -> Option<Vec<u32>> {
    let spread = Spread {
        line,
        job,
        nodes,
        has,
        one_a_node: job.overcommit && (line == SlurmLine::V22_05 || !job.each_given),
        tasks: vec![0; has.len()],
        cpus: vec![0; has.len()],
        left: 0,
    };
    let planes = job.distribution.hosts == AcrossHosts::Plane && !spread.one_a_node;
    match job.distribution.plane_size.filter(|_| planes) {
        Some(size) => spread.by_planes(size.max(1)),
        None => spread.by_cores(),
    }
}

/// The CPUs that the job is counted for (`ncpus` of `job_resources`).
fn counted_cpus(job: &Details, nodes: u32, has: &[u32]) -> u32 {
    if job.overcommit && job.tasks > 0 {
        let all = has.iter().fold(0_u32, |all, has| all.saturating_add(*has));
        return all.min(job.tasks);
    }
    nodes
        .saturating_mul(job.per_node.unwrap_or(1).max(1))
        .max(job.min_cpus)
        .max(nodes.saturating_mul(job.node_cpus))
}

/// The tasks that are placed; 24.11 and later ask `_get_task_count`.
fn tasks_to_place(line: SlurmLine, job: &Details, has: &[u32], planes: bool) -> u32 {
    let nodes = has.len() as u32;
    let cpus = counted_cpus(job, nodes, has);
    let by_node = job.per_node.map(|each| each.saturating_mul(nodes));
    let by_cpus = cpus / job.each;
    match line {
        SlurmLine::V24_11 => job.sent_tasks.or(by_node).unwrap_or(by_cpus),
        SlurmLine::V26_05 => by_node.or(job.sent_tasks).unwrap_or(by_cpus),
        SlurmLine::V22_05 => match by_node {
            _ if job.each == 1 => cpus,
            _ if planes => by_cpus,
            _ if job.overcommit => cpus,
            Some(tasks) => tasks,
            None => by_cpus,
        },
    }
}

/// Whether whole nodes have room for the tasks: since 24.11 they are counted there too, with -O as well
/// (`_set_task_dist`).
pub(super) fn fit(line: SlurmLine, job: &Details, has: &[u32]) -> bool {
    let tasks = u64::from(tasks_to_place(line, job, has, false));
    let room = has.iter().map(|has| u64::from((has / job.each).max(1)));
    line == SlurmLine::V22_05 || tasks <= room.sum()
}

/// Tasks spread over nodes, with the CPUs that they take.
struct Spread<'a> {
    line: SlurmLine,
    /// With -O: one task a node.
    one_a_node: bool,
    job: &'a Details,
    nodes: &'a [&'a ClusterNode],
    has: &'a [u32],
    tasks: Vec<u32>,
    cpus: Vec<u32>,
    left: u32,
}

impl Spread<'_> {
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
    fn by_cores(mut self) -> Option<Vec<u32>> {
        let nodes = self.has.len();
        self.left = tasks_to_place(self.line, self.job, self.has, false).max(1);
        let mut space = false;
        for at in 0..nodes {
            if self.left > 0 && self.has[at] > 0 {
                self.put(at);
                space |= self.cpus[at] < self.has[at];
            }
        }
        let is_strict = self.line > SlurmLine::V22_05;
        let mut beyond = !space && !is_strict;
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
        while self.left > 0 && !self.one_a_node {
            let space = self.round(beyond);
            if !space && is_strict && self.left > 0 {
                return None;
            }
            beyond |= !space;
        }
        Some(self.cpus)
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

    fn by_planes(mut self, size: u32) -> Option<Vec<u32>> {
        let nodes = self.has.len();
        self.left = tasks_to_place(self.line, self.job, self.has, true);
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
            if !space && self.line > SlurmLine::V22_05 && self.left > 0 {
                return None;
            }
            beyond |= !space;
        }
        Some(self.cpus)
    }
}
