//! `select/linear`: whole nodes, whatever is asked for (`_job_test` and `_job_count_bitmap` of select_linear.c,
//! and the tries of `_pick_best_nodes`).
//! In: the cluster, the job's record, and the nodes that come into question. Out: the grant. Pure.

use crate::controller::select::answer::{GrantedNode, JobGrant};
use crate::controller::select::candidates::Wanted;
use crate::controller::select::cluster::{Cluster, ClusterNode, Memory, SlurmLine};
use crate::controller::select::core_set::CoreSet;
use crate::controller::select::details::Details;
use crate::controller::select::take::record;

/// Whether the job could run on these nodes if nothing else ran.
pub(super) fn could_run(cluster: &Cluster, job: &Details, nodes: &[bool], wanted: Wanted) -> bool {
    choose(cluster, job, nodes, wanted).is_some()
}

/// What the job gets of these nodes: those of one line of slurm.conf after another are added, by weight,
/// until the job fits.
pub(super) fn grant(
    cluster: &Cluster,
    job: &Details,
    nodes: &[bool],
    wanted: Wanted,
) -> Option<JobGrant> {
    // Later lines offer all nodes of a weight at once.
    let line_of = |at: usize| match cluster.line {
        SlurmLine::V22_05 => (cluster.nodes[at].weight, cluster.nodes[at].configuration),
        _ => (cluster.nodes[at].weight, 0),
    };
    let mut lines: Vec<(u32, usize)> = (0..nodes.len()).map(line_of).collect();
    lines.sort_unstable();
    lines.dedup();
    let mut open = vec![false; nodes.len()];
    for at in &job.wanted {
        open[*at] = nodes[*at];
    }
    let last = lines.len().saturating_sub(1);
    for (tried, line) in lines.into_iter().enumerate() {
        for (at, open) in open.iter_mut().enumerate() {
            *open |= nodes[at] && line_of(at) == line;
        }
        let count = open.iter().filter(|open| **open).count();
        if tried < last && count < wanted.least.max(wanted.best) as usize {
            continue;
        }
        let fits = with_memory(cluster, job, &open);
        if let Some(taken) = choose(cluster, job, &fits, wanted) {
            return Some(granted(cluster, job, &taken));
        }
    }
    None
}

fn granted(cluster: &Cluster, job: &Details, taken: &[bool]) -> JobGrant {
    let all = (0..taken.len()).filter(|at| taken[*at]);
    let nodes: Vec<_> = all
        .map(|at| GrantedNode {
            node: at,
            cores: CoreSet::first(cluster.nodes[at].cores()),
            cpus: cluster.nodes[at].cpus,
        })
        .collect();
    JobGrant {
        tasks: job.tasks,
        record: record(cluster.line, job, nodes.len() as u32),
        nodes,
    }
}

/// The nodes that have memory for the job. A job that asks for none needs as much of every node as the
/// first one has.
fn with_memory(cluster: &Cluster, job: &Details, open: &[bool]) -> Vec<bool> {
    let mut fits = open.to_vec();
    if !cluster.select.memory {
        return fits;
    }
    let mut of_first = None;
    for (fits, node) in fits
        .iter_mut()
        .zip(&cluster.nodes)
        .filter(|(fits, _)| **fits)
    {
        let needs = match job.memory {
            Memory::PerNode(0) => *of_first.get_or_insert(node.memory),
            Memory::PerNode(memory) => memory,
            Memory::PerCpu(each) => each.saturating_mul(node.cpus.into()),
        };
        *fits = node.used_memory.saturating_add(needs) <= node.memory;
    }
    fits
}

/// CPUs of a node that count for the job (`_get_avail_cpus`).
fn cpus_of(job: &Details, node: &ClusterNode) -> i64 {
    let by_core = job.per_core.map(|most| {
        let cores = node.cores();
        cores.saturating_mul(most).saturating_mul(job.each)
    });
    let cpus = by_core.map_or(node.cpus, |most| most.max(node.cpus));
    let by_node = job.per_node.map(|tasks| tasks.saturating_mul(job.each));
    by_node.map_or(cpus, |most| most.min(cpus)).into()
}

/// Neighbours in slurm.conf's order.
struct Run {
    cpus: i64,
    nodes: i64,
    first: usize,
    last: usize,
    /// The first node of `-w` in it.
    wanted: Option<usize>,
}

impl Run {
    const NEW: Self = Self {
        cpus: 0,
        nodes: 0,
        first: 0,
        last: 0,
        wanted: None,
    };
}

struct Search<'a> {
    job: &'a Details,
    wanted: Wanted,
    cpus: Vec<i64>,
    taken: Vec<bool>,
    due_cpus: i64,
    due_nodes: i64,
    most_nodes: i64,
}

fn choose(cluster: &Cluster, job: &Details, open: &[bool], wanted: Wanted) -> Option<Vec<bool>> {
    let all = || (0..open.len()).filter(|at| open[*at]);
    if all().count() < wanted.least as usize || job.wanted.iter().any(|at| !open[*at]) {
        return None;
    }
    let mut search = Search {
        job,
        wanted,
        cpus: vec![0; open.len()],
        taken: vec![false; open.len()],
        due_cpus: job.min_cpus.into(),
        due_nodes: wanted.least.max(wanted.best).into(),
        most_nodes: wanted.most.into(),
    };
    for at in all() {
        search.cpus[at] = cpus_of(job, &cluster.nodes[at]);
    }
    let mut runs = search.runs(open);
    let least = all().map(|at| search.cpus[at]).min().unwrap_or(0);
    let unlike = all().any(|at| search.cpus[at] != least);
    if unlike && search.due_cpus > least * search.due_nodes {
        search.take_largest()?;
    } else {
        search.take_runs(&mut runs);
    }
    search.suffices().then_some(search.taken)
}

impl Search<'_> {
    /// Takes the nodes of `-w`, and makes runs of the others.
    fn runs(&mut self, open: &[bool]) -> Vec<Run> {
        let mut runs = Vec::new();
        let mut run = Run::NEW;
        for (at, &open) in open.iter().enumerate() {
            if !open {
                if run.nodes > 0 {
                    runs.push(Run {
                        last: at - 1,
                        ..run
                    });
                    run = Run::NEW;
                }
                run.wanted = None;
                continue;
            }
            if run.nodes == 0 {
                run.first = at;
            }
            if self.job.wanted.binary_search(&at).is_ok() && self.most_nodes > 0 {
                run.wanted.get_or_insert(at);
                self.take(at);
            } else {
                run.cpus += self.cpus[at];
                run.nodes += 1;
            }
        }
        if run.nodes > 0 {
            let last = open.len() - 1;
            runs.push(Run { last, ..run });
        }
        runs
    }

    fn take(&mut self, at: usize) {
        if !self.taken[at] {
            self.taken[at] = true;
            self.due_cpus -= self.cpus[at];
            self.due_nodes -= 1;
            self.most_nodes -= 1;
        }
    }

    fn is_served(&self) -> bool {
        self.due_nodes <= 0 && self.due_cpus <= 0
    }

    /// The due nodes, less those that the job only wants at best.
    fn enough_nodes(&self, found: i64) -> bool {
        let spare = i64::from(self.wanted.best) - i64::from(self.wanted.least);
        found >= self.due_nodes - spare.max(0)
    }

    fn suffices(&self) -> bool {
        self.is_served() || (self.due_cpus <= 0 && self.enough_nodes(0))
    }

    /// Nodes of unlike size, and the smallest would not do: the largest first, the last of equal ones.
    fn take_largest(&mut self) -> Option<()> {
        while self.most_nodes > 0 && !self.is_served() {
            let left = (0..self.cpus.len()).filter(|at| !self.taken[*at] && self.cpus[*at] > 0);
            let largest = left.max_by_key(|at| self.cpus[*at])?;
            self.take(largest);
        }
        Some(())
    }

    fn take_runs(&mut self, runs: &mut [Run]) {
        while self.most_nodes > 0
            && let Some((at, suffices)) = self.best(runs)
        {
            if self.job.contiguous && !suffices {
                break;
            }
            let run = &runs[at];
            let from = run.wanted.unwrap_or(run.first);
            for at in (from..=run.last).chain((run.first..from).rev()) {
                if self.most_nodes <= 0 || self.is_served() {
                    break;
                }
                self.take(at);
            }
            if self.job.contiguous || self.is_served() {
                break;
            }
            (runs[at].cpus, runs[at].nodes) = (0, 0);
        }
    }

    /// The best run, and whether it suffices.
    fn best(&self, runs: &[Run]) -> Option<(usize, bool)> {
        let only_wanted = self.job.contiguous && !self.job.wanted.is_empty();
        let mut best: Option<(usize, bool)> = None;
        for (at, run) in runs.iter().enumerate().filter(|(_, run)| run.nodes > 0) {
            if only_wanted && run.wanted.is_none() {
                continue;
            }
            let suffices = run.cpus >= self.due_cpus && self.enough_nodes(run.nodes);
            let is_better = best.is_none_or(|(other, enough)| {
                let other = &runs[other];
                (other.wanted.is_none() && run.wanted.is_some())
                    || match suffices {
                        true => !enough || run.cpus < other.cpus,
                        false => run.cpus > other.cpus,
                    }
            });
            if is_better {
                best = Some((at, suffices));
            }
            if only_wanted && runs[at + 1..].iter().any(|run| run.wanted.is_some()) {
                return None;
            }
        }
        best
    }
}
