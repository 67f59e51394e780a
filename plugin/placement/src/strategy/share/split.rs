//! Divides a row of units among tasks: units are cores, or hardware threads where there are fewer
//! cores than tasks.
//! In: where objects begin in the row, the number of tasks. Out: each task's part of the row. Pure.
//!
//! With at least as many tasks as objects each object gets its own tasks, in proportion to its units;
//! no object gets fewer tasks than it has objects of the narrowest layer of which all can have a task
//! of their own. With fewer tasks each gets a run of neighbouring objects: sizes are as equal as possible (the sum of
//! their squares is the smallest), among equal choices fewer tasks span objects, and then the first runs are the
//! largest. But not spanning wins over equal size: where hwloc-distrib's rule, a run from each object in which an even
//! part begins, has fewer tasks that span objects, it decides.

use std::ops::Range;

use crate::strategy::situation::even_runs;

/// The units of the row, and where the objects of each layer begin.
pub(super) struct Row {
    /// For each layer, the number of objects that begin at or before each unit. The last layer is
    /// the units themselves.
    begun: Vec<Vec<usize>>,
    units: usize,
}

impl Row {
    /// `gaps` has, for each unit, the widest layer in which it is in another object than the unit
    /// before it; the number of layers if there is none.
    pub(super) fn new(gaps: &[u8], layers: usize) -> Self {
        let begun_in = |layer: usize| {
            let mut begun = 0;
            let mut count = |gap: &u8| {
                begun += usize::from(usize::from(*gap) <= layer || layer == layers);
                begun
            };
            gaps.iter().map(&mut count).collect()
        };
        Self {
            begun: (0..=layers).map(begun_in).collect(),
            units: gaps.len(),
        }
    }

    /// Each task's units, in order. With more tasks than units several tasks have the same one.
    pub(super) fn split(&self, tasks: usize) -> Vec<Range<usize>> {
        let mut parts = Vec::with_capacity(tasks);
        if tasks > 0 && self.units > 0 {
            self.divide(0..self.units, 0, tasks, &mut parts);
        }
        parts
    }

    fn divide(
        &self,
        within: Range<usize>,
        layer: usize,
        tasks: usize,
        parts: &mut Vec<Range<usize>>,
    ) {
        if tasks == within.len() {
            // Each gets one, whatever objects there are.
            parts.extend(within.map(|unit| unit..unit + 1));
            return;
        }
        let divides = |layer: &usize| self.count(&within, *layer) > 1;
        let found = (layer..self.begun.len()).find(divides);
        let (Some(layer), 2..) = (found, tasks) else {
            parts.extend(std::iter::repeat_n(within, tasks));
            return;
        };
        let objects = self.objects(&within, layer);
        if tasks < objects.len() {
            parts.extend(runs(&objects, tasks));
            return;
        }
        let can_have_own = |layer: &usize| self.count(&within, *layer) <= tasks;
        let narrowest = (layer..self.begun.len()).rfind(can_have_own);
        let least = |object| self.count(object, narrowest.unwrap_or(layer));
        let shares: Vec<_> = objects
            .iter()
            .map(|object| (object.len(), least(object)))
            .collect();
        for (object, tasks) in objects.into_iter().zip(in_proportion(&shares, tasks)) {
            self.divide(object, layer + 1, tasks, parts);
        }
    }

    /// Objects of a layer among some units.
    fn count(&self, within: &Range<usize>, layer: usize) -> usize {
        let begun = &self.begun[layer];
        match within.end.checked_sub(1) {
            Some(last) if last >= within.start => begun[last] - begun[within.start] + 1,
            _ => 0,
        }
    }

    fn objects(&self, within: &Range<usize>, layer: usize) -> Vec<Range<usize>> {
        let begun = &self.begun[layer];
        let mut objects = Vec::new();
        let mut first = within.start;
        for at in within.start + 1..within.end {
            if begun[at] != begun[at - 1] {
                objects.push(first..at);
                first = at;
            }
        }
        objects.push(first..within.end);
        objects
    }
}

/// Tasks for each object, in proportion to its units: largest remainder, ties to the lower number.
/// `shares` has each object's units and the least number of its tasks; all of these together are
/// not more than `tasks`.
fn in_proportion(shares: &[(usize, usize)], tasks: usize) -> Vec<usize> {
    let mut counts: Vec<Option<usize>> = vec![None; shares.len()];
    let (mut tasks_left, mut units_left) = (tasks, shares.iter().map(|(units, _)| units).sum());
    loop {
        let before: (usize, usize) = (tasks_left, units_left);
        for (count, (units, least)) in counts.iter_mut().zip(shares) {
            if count.is_none() && before.0 * units < least * before.1 {
                *count = Some(*least);
                tasks_left -= least;
                units_left -= units;
            }
        }
        if before == (tasks_left, units_left) {
            break;
        }
    }
    let units_left = units_left.max(1);
    let mut extra = tasks_left;
    let mut remainders = Vec::new();
    for (at, (count, (units, _))) in counts.iter_mut().zip(shares).enumerate() {
        if count.is_none() {
            *count = Some(tasks_left * units / units_left);
            extra -= tasks_left * units / units_left;
            remainders.push((tasks_left * units % units_left, at));
        }
    }
    remainders.sort_by_key(|(remainder, at)| (std::cmp::Reverse(*remainder), *at));
    for (_, at) in remainders.into_iter().take(extra) {
        counts[at] = counts[at].map(|count| count + 1);
    }
    counts.into_iter().flatten().collect()
}

/// The cost of the objects from one on, and the number of objects of the first run there.
#[derive(Clone, Copy, Default)]
struct Best {
    squares: u64,
    spanning: u32,
    count: u32,
}

/// The runs; there are more objects than tasks.
pub(super) fn runs(objects: &[Range<usize>], tasks: usize) -> Vec<Range<usize>> {
    let size = objects.first().map_or(0, Range::len);
    let counts = match objects.iter().all(|object| object.len() == size) {
        true => even_runs(0..objects.len(), tasks)
            .map(|run| run.len())
            .collect(),
        false => {
            let (even, begun) = (unequal(objects, tasks), begun_in(objects, tasks));
            let spanning = |counts: &[usize]| counts.iter().filter(|count| **count > 1).count();
            match begun {
                Some(begun) if spanning(&begun) < spanning(&even) => begun,
                _ => even,
            }
        }
    };
    let mut rest = objects;
    let run = |count| {
        let (run, others) = rest.split_at(rest.len().min(count));
        rest = others;
        Some(run.first()?.start..run.last()?.end)
    };
    counts.into_iter().filter_map(run).collect()
}

/// The number of objects of each run, if a run begins with the object in which a task's even part of the
/// units begins. None if several parts begin in one object.
fn begun_in(objects: &[Range<usize>], tasks: usize) -> Option<Vec<usize>> {
    let (first, last) = (objects.first()?.start, objects.last()?.end);
    let begins = |task: usize| first + (last - first) * task / tasks.max(1);
    let object = |task: usize| objects.partition_point(|object| object.end <= begins(task));
    let ends = (1..=tasks).map(|task| {
        if task == tasks {
            objects.len()
        } else {
            object(task)
        }
    });
    let counts = (0..tasks)
        .zip(ends)
        .map(|(task, end)| end.checked_sub(object(task)));
    counts
        .map(|count| count.filter(|count| *count > 0))
        .collect()
}

/// The number of objects of each run. No run is larger than twice the smallest size that all
/// runs can keep to, so a long row costs little more than its length for each task.
fn unequal(objects: &[Range<usize>], tasks: usize) -> Vec<usize> {
    let most = 2 * smallest_maximum(objects, tasks);
    // With one run less, the best from each object on; behind the last object nothing is left.
    let mut before = vec![None; objects.len()];
    before.push(Some(Best::default()));
    // For each number of runs, the objects of the first one from each object on where it can begin:
    // every other task has an object before it.
    let mut counts: Vec<Vec<u32>> = Vec::with_capacity(tasks);
    for runs in 1..=tasks {
        let starts = tasks - runs..=objects.len() - runs;
        let mut best = vec![None; objects.len() + 1];
        for from in starts.clone() {
            best[from] = best_from(objects, from, most, &before);
        }
        let count = |best: &Option<Best>| best.map_or(0, |best| best.count);
        counts.push(best[starts].iter().map(count).collect());
        before = best;
    }
    let mut from = 0;
    let count = |(task, counts): (usize, &Vec<u32>)| {
        let count = *counts.get(from - task)? as usize;
        from += count;
        (count > 0).then_some(count)
    };
    counts.iter().rev().enumerate().map_while(count).collect()
}

/// The best first run of the objects from one on. `rest` has the best of what is behind it.
fn best_from(
    objects: &[Range<usize>],
    from: usize,
    most: usize,
    rest: &[Option<Best>],
) -> Option<Best> {
    let mut best: Option<Best> = None;
    for to in from + 1..=objects.len() {
        let size = objects[to - 1].end - objects[from].start;
        if size > most {
            break;
        }
        let Some(rest) = rest[to] else { continue };
        let found = Best {
            squares: rest.squares + (size * size) as u64,
            spanning: rest.spanning + u32::from(to - from > 1),
            count: (to - from) as u32,
        };
        let cost = |best: Best| (best.squares, best.spanning);
        if best.is_none_or(|best| cost(found) <= cost(best)) {
            best = Some(found);
        }
    }
    best
}

/// The smallest size that so many runs of neighbouring objects can keep to.
fn smallest_maximum(objects: &[Range<usize>], tasks: usize) -> usize {
    let fits = |most: usize| {
        let (mut runs, mut size) = (1, 0);
        for object in objects {
            if size + object.len() > most {
                (runs, size) = (runs + 1, 0);
            }
            size += object.len();
        }
        runs <= tasks
    };
    let largest = objects.iter().map(Range::len).max().unwrap_or(0);
    let (mut low, mut high) = (largest, objects.iter().map(Range::len).sum());
    while low < high {
        let middle = low.midpoint(high);
        match fits(middle) {
            true => high = middle,
            false => low = middle + 1,
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use super::{begun_in, runs, unequal};

    fn row(sizes: &[usize]) -> Vec<Range<usize>> {
        let mut end = 0;
        let object = |size: &usize| {
            end += size;
            end - size..end
        };
        sizes.iter().map(object).collect()
    }

    #[test]
    fn runs_are_as_equal_as_objects_allow() {
        //   objects, tasks, units of each task
        for (objects, tasks, expected) in [
            (&[4, 4, 4, 4][..], 3, &[8, 4, 4][..]),
            (&[1, 1, 1, 1, 1, 1, 1], 3, &[3, 2, 2]),
            (&[1, 4, 3], 2, &[5, 3]),
            (&[1, 4, 4], 2, &[5, 4]),
            // hwloc-distrib's rule, which leaves one task on one object.
            (&[18, 18, 16, 16], 2, &[18, 50]),
            (&[8, 1, 1, 1], 3, &[8, 2, 1]),
            (&[3, 2, 3], 2, &[5, 3]),
            // As equal as runs of 4, 2 and 2, but only one task has more than one object.
            (&[2, 2, 2, 1, 1], 3, &[2, 2, 4]),
            (&[2, 2, 2, 2, 1, 1], 3, &[4, 2, 4]),
        ] {
            let found = runs(&row(objects), tasks);
            let found: Vec<_> = found.iter().map(Range::len).collect();
            assert_eq!(found, expected, "{objects:?} {tasks}");
        }
    }

    /// Squares and spanning tasks of every way to cut a row of objects.
    fn all_cuts(sizes: &[usize], tasks: usize) -> impl Iterator<Item = (usize, usize)> + '_ {
        let cuts = 0..1_u32 << (sizes.len() - 1);
        let cuts = cuts.filter(move |cuts| cuts.count_ones() as usize == tasks - 1);
        cuts.map(|cuts| {
            let mut runs = vec![(sizes[0], 1)];
            for (at, size) in sizes.iter().enumerate().skip(1) {
                match (cuts >> (at - 1) & 1, runs.last_mut()) {
                    (0, Some(run)) => *run = (run.0 + size, run.1 + 1),
                    _ => runs.push((*size, 1)),
                }
            }
            let squares = runs.iter().map(|(size, _)| size * size).sum();
            (
                squares,
                runs.iter().filter(|(_, objects)| *objects > 1).count(),
            )
        })
    }

    #[test]
    fn every_row_of_seven_objects_is_divided_best() {
        for number in 0..3_usize.pow(7) {
            let sizes: Vec<_> = (0..7).map(|at| 1 + number / 3_usize.pow(at) % 3).collect();
            let objects = row(&sizes);
            for tasks in 1..7 {
                let cost = |counts: &[usize]| {
                    let mut rest = sizes.as_slice();
                    let squares = |count: &usize| {
                        let (run, others) = rest.split_at(*count);
                        rest = others;
                        run.iter().sum::<usize>().pow(2)
                    };
                    let squares = counts.iter().map(squares).sum::<usize>();
                    (squares, counts.iter().filter(|count| **count > 1).count())
                };
                let best = all_cuts(&sizes, tasks).min();
                let found = unequal(&objects, tasks);
                assert_eq!(Some(cost(&found)), best, "{sizes:?} {tasks}");
                if let Some(begun) = begun_in(&objects, tasks) {
                    let spanning = runs(&objects, tasks)
                        .iter()
                        .filter(|run| !objects.contains(run))
                        .count();
                    assert!(spanning <= cost(&begun).1, "{sizes:?} {tasks}");
                }
            }
        }
    }
}
