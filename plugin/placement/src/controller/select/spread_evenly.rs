//! Nodes for `--spread-job` since 26.05 (`_eval_nodes_spread`): each node gets a task, then the tasks are dealt
//! out in turn.
//! In: candidates. Out: the taken nodes. Pure.

use crate::controller::select::candidates::{Candidates, Due, Wanted};
use crate::controller::select::spread::by_weight;

pub(super) fn evaluate(from: &mut Candidates<'_>, wanted: Wanted) -> Option<Vec<bool>> {
    let mut due = Due::new(from.job, wanted);
    if from.job.tasks > 0 {
        due.most_nodes = due.most_nodes.min(from.job.tasks.into());
    }
    let count = from.open.len();
    let has = |at: usize| if from.open[at] { from.usable(at) } else { 0 };
    let mut deal = Deal {
        has: (0..count).map(has).collect(),
        used: vec![0; count],
        taken: vec![false; count],
        each: from.job.each,
        due,
    };
    for &at in &from.job.wanted {
        if deal.has[at] == 0 || deal.due.most_nodes <= 0 {
            return None;
        }
        deal.take(at);
    }
    loop {
        let before = deal.due.most_nodes;
        deal.add_nodes(from);
        deal.rounds();
        if deal.due.cpus <= 0 || deal.due.most_nodes <= 0 || deal.due.most_nodes == before {
            break;
        }
        deal.due.nodes = deal.due.nodes.max(1);
    }
    deal.end(from, wanted)
}

/// Tasks that are dealt out.
struct Deal {
    has: Vec<u32>,
    used: Vec<u32>,
    taken: Vec<bool>,
    each: u32,
    due: Due,
}

impl Deal {
    fn take(&mut self, at: usize) {
        self.taken[at] = true;
        self.used[at] = self.each;
        self.due.take(self.each);
    }

    /// Each weight has its turn, also where the one before has given enough.
    fn add_nodes(&mut self, from: &Candidates<'_>) {
        if self.due.most_nodes <= 0 {
            return;
        }
        for (_, nodes) in by_weight(from, &self.taken) {
            for at in nodes {
                if self.has[at] == 0 {
                    continue;
                }
                self.take(at);
                // slurmctld counts without a sign.
                if self.due.most_nodes < 0 {
                    self.due.most_nodes = u32::MAX.into();
                }
                if self.due.most_nodes <= 0 || self.due.nodes <= 0 {
                    break;
                }
            }
        }
    }

    /// One task for each node in turn, while they have CPUs.
    fn rounds(&mut self) {
        let mut found = true;
        while found && self.due.cpus > 0 {
            found = false;
            for at in 0..self.taken.len() {
                if !self.taken[at] || self.used[at] >= self.has[at] {
                    continue;
                }
                self.used[at] = self.used[at].saturating_add(self.each);
                self.due.cpus -= i64::from(self.each);
                if self.due.cpus <= 0 {
                    return;
                }
                found = true;
            }
        }
    }

    fn end(self, from: &mut Candidates<'_>, wanted: Wanted) -> Option<Vec<bool>> {
        let mut due = Due::new(from.job, wanted);
        for at in 0..self.taken.len() {
            if self.taken[at] {
                let cpus = self.used[at].max(from.job.node_cpus);
                let cpus = from.taken(at, cpus, &due);
                due.take(cpus);
            }
        }
        (due.cpus <= 0 && due.least_nodes <= 0).then_some(self.taken)
    }
}
