//! Runs of neighbouring objects, one for each task, where there are fewer tasks than objects.
//! In: the objects as ranges of units, the number of tasks. Out: each task's units. Pure.
//!
//! Sizes are as equal as possible: the sum of their squares is the smallest. Among equal choices fewer
//! tasks span objects, and then the first runs are the largest. But not spanning wins over equal size:
//! where hwloc-distrib's rule, a run from each object in which an even part begins, has fewer tasks
//! that span objects, it decides.

use std::ops::Range;

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
        true => equal(objects.len(), tasks),
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

/// The number of objects of each run, if all objects are equal.
fn equal(objects: usize, tasks: usize) -> Vec<usize> {
    let (each, more) = (objects / tasks.max(1), objects % tasks.max(1));
    (0..tasks)
        .map(|task| each + usize::from(task < more))
        .collect()
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

    use crate::strategy::share::runs::{begun_in, runs, unequal};

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
