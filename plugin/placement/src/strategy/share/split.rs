//! Divides a row of units among tasks: units are cores, or hardware threads where there are fewer
//! cores than tasks.
//! In: where objects begin in the row, the number of tasks. Out: each task's part of the row. Pure.
//!
//! With at least as many tasks as objects each object gets its own tasks, in proportion to its units;
//! no object gets fewer tasks than it has objects of the narrowest layer of which all can have a task
//! of their own. With fewer tasks each gets a run of neighbouring objects.

use std::ops::Range;

use crate::strategy::share::runs::runs;

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
