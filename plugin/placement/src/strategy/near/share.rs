//! Divides cores among groups of tasks, and each group's cores among its tasks.
//! In: the rings of each group, the usable cores, the CPUs that a task requests. Out: each task's
//! hardware threads. Pure.
//!
//! Without `-c` a task gets an even share of what is next to its devices. With it the task gets the
//! first CPUs of that share; where shares are smaller than `-c`, tasks are packed, and those that no
//! longer fit go to the next ring.

use std::ops::Range;

use crate::sets::ids::PuIdx;
use crate::strategy::near::places::{Cores, Group};

/// The CPUs that each task requests.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    /// `-c`; 1 requests an even share.
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
    /// Divides the cores of each group among its tasks.
    fn new(
        (groups, cores): (&[Group], &Cores),
        given: &[Vec<usize>],
        count: u32,
        divide: impl Fn(&Cores, Range<usize>, usize) -> Vec<Range<usize>>,
    ) -> Self {
        let mut shares = Self {
            cores: Cores::default(),
            of_task: vec![0..0; count as usize],
        };
        for (group, given) in groups.iter().zip(given) {
            let mut near: Vec<usize> = given.clone();
            near.sort_by_key(|core| (group.rings[*core], *core));
            let before = shares.cores.len();
            for core in near {
                shares.cores.push(cores.of(core).iter().copied());
            }
            let own = before..shares.cores.len();
            let divided = divide(&shares.cores, own, group.tasks.len());
            for (task, pus) in group.tasks.iter().zip(divided) {
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

    fn fits(&self, wanted: Wanted) -> bool {
        let mut all = self.of_task.iter();
        all.all(|pus| pus.len() >= wanted.cpus as usize)
    }

    /// The whole cores at the beginning of each share that have the CPUs a task requests.
    fn cut(mut self, wanted: Wanted) -> Self {
        let least = wanted.cpus as usize;
        for own in self.of_task.iter_mut().filter(|own| own.len() > least) {
            let end = own.start + least;
            own.end = match wanted.exact {
                true => end,
                false => own.end.min(self.cores.end_around(end - 1)),
            };
        }
        self
    }
}

/// Each task's hardware threads.
pub(super) fn tasks(groups: &[Group], cores: &Cores, wanted: Wanted, count: u32) -> Shares {
    let (all, given): (Vec<_>, Vec<_>) = by_group(groups, cores, 1).into_iter().unzip();
    let shares = Shares::new((&all, cores), &given, count, split);
    if wanted.cpus <= 1 {
        return shares;
    }
    let shares = match shares.fits(wanted) {
        true => shares,
        false => {
            let packed = packed(groups, cores, wanted.cpus);
            let pack = |cores: &Cores, own, tasks| pack(cores, own, (tasks, wanted.cpus));
            let packed = Shares::new((groups, cores), &packed, count, pack);
            if packed.fits(wanted) { packed } else { shares }
        }
    };
    shares.cut(wanted)
}

/// The cores of each group, with so many hardware threads for each of its tasks where the cores have
/// them, else with one; all groups are one if some would get too few even so.
pub(super) fn by_group(groups: &[Group], cores: &Cores, each: u32) -> Vec<(Group, Vec<usize>)> {
    let one = || (each > 1).then(|| even(groups, cores, 1)).flatten();
    match even(groups, cores, each.max(1)).or_else(one) {
        Some(given) => groups.iter().cloned().zip(given).collect(),
        None => vec![(together(groups, cores), (0..cores.len()).collect())],
    }
}

/// The cores of each group, as many as its tasks request, ring after ring. `None` if a group would get
/// too few.
pub(super) fn by_need(
    groups: &[Group],
    cores: &Cores,
    each: u32,
) -> Option<Vec<(Group, Vec<usize>)>> {
    let given = packed(groups, cores, each);
    let cpus = |given: &Vec<usize>| {
        given
            .iter()
            .map(|core| cores.of(*core).len())
            .sum::<usize>()
    };
    let mut both = groups.iter().zip(&given);
    let is_enough = both.all(|(group, given)| cpus(given) >= group.tasks.len() * each as usize);
    is_enough.then(|| groups.iter().cloned().zip(given).collect())
}

/// Runs of cores of nearly equal length; with more tasks than cores runs of hardware threads; with
/// more tasks than those all of them for every task.
fn split(cores: &Cores, own: Range<usize>, tasks: usize) -> Vec<Range<usize>> {
    let pus = cores.range(own.clone());
    let run = |within: &Range<usize>, task: usize| {
        let (each, more) = (within.len() / tasks, within.len() % tasks);
        let start = |task: usize| within.start + task * each + task.min(more);
        start(task)..start(task + 1)
    };
    let of_task = |task| {
        if own.len() >= tasks {
            cores.range(run(&own, task))
        } else if pus.len() >= tasks {
            run(&pus, task)
        } else {
            pus.clone()
        }
    };
    (0..tasks).map(of_task).collect()
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

/// All groups as one: tasks that stand near each other stay so.
fn together(groups: &[Group], cores: &Cores) -> Group {
    Group {
        tasks: groups
            .iter()
            .flat_map(|group| group.tasks.clone())
            .collect(),
        rings: vec![0; cores.len()],
    }
}

/// All cores next to the devices, divided among the groups that are next to them. A group with fewer
/// than `each` hardware threads there for each of its tasks also takes part in the next ring. `None`
/// if some group has too few in the end.
fn even(groups: &[Group], cores: &Cores, each: u32) -> Option<Vec<Vec<usize>>> {
    let mut reach = vec![0; groups.len()];
    let far = |group: &Group| group.rings.iter().max().copied().unwrap_or(0);
    loop {
        let given = divided(groups, cores, &reach);
        let (mut wider, mut lacks) = (false, false);
        for (at, group) in groups.iter().enumerate() {
            let pus: usize = given[at].iter().map(|core| cores.of(*core).len()).sum();
            let is_short = pus < group.tasks.len() * each as usize;
            lacks |= is_short;
            if is_short && reach[at] < far(group) {
                reach[at] += 1;
                wider = true;
            }
        }
        if !wider {
            return Some(given).filter(|_| !lacks);
        }
    }
}

fn divided(groups: &[Group], cores: &Cores, reach: &[u32]) -> Vec<Vec<usize>> {
    let all = (0..cores.len()).collect();
    let mut fill = Fill::new(groups, cores, u32::MAX);
    fill.hand_out(all, |group, core| groups[group].rings[core] <= reach[group]);
    fill.given
}

/// As many cores for each group as its tasks request, ring after ring.
fn packed(groups: &[Group], cores: &Cores, each: u32) -> Vec<Vec<usize>> {
    let rings = groups.iter().flat_map(|group| group.rings.iter().copied());
    let last = rings.max().unwrap_or(0);
    let mut fill = Fill::new(groups, cores, each);
    for ring in 0..=last {
        let left = (0..cores.len()).filter(|core| !fill.taken[*core]).collect();
        fill.hand_out(left, |group, core| groups[group].rings[core] <= ring);
    }
    fill.given
}

/// Cores being handed out to groups.
struct Fill<'a> {
    groups: &'a [Group],
    cores: &'a Cores,
    each: u32,
    given: Vec<Vec<usize>>,
    taken: Vec<bool>,
    /// Tasks of each group that lack CPUs, and how many the first of them lacks.
    lacks: Vec<(usize, u32)>,
}

impl<'a> Fill<'a> {
    fn new(groups: &'a [Group], cores: &'a Cores, each: u32) -> Self {
        Self {
            groups,
            cores,
            each,
            given: vec![Vec::new(); groups.len()],
            taken: vec![false; cores.len()],
            lacks: groups
                .iter()
                .map(|group| (group.tasks.len(), each))
                .collect(),
        }
    }

    /// Hands out cores, first those that few groups may have. Groups that may have the same cores get
    /// runs of them, as long as their tasks are many.
    fn hand_out(&mut self, cores: Vec<usize>, may: impl Fn(usize, usize) -> bool) {
        // The groups that claim each core, one core's after the other's.
        let mut claims = Vec::new();
        let mut claimed = Vec::with_capacity(cores.len());
        for core in cores {
            let before = claims.len();
            let lacks = |group: &usize| self.lacks[*group].0 > 0 && may(*group, core);
            claims.extend((0..self.groups.len()).filter(lacks));
            if claims.len() > before {
                claimed.push((before..claims.len(), core));
            }
        }
        let of = |(claim, _): &(Range<usize>, usize)| &claims[claim.clone()];
        claimed.sort_by(|one, two| {
            let (a, b) = (of(one), of(two));
            (a.len(), a, one.1).cmp(&(b.len(), b, two.1))
        });
        for same in claimed.chunk_by(|one, two| of(one) == of(two)) {
            let groups = of(&same[0]);
            let mut next = same.iter().map(|(_, core)| *core);
            let counts = self.counts(groups, same.iter().map(|(_, core)| *core));
            for (group, count) in groups.iter().zip(counts) {
                for core in next.by_ref().take(count) {
                    self.given[*group].push(core);
                    self.taken[core] = true;
                }
            }
        }
    }

    /// How many of these cores each of these groups gets: one after the other goes to the group
    /// with the fewest for its tasks.
    fn counts(&mut self, groups: &[usize], same: impl Iterator<Item = usize>) -> Vec<usize> {
        let mut counts = vec![0; groups.len()];
        for core in same {
            let has = |at: &usize| {
                let got = (self.given[groups[*at]].len() + counts[*at]) as u64;
                (got, self.groups[groups[*at]].tasks.len() as u64)
            };
            let fewest = (0..groups.len())
                .filter(|at| self.lacks[groups[*at]].0 > 0)
                .min_by(|a, b| {
                    let ((got, tasks), (other, others)) = (has(a), has(b));
                    (got * others).cmp(&(other * tasks))
                });
            let Some(at) = fewest else { break };
            counts[at] += 1;
            let (tasks, missing) = &mut self.lacks[groups[at]];
            *missing = missing.saturating_sub(match self.each {
                // An even share has no end.
                u32::MAX => 0,
                _ => self.cores.of(core).len() as u32,
            });
            if *missing == 0 {
                (*tasks, *missing) = (*tasks - 1, self.each);
            }
        }
        counts
    }
}
