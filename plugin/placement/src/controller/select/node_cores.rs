//! The cores of one node that a job gets: in blocks (`_block_sync_core_bitmap`: the smallest socket that holds all of
//! the need, or else the largest), or in turns over its sockets (`_cyclic_sync_core_bitmap`: whole tasks first, then
//! one core a socket). In: the free cores of a node, and the CPUs to find. Out: the job's cores. Pure.

use crate::controller::select::cluster::{ClusterNode, CoreSet, Unit};
use crate::controller::select::details::Details;
use crate::controller::select::offer::{CoreCount, socket};

/// The node's cores for the job, or `None` if there are too few.
pub(super) fn block_cores(
    unit: Unit,
    job: &Details,
    node: &ClusterNode,
    free: &CoreSet,
    cpus: u32,
) -> Option<CoreSet> {
    let of_core = job.cpus_per_core(node.cpus_per_core());
    let need = match job.cores_of_task(of_core) {
        Some(each) => cpus / job.each * each,
        None => cpus.div_ceil(of_core),
    };
    if (free.count() as u32) < need {
        return None;
    }
    let mut left: Vec<u32> = (0..node.sockets)
        .map(|at| free.count_in(socket(node, at)))
        .collect();
    let mut count = CoreCount::new(job, of_core);
    let mut cpus = cpus;
    let mut cores = CoreSet::new();
    while cpus > 0 {
        let at = best_socket(&left, need)?;
        for core in socket(node, at as u32) {
            let is_free = free.contains(core);
            // A socket that is handed out whole takes special cores along.
            if unit == Unit::Socket || (cpus > 0 && is_free) {
                cores.insert(core);
            }
            if cpus > 0 && is_free {
                left[at] -= 1;
                let used = count.next_core();
                cpus = count.left(cpus, used);
            }
        }
    }
    Some(cores)
}

/// The socket with the fewest free cores that still holds all of the need, or else the one with the most.
fn best_socket(left: &[u32], need: u32) -> Option<usize> {
    let (mut best, mut cores, mut holds_all) = (None, 0, false);
    for (at, &free) in left.iter().enumerate() {
        let holds = free >= need;
        let is_better = match holds {
            true => !holds_all || free < cores,
            false => free > cores,
        };
        if cores == 0 || is_better {
            (best, cores, holds_all) = (Some(at), free, holds);
        }
    }
    best.filter(|_| cores > 0)
}

/// The node's cores for the job, or `None` if there are too few: slurmctld then holds the job.
pub(super) fn cyclic_cores(
    unit: Unit,
    job: &Details,
    node: &ClusterNode,
    free: &CoreSet,
    cpus: u32,
) -> Option<CoreSet> {
    let mut turns = Turns::new(job, node, free, cpus);
    if let Some(tasks) = job.per_socket {
        turns.avoid_sockets(tasks.saturating_mul(job.each));
    } else if job.each > 1 {
        turns.whole_tasks();
    }
    if !turns.one_by_one() && !job.overcommit {
        return None;
    }
    Some(turns.end(unit))
}

struct Turns<'a> {
    job: &'a Details,
    node: &'a ClusterNode,
    free: &'a CoreSet,
    of_core: u32,
    /// CPUs still to find.
    cpus: u32,
    /// The next core of each socket.
    next: Vec<u32>,
    avoided: Vec<bool>,
    cores: CoreSet,
}

impl<'a> Turns<'a> {
    fn new(job: &'a Details, node: &'a ClusterNode, free: &'a CoreSet, cpus: u32) -> Self {
        Self {
            job,
            node,
            free,
            of_core: job.cpus_per_core(node.cpus_per_core()),
            cpus,
            next: (0..node.sockets).map(|at| socket(node, at).start).collect(),
            avoided: vec![false; node.sockets as usize],
            cores: CoreSet::new(),
        }
    }

    fn cpus_of_sockets(&self) -> Vec<u32> {
        let cores = (0..self.node.sockets).map(|at| self.free.count_in(socket(self.node, at)));
        cores.map(|cores| cores * self.of_core).collect()
    }

    fn end_of(&self, at: usize) -> u32 {
        socket(self.node, at as u32).end
    }

    /// Leaves out whole sockets, the lowest first, as long as the others hold enough within their limit.
    fn avoid_sockets(&mut self, most: u32) {
        let mut of_socket = self.cpus_of_sockets();
        let mut all: u32 = of_socket.iter().sum();
        for cpus in &mut of_socket {
            if all > self.cpus && *cpus > most {
                all -= *cpus - most;
                *cpus = most;
            }
        }
        for (avoided, cpus) in self.avoided.iter_mut().zip(of_socket) {
            if all > self.cpus && cpus <= most && all - cpus >= self.cpus {
                *avoided = true;
                all -= cpus;
            }
        }
    }

    /// As many whole tasks as fit on a socket, then the next socket.
    fn whole_tasks(&mut self) {
        let mut count = CoreCount::new(self.job, self.of_core);
        for (at, cpus) in self.cpus_of_sockets().into_iter().enumerate() {
            let mut left = cpus - cpus % self.job.each;
            while self.next[at] < self.end_of(at) && left > 0 && self.cpus > 0 {
                let core = self.next[at];
                self.next[at] += 1;
                if !self.free.contains(core) {
                    continue;
                }
                self.cores.insert(core);
                let used = count.next_core();
                let less = |cpus| count.left(cpus, used);
                (left, self.cpus) = (less(left), less(self.cpus));
            }
        }
    }

    /// One core of each socket in turn; whether enough were found.
    fn one_by_one(&mut self) -> bool {
        while self.cpus > 0 {
            let before = self.cpus;
            for at in 0..self.next.len() {
                if self.cpus == 0 || self.avoided[at] {
                    continue;
                }
                let found = self.free.iter_in(self.next[at]..self.end_of(at)).next();
                let Some(core) = found else {
                    self.next[at] = self.end_of(at);
                    continue;
                };
                self.cores.insert(core);
                self.next[at] = core + 1;
                self.cpus = self.cpus.saturating_sub(self.of_core);
            }
            if self.cpus == before {
                return false;
            }
        }
        true
    }

    /// A socket that is handed out whole gets its other cores too, from the last one used on.
    fn end(mut self, unit: Unit) -> CoreSet {
        if unit == Unit::Socket {
            for at in 0..self.node.sockets {
                if self.cores.count_in(socket(self.node, at)) > 0 {
                    let rest = self.next[at as usize]..socket(self.node, at).end;
                    rest.for_each(|core| self.cores.insert(core));
                }
            }
        }
        self.cores
    }
}
