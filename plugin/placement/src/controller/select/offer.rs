//! The cores that one node can give a job (`can_job_run_on_node`, `_allocate_sc`).
//! In: the job's record, a node, and the cores that may be used. Out: CPUs; the cores are cut to those that
//! the tasks may use. Pure.

use std::ops::Range;

use crate::controller::select::cluster::{Cluster, ClusterNode, CoreSet, Memory, SlurmLine, Unit};
use crate::controller::select::details::Details;
use crate::request::CoreSpec;

/// The question of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Assumed {
    /// Whether the job can ever run. slurmctld then takes specialised cores for used ones.
    Ever,
    /// The cores that it gets.
    Now,
}

/// CPUs that a node offers (`avail_cpus`), or `None`. `cores` are those free for the job; they are cut.
pub(super) fn offer(
    cluster: &Cluster,
    job: &Details,
    node: &ClusterNode,
    assumed: Assumed,
    cores: &mut CoreSet,
) -> Option<u32> {
    let sockets = Sockets::of(cluster, job, node, assumed, cores)?;
    let cpus = sockets.take(cluster.line, job, node, cores)?;
    let by_gpus = node.most_tasks.map(|most| most.saturating_mul(job.each));
    let cpus = by_gpus.map_or(cpus, |most| most.min(cpus));
    let tasks = match job.per_node {
        Some(each) => each,
        None if job.overcommit => 1,
        None if job.max_nodes == 1 && job.tasks > 0 => job.tasks,
        None => 1,
    };
    if cpus == 0 || cpus < tasks.saturating_mul(job.each) {
        return None;
    }
    let cpus = by_memory(cluster, job, node, cpus);
    (cpus > 0).then_some(cpus)
}

/// The cores of each socket, counted.
struct Sockets {
    /// Free cores of each socket that may be used.
    free: Vec<u32>,
    /// CPUs of all free cores.
    free_cpus: u32,
    /// The most CPUs that `MaxCPUsPerNode` leaves.
    most: Option<u32>,
}

pub(super) fn socket(node: &ClusterNode, at: u32) -> Range<u32> {
    at * node.cores_per_socket..(at + 1) * node.cores_per_socket
}

impl Sockets {
    fn of(
        cluster: &Cluster,
        job: &Details,
        node: &ClusterNode,
        assumed: Assumed,
        cores: &CoreSet,
    ) -> Option<Self> {
        let threads = node.cpus_per_core();
        if !fits_limits(job, node) {
            return None;
        }
        let entire = cluster.select.unit == Unit::Socket && !(job.whole && job.has_core_spec());
        let mut sockets = Self {
            free: Vec::with_capacity(node.sockets as usize),
            free_cpus: 0,
            most: None,
        };
        let mut used_cpus = 0;
        for at in 0..node.sockets {
            let range = socket(node, at);
            let mut free = cores.count_in(range);
            let used = node.cores_per_socket - free;
            if assumed == Assumed::Ever && used > 0 {
                if cluster.line == SlurmLine::V24_11 {
                    used_cpus += (used + if entire { free } else { 0 }) * threads;
                }
                if entire {
                    free = 0;
                }
            }
            sockets.free_cpus += free * threads;
            sockets.free.push(free);
        }
        sockets.limit(cluster, job, node, used_cpus)?;
        sockets.drop_small(job)?;
        Some(sockets)
    }

    /// `MaxCPUsPerNode`.
    fn limit(
        &mut self,
        cluster: &Cluster,
        job: &Details,
        node: &ClusterNode,
        used_cpus: u32,
    ) -> Option<()> {
        let most = cluster.partition.max_cpus_per_node;
        let Some(most) = most.filter(|most| self.free_cpus + used_cpus > *most) else {
            return Some(());
        };
        if job.whole || used_cpus >= most {
            return None;
        }
        let left = most - used_cpus;
        let by_core = job
            .per_core
            .map(|_| job.cpus_per_core(node.cpus_per_core()));
        let more = [
            job.per_core,
            job.per_socket,
            by_core,
            job.threads,
            Some(job.each),
        ];
        if left == 1 && more.iter().flatten().any(|count| *count > left) {
            return None;
        }
        self.most = Some(left);
        Some(())
    }

    /// Sockets with fewer free cores than asked for are left out, and so is a node with too few sockets.
    fn drop_small(&mut self, job: &Details) -> Option<()> {
        let least = job.cores.unwrap_or(1);
        let mut usable = 0;
        for free in &mut self.free {
            match *free < least {
                true => *free = 0,
                false => usable += 1,
            }
        }
        let enough = usable >= job.sockets.unwrap_or(1) && self.free.iter().any(|free| *free > 0);
        enough.then_some(())
    }

    /// Counts the CPUs, and cuts the cores to those that may be used.
    fn take(
        mut self,
        line: SlurmLine,
        job: &Details,
        node: &ClusterNode,
        cores: &mut CoreSet,
    ) -> Option<u32> {
        let of_core = job.cpus_per_core(node.cpus_per_core());
        let cpus: u32 = self.free.iter().map(|free| free * of_core).sum();
        let most = job.per_socket.filter(|most| *most > 0);
        let most_tasks = most.unwrap_or(u32::MAX);
        let tasks: u32 = self
            .free
            .iter()
            .map(|free| (free * of_core).min(most_tasks))
            .sum();
        if cpus < job.node_cpus {
            return None;
        }
        let (tasks, cpus) = match line {
            SlurmLine::V22_05 => (tasks, cpus),
            _ => {
                let most = job.per_node.filter(|_| !job.whole).unwrap_or(u32::MAX);
                whole_tasks(job, of_core, tasks.min(most), cpus)
            }
        };
        let too_few = !job.overcommit && job.per_node.is_some_and(|each| tasks < each);
        if cpus < job.node_cpus || too_few || tasks == 0 {
            return None;
        }
        let of_socket = match most {
            Some(most) => most.saturating_mul(job.each),
            None => node.cores_per_socket * node.cpus_per_core(),
        };
        let mut count = CoreCount::new(job, of_core);
        let mut left = cpus;
        for at in 0..node.sockets {
            let free = &mut self.free[at as usize];
            let mut taken = 0;
            for core in cores.iter_in(socket(node, at)).collect::<Vec<_>>() {
                // The first core of a socket is always taken.
                let fits = *free > 0 && left > 0 && (taken == 0 || taken < of_socket);
                if fits {
                    taken += of_core;
                    *free -= 1;
                    let used = count.next_core();
                    left = count.left(left, used);
                } else {
                    cores.remove(core);
                }
            }
        }
        let found = cpus - left;
        let cpus = found - spec_threads(job, node, found);
        Some(self.most.map_or(cpus, |most| cpus.min(most)))
    }
}

/// Tasks and CPUs of a node, cut to whole tasks, as 24.11 and later do here.
fn whole_tasks(job: &Details, of_core: u32, tasks: u32, cpus: u32) -> (u32, u32) {
    match job.cores_of_task(of_core) {
        _ if job.each < 2 => (tasks, tasks),
        Some(cores) => (tasks, cpus / (cores * of_core) * job.each),
        None => {
            let tasks = tasks.min(cpus / job.each);
            (tasks, tasks * job.each)
        }
    }
}

/// Limits of a core or a socket that the node's shape cannot hold.
fn fits_limits(job: &Details, node: &ClusterNode) -> bool {
    let threads = node.cpus_per_core();
    let of_core = match (job.per_core, job.threads) {
        (Some(_), _) => None,
        (None, requested) => requested,
    };
    let of_socket = threads * node.cores_per_socket;
    of_core.is_none_or(|requested| requested <= threads)
        && job.per_socket.is_none_or(|tasks| tasks <= of_socket)
}

/// Counts the CPUs of one core after another (`_count_used_cpus`): the last core of a task that has its
/// cores for itself counts only the CPUs that the task uses.
pub(super) struct CoreCount {
    of_core: u32,
    each: u32,
    by_task: bool,
    left_of_task: u32,
}

impl CoreCount {
    pub(super) fn new(job: &Details, of_core: u32) -> Self {
        Self {
            of_core,
            each: job.each,
            by_task: job.cores_of_task(of_core).is_some(),
            left_of_task: job.each,
        }
    }

    /// The CPUs of the next core that count.
    pub(super) fn next_core(&mut self) -> u32 {
        let used = match self.by_task {
            true => self.left_of_task.min(self.of_core),
            false => self.of_core,
        };
        self.left_of_task = match self.left_of_task <= used {
            true => self.each,
            false => self.left_of_task - used,
        };
        used
    }

    /// CPUs still to find beside a core of which these count: a whole core serves what is less than one.
    pub(super) fn left(&self, cpus: u32, used: u32) -> u32 {
        if cpus < self.of_core { 0 } else { cpus - used }
    }
}

/// `--thread-spec` takes CPUs, not cores, where a core has several.
fn spec_threads(job: &Details, node: &ClusterNode, cpus: u32) -> u32 {
    let CoreSpec::Threads(requested) = job.core_spec else {
        return 0;
    };
    let counted = node.threads_per_core == 1 || node.threads_per_core == node.cpus_per_core();
    match counted && cpus.saturating_add(requested) > node.cpus {
        true => requested.min(cpus),
        false => 0,
    }
}

/// The CPUs for which the node has memory.
fn by_memory(cluster: &Cluster, job: &Details, node: &ClusterNode, cpus: u32) -> u32 {
    if !cluster.select.memory {
        return cpus;
    }
    let free = node.memory;
    let each = match job.memory {
        Memory::PerNode(memory) => return if memory > free { 0 } else { cpus },
        Memory::PerCpu(memory) => memory,
    };
    let most = |times: u64| (free / each.saturating_mul(times).max(1)).min(cpus.into()) as u32;
    let cores_counted =
        cluster.select.unit != Unit::Cpu && job.per_core == Some(1) && job.each == 1;
    let mut cpus = match (each.saturating_mul(cpus.into()) > free, cores_counted) {
        (true, _) if job.whole => 0,
        (_, true) => most(node.cpus_per_core().into()),
        (false, false) => cpus,
        (true, false) => cut(cpus, most(1), unit_size(cluster, job, node)),
    };
    if job.each > 1 {
        cpus -= cpus % job.each;
    }
    match job.per_node.is_some_and(|each| cpus < each) {
        true => 0,
        false => cpus,
    }
}

/// Takes away whole units until no more than `most` are left.
fn cut(cpus: u32, most: u32, unit: u32) -> u32 {
    let units = (cpus - most.min(cpus)).div_ceil(unit.max(1));
    cpus.saturating_sub(units.saturating_mul(unit))
}

/// CPUs of the unit that is handed out (`cpu_alloc_size`).
fn unit_size(cluster: &Cluster, job: &Details, node: &ClusterNode) -> u32 {
    let threads = node.cpus_per_core();
    let unit = match cluster.select.unit {
        Unit::Socket => node.cores_per_socket * threads,
        Unit::Cpu => 1,
        Unit::Core | Unit::Node => threads,
    };
    match job.per_core.is_some() || job.threads.is_some() {
        true => unit.min(job.cpus_per_core(threads)),
        false => unit,
    }
}
