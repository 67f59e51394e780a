//! Nodes by best fit over runs of neighbours (`_eval_nodes`): the lowest weight first, then the run that
//! suffices with the fewest CPUs; one more node is the smallest that suffices.
//! In: candidates. Out: the taken nodes. Pure.

use crate::controller::select::candidates::{Candidates, Due, Wanted, enough_nodes};

/// The weight of a run that began where the weight changed, and has no node but of `-w` yet.
const NO_NODE_YET: i64 = -1;

/// Neighbours in slurm.conf's order, with equal weight.
struct Run {
    cpus: i64,
    nodes: i64,
    first: usize,
    last: usize,
    /// The first node of `-w` in it.
    wanted: Option<usize>,
    weight: Option<i64>,
}

impl Run {
    fn new() -> Self {
        Self {
            cpus: 0,
            nodes: 0,
            first: 0,
            last: 0,
            wanted: None,
            weight: None,
        }
    }
}

/// One evaluation.
struct Evaluation<'a, 'b> {
    from: &'a mut Candidates<'b>,
    wanted: Wanted,
    due: Due,
    /// CPUs that tasks can use on each node; 0 for nodes that are not to be taken.
    cpus: Vec<u32>,
    taken: Vec<bool>,
}

pub(super) fn evaluate(from: &mut Candidates<'_>, wanted: Wanted) -> Option<Vec<bool>> {
    let count = from.open.len();
    let due = Due::new(from.job, wanted);
    let mut here = Evaluation {
        from,
        wanted,
        due,
        cpus: vec![0; count],
        taken: vec![false; count],
    };
    here.take_wanted()?;
    if here.due.is_served() && !here.from.job.wanted.is_empty() {
        return Some(here.taken);
    }
    let mut runs = here.runs();
    while here.due.most_nodes > 0
        && let Some((at, suffices)) = here.best(&runs)
    {
        if here.from.job.contiguous && !suffices {
            break;
        }
        here.take_from(&runs[at]);
        if here.due.is_served() {
            return Some(here.taken);
        }
        (runs[at].cpus, runs[at].nodes) = (0, 0);
    }
    let enough = here.due.cpus <= 0 && enough_nodes(0, &here.due, wanted);
    enough.then_some(here.taken)
}

impl Evaluation<'_, '_> {
    /// Nodes of `-w` are taken first, whatever else is.
    fn take_wanted(&mut self) -> Option<()> {
        let wanted = &self.from.job.wanted;
        if wanted.is_empty() {
            return Some(());
        }
        if wanted.len() as i64 > self.due.most_nodes {
            return None;
        }
        for &at in wanted {
            let cpus = self.from.usable(at);
            let cpus = self.from.taken(at, cpus, &self.due);
            if cpus == 0 {
                return None;
            }
            self.cpus[at] = cpus;
            self.taken[at] = true;
            self.due.take(cpus);
        }
        (self.due.is_served() || self.due.most_nodes > 0).then_some(())
    }

    fn runs(&mut self) -> Vec<Run> {
        let contiguous = self.from.job.contiguous;
        let mut runs = vec![Run::new()];
        for at in 0..self.cpus.len() {
            let is_wanted = self.taken[at];
            let mut open = self.from.open[at];
            if open && !is_wanted {
                self.cpus[at] = self.from.usable(at);
                open = self.cpus[at] > 0;
            }
            if !open {
                end(&mut runs, at);
                continue;
            }
            let weight = i64::from(self.from.cluster.nodes[at].weight);
            let run = latest(&mut runs);
            if !contiguous && run.weight.is_some_and(|of_run| of_run != weight) {
                let of_run = run.weight.filter(|_| run.nodes == 0);
                end(&mut runs, at);
                latest(&mut runs).weight = of_run.or(Some(NO_NODE_YET));
            }
            let run = latest(&mut runs);
            if run.nodes == 0 {
                run.first = at;
            }
            if is_wanted {
                run.wanted.get_or_insert(at);
                continue;
            }
            run.cpus += i64::from(self.cpus[at]);
            run.nodes += 1;
            run.weight = Some(weight);
        }
        latest(&mut runs).last = self.cpus.len().saturating_sub(1);
        runs.retain(|run| run.nodes > 0);
        runs
    }

    /// The best run, and whether it suffices.
    fn best(&self, runs: &[Run]) -> Option<(usize, bool)> {
        let job = self.from.job;
        let only_wanted = job.contiguous && !job.wanted.is_empty();
        let mut best: Option<(usize, bool)> = None;
        for (at, run) in runs.iter().enumerate().filter(|(_, run)| run.nodes > 0) {
            if only_wanted && run.wanted.is_none() {
                continue;
            }
            let suffices =
                run.cpus >= self.due.cpus && enough_nodes(run.nodes, &self.due, self.wanted);
            let is_better = match best {
                None => true,
                Some((other, enough)) => {
                    is_better(run, &runs[other], suffices, enough, job.contiguous)
                }
            };
            if is_better {
                best = Some((at, suffices));
            }
            let others = &runs[at + 1..];
            if only_wanted && others.iter().any(|run| run.wanted.is_some()) {
                return None;
            }
        }
        best
    }

    fn take_from(&mut self, run: &Run) {
        if let Some(wanted) = run.wanted {
            let up = wanted..=run.last;
            let down = (run.first..wanted).rev();
            for at in up.chain(down) {
                if self.is_done() {
                    break;
                }
                self.take(at);
            }
            return;
        }
        let single = self.smallest(run);
        for at in run.first..=run.last {
            if self.is_done() {
                break;
            }
            let is_short = self.due.most_nodes == 1 && i64::from(self.cpus[at]) < self.due.cpus;
            if single.is_none_or(|single| single == at) && !is_short {
                self.take(at);
            } else if single.is_some_and(|single| single != at) {
                self.cpus[at] = 0;
            }
        }
    }

    /// If one more node is due: the one with the fewest CPUs that suffices.
    fn smallest(&self, run: &Run) -> Option<usize> {
        if self.due.nodes > 1 {
            return None;
        }
        let all =
            (run.first..=run.last).filter(|at| !self.taken[*at] && self.from.offers[*at].is_some());
        all.filter(|at| i64::from(self.cpus[*at]) >= self.due.cpus)
            .min_by_key(|at| self.cpus[*at])
    }

    fn is_done(&self) -> bool {
        self.due.most_nodes <= 0 || self.due.is_served()
    }

    fn take(&mut self, at: usize) {
        if self.taken[at] || self.cpus[at] == 0 {
            return;
        }
        let cpus = self.from.taken(at, self.cpus[at], &self.due);
        self.taken[at] = true;
        self.due.take(cpus);
    }
}

/// The run that is being made; there is always one.
fn latest(runs: &mut [Run]) -> &mut Run {
    let last = runs.len() - 1;
    &mut runs[last]
}

/// Ends a run before this node; one that has only nodes of `-w` is used again.
fn end(runs: &mut Vec<Run>, at: usize) {
    let run = latest(runs);
    if run.nodes == 0 {
        run.wanted = None;
        run.weight = None;
    } else {
        run.last = at - 1;
        runs.push(Run::new());
    }
}

fn is_better(run: &Run, best: &Run, suffices: bool, enough: bool, contiguous: bool) -> bool {
    if (best.wanted.is_none() && run.wanted.is_some()) || run.weight < best.weight {
        return true;
    }
    let fits_better = match suffices {
        true => !enough || run.cpus < best.cpus,
        false => run.cpus > best.cpus,
    };
    (run.weight == best.weight && fits_better) || (contiguous && suffices && !enough)
}
