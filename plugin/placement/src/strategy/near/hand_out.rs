//! Hands out cores to groups of tasks: what is next to the devices first.
//! In: the usable cores in stretches, the ring of each for each group. Out: each group's cores. Pure.

use std::borrow::Cow;
use std::ops::Range;

use crate::strategy::near::places::{Group, Places};

/// The tasks of a group, and its cores.
pub(super) struct Part<'a> {
    /// Local ids.
    pub(super) tasks: Cow<'a, [u32]>,
    /// Runs of successive usable cores, the nearest first.
    pub(super) cores: Vec<Range<usize>>,
}

impl<'a> Part<'a> {
    fn new(group: &'a Group, mut runs: Vec<Run>) -> Self {
        runs.sort_by_key(|run| (group.rings[run.stretch], run.cores.start));
        Self {
            tasks: Cow::Borrowed(&group.tasks),
            cores: runs.into_iter().map(|run| run.cores).collect(),
        }
    }
}

/// Successive cores of one stretch.
struct Run {
    stretch: usize,
    cores: Range<usize>,
}

/// The cores of each group, with so many hardware threads for each of its tasks where the cores have
/// them, else with one; all groups are one if some would get too few even so.
pub(super) fn by_group(places: &Places, each: u32) -> Vec<Part<'_>> {
    let one = || (each > 1).then(|| even(places, 1)).flatten();
    match even(places, each.max(1)).or_else(one) {
        Some(given) => parts(places, given),
        None => vec![together(places)],
    }
}

/// The cores of each group, as many as its tasks request, ring after ring. A group may get too few.
pub(super) fn by_need(places: &Places, each: u32) -> Vec<Part<'_>> {
    let rings = places.groups.iter().flat_map(|group| &group.rings);
    let last = rings.max().copied().unwrap_or(0);
    let mut fill = Fill::new(places, each);
    for ring in 0..=last {
        fill.hand_out(|group, stretch| places.groups[group].rings[stretch] <= ring);
    }
    parts(places, fill.given)
}

fn parts(places: &Places, given: Vec<Vec<Run>>) -> Vec<Part<'_>> {
    let groups = places.groups.iter().zip(given);
    groups.map(|(group, runs)| Part::new(group, runs)).collect()
}

/// All groups as one: tasks that stand near each other stay so.
fn together(places: &Places) -> Part<'_> {
    let all = places.groups.iter();
    let tasks: Vec<u32> = all.flat_map(|group| group.tasks.iter().copied()).collect();
    Part {
        tasks: Cow::Owned(tasks),
        cores: std::iter::once(0..places.cores.len()).collect(),
    }
}

/// All cores next to the devices, divided among the groups that are next to them. A group with fewer
/// than `each` hardware threads there for each of its tasks also takes part in the next ring. `None`
/// if some group has too few in the end.
fn even(places: &Places, each: u32) -> Option<Vec<Vec<Run>>> {
    let mut reach = vec![0; places.groups.len()];
    let far = |group: &Group| group.rings.iter().max().copied().unwrap_or(0);
    loop {
        let mut fill = Fill::new(places, u32::MAX);
        fill.hand_out(|group, stretch| places.groups[group].rings[stretch] <= reach[group]);
        let (mut wider, mut lacks) = (false, false);
        for (at, group) in places.groups.iter().enumerate() {
            let runs = fill.given[at].iter();
            let pus: usize = runs
                .map(|run| places.cores.range(run.cores.clone()).len())
                .sum();
            let is_short = pus < group.tasks.len() * each as usize;
            lacks |= is_short;
            if is_short && reach[at] < far(group) {
                reach[at] += 1;
                wider = true;
            }
        }
        if !wider {
            return Some(fill.given).filter(|_| !lacks);
        }
    }
}

/// Cores being handed out to groups.
struct Fill<'a> {
    places: &'a Places,
    /// CPUs of each task; an even share has no end.
    each: u32,
    given: Vec<Vec<Run>>,
    /// The number of cores that each group has.
    counts: Vec<usize>,
    /// The cores of each stretch that nobody has yet.
    left: Vec<Range<usize>>,
    /// Tasks of each group that lack CPUs, and how many the first of them lacks.
    lacks: Vec<(usize, u32)>,
}

impl<'a> Fill<'a> {
    fn new(places: &'a Places, each: u32) -> Self {
        let stretches = places.stretches.iter();
        let lacks = places.groups.iter().map(|group| (group.tasks.len(), each));
        Self {
            places,
            each,
            given: places.groups.iter().map(|_| Vec::new()).collect(),
            counts: vec![0; places.groups.len()],
            left: stretches.map(|stretch| stretch.cores.clone()).collect(),
            lacks: lacks.collect(),
        }
    }

    /// Hands out what is left, first the stretches that few groups may have. Groups that may have the
    /// same stretches get runs of their cores, as long as their tasks are many.
    fn hand_out(&mut self, may: impl Fn(usize, usize) -> bool) {
        // The groups that claim each stretch, one stretch's after the other's.
        let mut claims = Vec::new();
        let mut claimed = Vec::with_capacity(self.left.len());
        for (stretch, _) in self
            .left
            .iter()
            .enumerate()
            .filter(|(_, left)| !left.is_empty())
        {
            let before = claims.len();
            let lacks = |group: &usize| self.lacks[*group].0 > 0 && may(*group, stretch);
            claims.extend((0..self.lacks.len()).filter(lacks));
            if claims.len() > before {
                claimed.push((before..claims.len(), stretch));
            }
        }
        let of = |(claim, _): &(Range<usize>, usize)| &claims[claim.clone()];
        claimed.sort_by(|one, two| {
            let (a, b) = (of(one), of(two));
            (a.len(), a, one.1).cmp(&(b.len(), b, two.1))
        });
        for same in claimed.chunk_by(|one, two| of(one) == of(two)) {
            let groups = of(&same[0]);
            let stretches = || same.iter().map(|(_, stretch)| *stretch);
            let counts = self.divided(groups, stretches());
            for (group, count) in groups.iter().zip(counts) {
                self.give(*group, count, stretches());
            }
        }
    }

    /// Gives a group the next cores of some stretches.
    fn give(&mut self, group: usize, mut count: usize, stretches: impl Iterator<Item = usize>) {
        self.counts[group] += count;
        for stretch in stretches {
            let left = &mut self.left[stretch];
            let end = left.start + count.min(left.len());
            if left.start < end {
                count -= end - left.start;
                let cores = left.start..end;
                self.given[group].push(Run { stretch, cores });
                left.start = end;
            }
        }
    }

    /// How many cores of some stretches each of these groups gets: one after the other goes to the
    /// group with the fewest for its tasks.
    fn divided(&mut self, groups: &[usize], stretches: impl Iterator<Item = usize>) -> Vec<usize> {
        let left: Vec<_> = stretches
            .map(|stretch| self.left[stretch].clone())
            .collect();
        if let ([_], u32::MAX) = (groups, self.each) {
            return vec![left.iter().map(Range::len).sum()];
        }
        let claim = |group: &usize| Claim {
            had: self.counts[*group] as u64,
            more: 0,
            tasks: self.places.groups[*group].tasks.len() as u64,
            lacks: self.lacks[*group],
        };
        let mut claims: Vec<_> = groups.iter().map(claim).collect();
        for core in left.into_iter().flatten() {
            let lacking = claims.iter_mut().filter(|claim| claim.lacks.0 > 0);
            let fewest = lacking.min_by(|one, other| {
                let has = |claim: &Claim| claim.had + claim.more;
                (has(one) * other.tasks).cmp(&(has(other) * one.tasks))
            });
            let Some(fewest) = fewest else { break };
            fewest.more += 1;
            if self.each < u32::MAX {
                fewest.take(self.places.cores.of(core..core + 1).len() as u32, self.each);
            }
        }
        for (group, claim) in groups.iter().zip(&claims) {
            self.lacks[*group] = claim.lacks;
        }
        claims.iter().map(|claim| claim.more as usize).collect()
    }
}

/// A group that claims the cores that are divided.
struct Claim {
    /// Cores that it had before.
    had: u64,
    /// Cores that it gets.
    more: u64,
    tasks: u64,
    /// Tasks that lack CPUs, and how many the first of them lacks.
    lacks: (usize, u32),
}

impl Claim {
    /// Gives the CPUs of a core to the first task that lacks some.
    fn take(&mut self, cpus: u32, each: u32) {
        let (tasks, missing) = &mut self.lacks;
        *missing = missing.saturating_sub(cpus);
        if *missing == 0 {
            (*tasks, *missing) = (*tasks - 1, each);
        }
    }
}
