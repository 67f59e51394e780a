//! Which nodes of its job a step gets (`_pick_step_nodes`, `_pick_step_nodes_cpus`).
//! In: the job and the request. Out: positions of nodes in the job, or why there are none. Pure.

use crate::controller::select::answer::{StepAnswer, StepRefusal};
use crate::controller::select::cluster::{Memory, SlurmLine};
use crate::controller::select::step::request::{Job, StepRequest};

const NO_CONFIGURATION: StepAnswer = StepAnswer::Refused(StepRefusal::NodeConfiguration);
const TOO_MANY_CPUS: StepAnswer = StepAnswer::Refused(StepRefusal::TooManyCpus);

/// A step counts no more CPUs on one node when it chooses nodes by CPUs.
const MOST_CPUS: u32 = 1024;

/// The nodes, in the job's order.
pub(in crate::controller::select) fn pick(
    job: &Job<'_>,
    request: &StepRequest,
) -> Result<Vec<usize>, StepAnswer> {
    let mut pick = Pick::new(job, request);
    if request.max_nodes < request.min_nodes {
        return Err(StepAnswer::Refused(StepRefusal::TooManyNodes));
    }
    pick.take_wanted()?;
    pick.count_nodes()?;
    pick.take_nodes()?;
    pick.add_for_cpus()?;
    let picked = (0..pick.picked.len()).filter(|at| pick.picked[*at]);
    Ok(picked.collect())
}

struct Pick<'a> {
    job: &'a Job<'a>,
    request: &'a StepRequest,
    /// CPUs that the step may use, on each node.
    usable: Vec<u32>,
    open: Vec<bool>,
    picked: Vec<bool>,
    /// Nodes without a CPU for it.
    blocked_nodes: u32,
    min_nodes: u32,
    max_nodes: u32,
    /// CPUs that are asked for; -O asks for none.
    cpus: u32,
}

impl<'a> Pick<'a> {
    fn new(job: &'a Job<'a>, request: &'a StepRequest) -> Self {
        let count = job.nodes.len();
        let mut pick = Self {
            job,
            request,
            usable: Vec::with_capacity(count),
            open: vec![true; count],
            picked: vec![false; count],
            blocked_nodes: 0,
            min_nodes: request.min_nodes,
            max_nodes: request.max_nodes,
            cpus: if request.overcommit { 0 } else { request.cpus },
        };
        for at in 0..count {
            let usable = pick.usable_cpus(at);
            pick.usable.push(usable);
            pick.open[at] = usable > 0;
        }
        pick
    }

    fn usable_cpus(&mut self, at: usize) -> u32 {
        let mut usable = self.job.nodes[at].cpus;
        if !self.request.overlap {
            usable = self.by_threads(at, usable);
            self.blocked_nodes += u32::from(usable == 0);
        }
        match self.request.memory {
            Some(Memory::PerCpu(each)) if each > 0 && self.job.cluster.select.memory => {
                let most = self.job.memory(at) / each;
                usable.min(u32::try_from(most).unwrap_or(u32::MAX))
            }
            _ => usable,
        }
    }

    /// 26.05 counts the CPUs of a step that names its threads by the node's `ThreadsPerCore`, also where the
    /// job's CPUs are cores.
    fn by_threads(&self, at: usize, usable: u32) -> u32 {
        let of_core = self.job.node(at).threads_per_core;
        match self.request.threads {
            Some(threads) if self.job.cluster.line == SlurmLine::V26_05 && threads != of_core => {
                usable / of_core.max(1) * threads
            }
            _ => usable,
        }
    }

    fn take_wanted(&mut self) -> Result<(), StepAnswer> {
        let named_nodes = &self.request.named_nodes;
        if named_nodes.is_empty() {
            return Ok(());
        }
        if named_nodes.iter().any(|at| !self.open[*at]) {
            return Err(StepAnswer::Waits);
        }
        let count = named_nodes.len() as u32;
        if count > self.max_nodes {
            return Err(NO_CONFIGURATION);
        }
        let only_from_these = self.min_nodes > 0 && count > self.min_nodes;
        if only_from_these {
            self.open.fill(false);
        }
        for &at in named_nodes {
            self.open[at] = only_from_these;
            self.picked[at] = !only_from_these;
        }
        Ok(())
    }

    /// Where all nodes have equal CPUs, the CPUs say how many nodes are needed.
    fn count_nodes(&mut self) -> Result<(), StepAnswer> {
        let first = self.job.values.first().copied().unwrap_or(0);
        let equal = self.job.values.iter().all(|cpus| *cpus == first);
        if self.cpus == 0 || !equal || first == 0 {
            return Ok(());
        }
        let cpus = self.counted_cpus()?;
        self.min_nodes = self.min_nodes.max(cpus.div_ceil(first));
        if self.request.distribution.pack == Some(true) {
            self.max_nodes = self.min_nodes;
        }
        match self.max_nodes < self.min_nodes {
            true => Err(TOO_MANY_CPUS),
            false => Ok(()),
        }
    }

    /// With fewer threads a core than the job has, CPUs stand for whole cores.
    fn counted_cpus(&self) -> Result<u32, StepAnswer> {
        let of_job = self.job.grant.record.threads_per_core;
        let threads = self.request.threads.or(of_job);
        let Some(threads) = threads.filter(|threads| of_job.is_none_or(|most| *threads < most))
        else {
            return Ok(self.cpus);
        };
        let of_core = self.job.node(0).cpus_per_core();
        match threads {
            _ if threads > of_core => Err(StepAnswer::Refused(StepRefusal::ThreadsPerCore)),
            _ if threads < of_core => Ok(self.cpus.div_ceil(threads).saturating_mul(of_core)),
            _ => Ok(self.cpus),
        }
    }

    fn take_nodes(&mut self) -> Result<(), StepAnswer> {
        let picked = count(&self.picked);
        if self.min_nodes <= picked {
            return Ok(());
        }
        if count(&self.open) + picked < self.min_nodes {
            return Err(StepAnswer::Waits);
        }
        let open = self.open.clone();
        match self.take_from(&open, picked) {
            true => Ok(()),
            false => Err(self.why_none(count(&open) + picked)),
        }
    }

    fn why_none(&self, picked: u32) -> StepAnswer {
        if self.max_nodes <= picked {
            TOO_MANY_CPUS
        } else if self.min_nodes <= picked + self.blocked_nodes {
            StepAnswer::Waits
        } else {
            NO_CONFIGURATION
        }
    }

    /// Takes as many of these nodes as are due; whether they suffice.
    fn take_from(&mut self, from: &[bool], picked: u32) -> bool {
        let mut cpus = self.cpus;
        for at in (0..from.len()).filter(|at| self.picked[*at]) {
            cpus = cpus.saturating_sub(self.usable[at]);
        }
        let target = self.min_nodes.max(self.max_nodes).saturating_sub(picked);
        let target = target.min(count(from));
        let Some(found) = self.by_cpus(from, target, cpus) else {
            return false;
        };
        for at in found {
            self.picked[at] = true;
            self.open[at] = false;
        }
        true
    }

    /// Chooses `nodes` of these nodes that have `cpus` CPUs together: first those whose CPUs reach the share of a node,
    /// then the largest others.
    fn by_cpus(&self, from: &[bool], nodes: u32, cpus: u32) -> Option<Vec<usize>> {
        let all: Vec<usize> = (0..from.len()).filter(|at| from[*at]).collect();
        let share = cpus.div_ceil(nodes.max(1));
        if cpus <= nodes || share > MOST_CPUS {
            return (all.len() >= nodes as usize).then(|| all[..nodes as usize].to_vec());
        }
        let (mut found, mut left) = (Vec::new(), i64::from(cpus));
        let mut take = |at: usize, left: &mut i64| {
            *left -= i64::from(self.usable[at]);
            found.push(at);
            found.len() == nodes as usize
        };
        for &at in all.iter().filter(|at| self.usable[**at] >= share) {
            if take(at, &mut left) {
                return (left <= 0).then_some(found);
            }
        }
        let mut small: Vec<usize> = all
            .into_iter()
            .filter(|at| self.usable[*at] < share)
            .collect();
        small.sort_by_key(|at| std::cmp::Reverse(self.usable[*at]));
        for at in small {
            if take(at, &mut left) {
                return (left <= 0).then_some(found);
            }
        }
        None
    }

    /// More nodes, while CPUs are due and the step may have more.
    fn add_for_cpus(&mut self) -> Result<(), StepAnswer> {
        let mut have: u32 = (0..self.usable.len())
            .filter(|at| self.picked[*at])
            .map(|at| self.usable[at])
            .sum();
        let mut nodes = count(&self.picked);
        for at in 0..self.usable.len() {
            if have >= self.cpus || nodes >= self.max_nodes {
                break;
            }
            if self.open[at] && self.usable[at] > 0 {
                self.picked[at] = true;
                have += self.usable[at];
                nodes += 1;
            }
        }
        match have >= self.cpus {
            true => Ok(()),
            false => Err(NO_CONFIGURATION),
        }
    }
}

fn count(nodes: &[bool]) -> u32 {
    nodes.iter().filter(|is_in| **is_in).count() as u32
}
