//! Best fit: the smallest radius that holds the number; among equals the fewest NUMA nodes, then the fewest cores
//! broken, then what leaves most free CPUs in one NUMA node, then the lowest numbers. In: the candidates, the number.
//! Out: CPUs, or the most that could be had. Pure.
//!
//! Radius and number of NUMA nodes are exact for up to [`groups::EXACT`] NUMA nodes that offer CPUs. Beyond, see
//! [`groups`]; the search for the other criteria then ends after [`STEPS`] steps with the best that was found.

use crate::sets::ids::CpuId;
use crate::strategy::cpuset::candidates::{Candidates, Offer};
use crate::strategy::cpuset::groups;

/// Steps of the search among equals: more than sixteen NUMA nodes need.
const STEPS: u32 = 1 << 17;

/// The result of best fit.
pub(super) struct BestSet {
    /// The CPUs, in no order.
    pub(super) cpus: Vec<CpuId>,
    /// The most CPUs that one cpuset of each smaller radius could have.
    pub(super) smaller: Vec<u32>,
}

/// The best `needed` CPUs, with at most `per_node` in one NUMA node. Every NUMA node that is used is used
/// whole if `whole`. The error is the most CPUs that one cpuset could have.
pub(super) fn best_fit(
    candidates: &Candidates<'_>,
    needed: u32,
    per_node: Option<u32>,
    whole: bool,
) -> Result<BestSet, u32> {
    let limit = per_node.unwrap_or(u32::MAX);
    let offers = &candidates.offers;
    let most: Vec<u32> = offers.iter().map(|offer| offer.units.min(limit)).collect();
    let all: u32 = most.iter().sum();
    if all < needed || needed == 0 {
        return Err(all);
    }
    let (radius, groups, smaller) = smallest(candidates, needed, &most);
    let count = groups
        .iter()
        .filter_map(|group| fewest(group, needed, &most))
        .min();
    let exact = |offer| Exact::of(offer, candidates.limit);
    let exact: Vec<_> = offers.iter().map(exact).collect();
    let unbroken = exact
        .iter()
        .zip(&most)
        .map(|(exact, most)| exact.most_within(*most));
    let mut by_size: Vec<_> = (0..offers.len()).collect();
    by_size.sort_by_key(|at| std::cmp::Reverse(offers[*at].units));
    let mut search = Search {
        candidates,
        needed,
        radius,
        count: count.unwrap_or(offers.len()),
        unbroken: unbroken.collect(),
        exact,
        free: offers.iter().map(|offer| offer.units).collect(),
        by_size,
        largest: most.iter().copied().max().unwrap_or(0),
        most,
        whole,
        steps: STEPS,
        best: None,
    };
    search.seed(&groups);
    search.choose(&mut Vec::new(), 0, 0);
    let mut cpus = Vec::with_capacity(needed as usize);
    for (at, count) in search.best.map(|(_, taken)| taken).unwrap_or_default() {
        let exact = &search.exact[at];
        pick(&offers[at], exact, candidates.limit, count, &mut cpus);
    }
    Ok(BestSet { cpus, smaller })
}

/// The smallest radius that holds the number, the groups of it that do, and the most CPUs that each
/// smaller radius holds.
fn smallest(
    candidates: &Candidates<'_>,
    needed: u32,
    most: &[u32],
) -> (u32, Vec<Vec<usize>>, Vec<u32>) {
    let mut smaller = Vec::new();
    let largest = candidates.node.distances().largest();
    for radius in 0..=largest {
        let mut groups = groups::within(candidates, radius, most);
        let holds = |group: &Vec<usize>| group.iter().map(|at| most[*at]).sum::<u32>();
        let found = groups.iter().map(holds).max().unwrap_or(0);
        if found >= needed {
            groups.retain(|group| holds(group) >= needed);
            return (radius, groups, smaller);
        }
        smaller.push(found);
    }
    let all = vec![(0..most.len()).collect()];
    (largest, all, smaller)
}

/// The fewest NUMA nodes of a group that hold the number.
fn fewest(group: &[usize], needed: u32, most: &[u32]) -> Option<usize> {
    let mut sizes: Vec<u32> = group.iter().map(|at| most[*at]).collect();
    sizes.sort_unstable_by(|one, other| other.cmp(one));
    let mut sum = 0;
    let enough = sizes.iter().position(|size| {
        sum += size;
        sum >= needed
    });
    enough.map(|at| at + 1)
}

/// Cores that are broken, and free CPUs that a NUMA node keeps at the most: the smaller pair is better.
type Score = (u32, std::cmp::Reverse<u32>);

/// NUMA nodes, by position, each with the number of CPUs that is taken there.
type CpusPerNode = Vec<(usize, u32)>;

/// The search among sets of NUMA nodes of one radius and one size.
struct Search<'a> {
    candidates: &'a Candidates<'a>,
    needed: u32,
    radius: u32,
    /// NUMA nodes of a set.
    count: usize,
    exact: Vec<Exact>,
    /// CPUs that may be taken of each without breaking a core.
    unbroken: Vec<u32>,
    /// Free CPUs of each NUMA node.
    free: Vec<u32>,
    /// CPUs that may be taken of each.
    most: Vec<u32>,
    /// The largest of these.
    largest: u32,
    /// The NUMA nodes, those with most free CPUs first.
    by_size: Vec<usize>,
    whole: bool,
    /// Steps that are left.
    steps: u32,
    best: Option<(Score, CpusPerNode)>,
}

impl Search<'_> {
    /// A first answer: the largest NUMA nodes of a group.
    fn seed(&mut self, groups: &[Vec<usize>]) {
        for group in groups {
            let mut largest = group.clone();
            largest.sort_by_key(|at| (std::cmp::Reverse(self.most[*at]), *at));
            largest.truncate(self.count);
            largest.sort_unstable();
            let sum: u32 = largest.iter().map(|at| self.most[*at]).sum();
            if sum >= self.needed && self.candidates.offers.len() > groups::EXACT {
                self.judge(&largest);
            }
        }
    }

    /// Tries every set that begins so, those with low numbers first.
    fn choose(&mut self, set: &mut Vec<usize>, from: usize, sum: u32) {
        if self.steps == 0 || self.is_ideal() {
            return;
        }
        self.steps -= 1;
        let left = self.count - set.len();
        if left == 0 {
            if sum >= self.needed {
                self.judge(set);
            }
            return;
        }
        let room = u64::from(self.largest) * left as u64;
        if u64::from(sum) + room < u64::from(self.needed) {
            return;
        }
        for at in from..=(self.most.len() - left) {
            let is_near = |member: &usize| self.candidates.radius(*member, at) <= self.radius;
            if set.iter().all(is_near) {
                set.push(at);
                self.choose(set, at + 1, sum + self.most[at]);
                set.pop();
            }
        }
    }

    /// Whether nothing can be better than what was found.
    fn is_ideal(&self) -> bool {
        let most = self.free.iter().copied().max().unwrap_or(0);
        let ideal = (0, std::cmp::Reverse(most));
        self.best.as_ref().is_some_and(|(score, _)| *score == ideal)
    }

    /// Keeps what a set gives if it is better: all of its NUMA nodes are used up but one.
    fn judge(&mut self, set: &[usize]) {
        if self.is_no_better(set) {
            return;
        }
        let all: u32 = set.iter().map(|at| self.most[*at]).sum();
        for rest in set.iter().rev() {
            let taken = self.take(set, *rest);
            let score = self.score(&taken);
            if self.best.as_ref().is_none_or(|(best, _)| score < *best) {
                self.best = Some((score, taken));
            }
            // They are used up alike, whichever comes last.
            if self.whole || all == self.needed {
                return;
            }
        }
    }

    /// Whether a set cannot be better than what was found: a bound that costs less than the sets. A
    /// NUMA node of the set keeps what is left over of all of them at the most.
    fn is_no_better(&self, set: &[usize]) -> bool {
        let Some(((broken, std::cmp::Reverse(kept)), _)) = &self.best else {
            return false;
        };
        let free: u32 = set.iter().map(|at| self.free[*at]).sum();
        let over = free.saturating_sub(self.needed);
        *broken == 0 && over.max(self.most_outside(|at| set.contains(&at))) <= *kept
    }

    /// The most free CPUs of a NUMA node outside a set.
    fn most_outside(&self, is_inside: impl Fn(usize) -> bool) -> u32 {
        let outside = self.by_size.iter().find(|at| !is_inside(**at));
        outside.map_or(0, |at| self.free[*at])
    }

    /// The CPUs taken of each NUMA node where `rest` gives those that the others do not.
    fn take(&self, set: &[usize], rest: usize) -> CpusPerNode {
        if self.whole {
            return set.iter().map(|at| (*at, self.most[*at])).collect();
        }
        let unbroken = |at: usize| self.unbroken[at];
        let others = set.iter().filter(|at| **at != rest);
        let sum: u32 = others.map(|at| unbroken(*at)).sum();
        let of_rest = self.needed.saturating_sub(sum).min(self.most[rest]);
        let mut missing = self.needed.saturating_sub(sum + of_rest);
        let mut of_each = |at: usize| {
            if at == rest {
                return of_rest;
            }
            // A core is broken only where there is no other way.
            let more = (self.most[at] - unbroken(at)).min(missing);
            missing -= more;
            unbroken(at) + more
        };
        set.iter().map(|at| (*at, of_each(*at))).collect()
    }

    fn score(&self, taken: &[(usize, u32)]) -> Score {
        let is_broken = |(at, count): &(usize, u32)| !self.exact[*at].has(*count);
        let broken = taken.iter().filter(|part| is_broken(part)).count() as u32;
        let outside = self.most_outside(|at| taken.iter().any(|(other, _)| *other == at));
        let left = taken.iter().map(|(at, count)| self.free[*at] - count);
        let most = left.max().unwrap_or(0).max(outside);
        (broken, std::cmp::Reverse(most))
    }
}

/// Which numbers of CPUs one NUMA node can give without breaking a core: what is left of a core that
/// is given in part would be of little use to others.
enum Exact {
    /// Every core offers this number.
    Even(u32),
    /// One bit for each number.
    Some(Vec<u64>),
}

impl Exact {
    fn of(offer: &Offer, limit: u32) -> Self {
        let mut sizes = sizes(offer, limit);
        let first = sizes.next().unwrap_or(1);
        if sizes.all(|size| size == first) {
            return Self::Even(first.max(1));
        }
        let mut sums = vec![0; offer.units as usize / 64 + 1];
        sums[0] = 1;
        for size in self::sizes(offer, limit) {
            add(&mut sums, size as usize);
        }
        Self::Some(sums)
    }

    /// Whether whole cores give this number.
    fn has(&self, count: u32) -> bool {
        match self {
            Self::Even(size) => count.is_multiple_of(*size),
            Self::Some(sums) => {
                let word = sums.get(count as usize / 64).copied().unwrap_or(0);
                word >> (count % 64) & 1 == 1
            }
        }
    }

    /// The largest such number within a limit.
    fn most_within(&self, limit: u32) -> u32 {
        match self {
            Self::Even(size) => limit - limit % size,
            Self::Some(_) => (0..=limit)
                .rev()
                .find(|count| self.has(*count))
                .unwrap_or(0),
        }
    }
}

/// The number of CPUs that each core offers.
fn sizes(offer: &Offer, limit: u32) -> impl DoubleEndedIterator<Item = u32> {
    let cores = offer.cores();
    cores.map(move |cpus| (cpus.len() as u32).min(limit))
}

/// The sums with one more core.
fn add(sums: &mut [u64], size: usize) {
    let (words, bits) = (size / 64, size % 64);
    for at in (words..sums.len()).rev() {
        let mut moved = sums[at - words] << bits;
        if let (true, Some(below)) = (bits > 0, at.checked_sub(words + 1)) {
            moved |= sums[below] >> (64 - bits);
        }
        sums[at] |= moved;
    }
}

/// Adds the CPUs of a number of them. `exact` is what whole cores of the NUMA node can give.
fn pick(offer: &Offer, exact: &Exact, limit: u32, count: u32, picked: &mut Vec<CpuId>) {
    if count >= offer.units {
        picked.extend(offer.cpus());
        return;
    }
    if let (Exact::Some(_), true) = (exact, exact.has(count)) {
        mixed(offer, limit, count, picked);
        return;
    }
    // As many whole cores as fit, then a part of one more.
    let mut left = count;
    let mut broken = None;
    for (cpus, size) in offer.cores().zip(sizes(offer, limit)) {
        if size <= left {
            left -= size;
            picked.extend(cpus);
        } else {
            broken.get_or_insert(cpus);
        }
    }
    let part = broken.unwrap_or_default().iter().take(left as usize);
    picked.extend(part);
}

/// Whole cores of different size that give the number exactly; the first ones that do.
fn mixed(offer: &Offer, limit: u32, count: u32, picked: &mut Vec<CpuId>) {
    let words = count as usize / 64 + 1;
    // The sums that the cores behind each core can give.
    let mut behind = vec![vec![0; words]];
    behind[0][0] = 1;
    for size in sizes(offer, limit).rev() {
        let mut sums = behind.last().cloned().unwrap_or_default();
        add(&mut sums, size as usize);
        behind.push(sums);
    }
    behind.pop();
    let mut left = count;
    let cores = offer.cores().zip(sizes(offer, limit));
    for ((cpus, size), sums) in cores.zip(behind.into_iter().rev()) {
        let Some(rest) = left.checked_sub(size) else {
            continue;
        };
        if sums[rest as usize / 64] >> (rest % 64) & 1 == 1 {
            picked.extend(cpus);
            left = rest;
        }
    }
}
