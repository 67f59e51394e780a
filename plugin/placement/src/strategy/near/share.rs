//! Divides each group's cores among its tasks.
//! In: the usable cores, the groups, the CPUs that a task requests. Out: each task's hardware threads.
//! Pure.
//!
//! Without `-c` a task gets an even share of what is next to its devices. With it the task gets the
//! first CPUs of that share; where shares are smaller than `-c`, tasks are packed, and those that no
//! longer fit go to the next ring.

use std::ops::Range;

use crate::sets::ids::PuIdx;
use crate::strategy::near::hand_out::{Part, by_group, by_need};
use crate::strategy::near::places::{Cores, Places};
use crate::strategy::situation::even_runs;

/// The CPUs that each task requests.
#[derive(Clone, Copy, Debug)]
pub(super) struct CpusPerTask {
    /// Hardware threads for `-c`; 1 requests an even share.
    pub(super) cpus: u32,
    /// Whether a task gets exactly these hardware threads, and not whole cores.
    pub(super) exact: bool,
}

/// Each task's hardware threads: runs of one list.
#[derive(Clone, Debug, Default)]
pub(super) struct Shares {
    /// Each group's cores, one after the other, the nearest first.
    cores: Cores,
    /// Each task's by local id, as positions among their hardware threads.
    of_task: Vec<Range<usize>>,
}

impl Shares {
    /// Divides the cores of each part among its tasks.
    fn new(
        all: &Cores,
        parts: &[Part<'_>],
        count: u32,
        divide: impl Fn(&Cores, Range<usize>, usize) -> Vec<Range<usize>>,
    ) -> Self {
        let mut shares = Self {
            cores: Cores::default(),
            of_task: vec![0..0; count as usize],
        };
        for part in parts {
            let before = shares.cores.len();
            for run in &part.cores {
                shares.cores.extend(all, run.clone());
            }
            let own = before..shares.cores.len();
            let divided = divide(&shares.cores, own, part.tasks.len());
            for (task, pus) in part.tasks.iter().zip(divided) {
                shares.of_task[*task as usize] = pus;
            }
        }
        shares
    }

    /// Each task's hardware threads, by local id.
    pub(super) fn iter(&self) -> impl Iterator<Item = &[PuIdx]> {
        let all = self.cores.pus();
        self.of_task.iter().map(|own| &all[own.clone()])
    }

    fn fits(&self, each: CpusPerTask) -> bool {
        let mut all = self.of_task.iter();
        all.all(|pus| pus.len() >= each.cpus as usize)
    }

    /// The whole cores at the beginning of each share that have the CPUs a task requests.
    fn cut(mut self, each: CpusPerTask) -> Self {
        let least = each.cpus as usize;
        for own in self.of_task.iter_mut().filter(|own| own.len() > least) {
            let end = own.start + least;
            own.end = match each.exact {
                true => end,
                false => own.end.min(self.cores.end_around(end - 1)),
            };
        }
        self
    }
}

/// Each task's hardware threads.
pub(super) fn tasks(places: &Places, each: CpusPerTask, count: u32) -> Shares {
    let shares = Shares::new(&places.cores, &by_group(places, 1), count, split);
    if each.cpus <= 1 {
        return shares;
    }
    let shares = match shares.fits(each) {
        true => shares,
        false => {
            let pack = |cores: &Cores, own, tasks| pack(cores, own, (tasks, each.cpus));
            let parts = by_need(places, each.cpus);
            let packed = Shares::new(&places.cores, &parts, count, pack);
            if packed.fits(each) { packed } else { shares }
        }
    };
    shares.cut(each)
}

/// Runs of cores of nearly equal length; with more tasks than cores runs of hardware threads; with
/// more tasks than those all of them for every task.
fn split(cores: &Cores, own: Range<usize>, tasks: usize) -> Vec<Range<usize>> {
    let pus = cores.range(own.clone());
    if own.len() >= tasks {
        return even_runs(own, tasks).map(|run| cores.range(run)).collect();
    }
    match pus.len() >= tasks {
        true => even_runs(pus, tasks).collect(),
        false => vec![pus; tasks],
    }
}

/// Each task gets the next cores, until it has the CPUs it requests.
fn pack(cores: &Cores, own: Range<usize>, (tasks, each): (usize, u32)) -> Vec<Range<usize>> {
    let mut next = own.start;
    let of_task = |_| {
        let first = next;
        while next < own.end && cores.range(first..next).len() < each as usize {
            next += 1;
        }
        cores.range(first..next)
    };
    (0..tasks).map(of_task).collect()
}
