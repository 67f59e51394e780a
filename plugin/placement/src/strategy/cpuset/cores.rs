//! Which cores of one NUMA node a cpuset takes: as few broken ones as possible, whole ones first, then
//! the lowest numbers. In: what the NUMA node offers, a number of CPUs. Out: the CPUs. Pure.

use crate::sets::ids::CpuId;
use crate::strategy::cpuset::candidates::Offer;

/// Which numbers of CPUs one NUMA node can give without breaking a core: what is left of a core that
/// is given in part would be of little use to others.
pub(super) enum Exact {
    /// Every core offers this number.
    Even(u32),
    /// One bit for each number.
    Some(Vec<u64>),
}

impl Exact {
    pub(super) fn of(offer: &Offer, limit: u32) -> Self {
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
    pub(super) fn has(&self, count: u32) -> bool {
        match self {
            Self::Even(size) => count.is_multiple_of(*size),
            Self::Some(sums) => {
                let word = sums.get(count as usize / 64).copied().unwrap_or(0);
                word >> (count % 64) & 1 == 1
            }
        }
    }

    /// The largest such number within a limit.
    pub(super) fn most_within(&self, limit: u32) -> u32 {
        match self {
            Self::Even(size) => limit - limit % size,
            Self::Some(_) => (0..=limit)
                .rev()
                .find(|count| self.has(*count))
                .unwrap_or(0),
        }
    }
}

/// What each core offers, as numbers.
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
pub(super) fn pick(offer: &Offer, exact: &Exact, limit: u32, count: u32, picked: &mut Vec<CpuId>) {
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
