//! The best of many lines. In: each line with what it gives and its figures. Out: positions, the best
//! first. Pure. [`best`] is the whole rule:
//!
//! 1. Lines that give the same masks are one, the shortest.
//! 2. A line stays only if it is best in the first figure in which the lines differ.
//! 3. It goes if another one is at least as good in every figure and better in some.
//! 4. Behind the best line it goes if its tasks share cores while other cores stay idle.
//! 5. The best line with `--near` stays in any case: only there Slurm's order of devices does not matter.

/// What decides about a line.
#[derive(Clone, Debug)]
pub(super) struct Entry<'a, M> {
    /// As it is typed.
    pub line: &'a str,
    /// What it gives to each task.
    pub masks: M,
    /// Its figures, the most important first; a smaller one is better.
    pub values: Vec<u32>,
    /// Whether it asks for cores next to devices.
    pub is_near: bool,
    /// Whether tasks share cores while other cores stay idle.
    pub wastes: bool,
}

/// A line that stays, and those with the same figures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Kept {
    /// Its position.
    pub at: usize,
    /// Positions of longer lines that give other masks with the same figures.
    pub alike: Vec<usize>,
}

/// The lines that stay, the best first.
pub(super) fn best<M: PartialEq>(entries: &[Entry<'_, M>]) -> Vec<Kept> {
    let order = |at: &usize| (entries[*at].line.len(), entries[*at].line);
    let by_values = |at: &usize| (&entries[*at].values, !entries[*at].is_near, order(at));
    let different = different(entries, order);
    let mut kept: Vec<Kept> = Vec::new();
    for at in unbeaten(entries, different) {
        let is_alike = |one: &&mut Kept| entries[one.at].values == entries[at].values;
        match kept.iter_mut().find(is_alike) {
            Some(one) => one.alike.push(at),
            None => kept.push(Kept::alone(at)),
        }
    }
    kept.sort_by_key(|one| by_values(&one.at));
    let first = kept.first().map(|one| one.at);
    kept.retain(|one| Some(one.at) == first || !entries[one.at].wastes);
    let near = (0..entries.len()).filter(|at| entries[*at].is_near);
    let near = near.min_by_key(by_values);
    if let Some(near) = near.filter(|near| kept.iter().all(|one| one.at != *near)) {
        kept.iter_mut()
            .for_each(|one| one.alike.retain(|at| at != &near));
        kept.push(Kept::alone(near));
        kept.sort_by_key(|one| by_values(&one.at));
    }
    kept
}

/// So many of the lines that stay; the best one with `--near` is among them.
pub(super) fn cut<M>(kept: &mut Vec<Kept>, most: usize, entries: &[Entry<'_, M>]) {
    let near = kept.iter().position(|one| entries[one.at].is_near);
    if let Some(near) = near.filter(|near| *near >= most && most > 0) {
        kept.swap(near, most - 1);
    }
    kept.truncate(most);
}

/// One line for each different plan, the shortest, in the order of their lengths.
fn different<M: PartialEq, K: Ord>(
    entries: &[Entry<'_, M>],
    order: impl Fn(&usize) -> K,
) -> Vec<usize> {
    let mut all: Vec<usize> = (0..entries.len()).collect();
    all.sort_by_key(order);
    let mut different: Vec<usize> = Vec::new();
    for at in all {
        let is_same = |other: &usize| entries[*other].masks == entries[at].masks;
        if !different.iter().any(is_same) {
            different.push(at);
        }
    }
    different
}

/// Those that are best in the first figure in which they differ, and that none of all lines dominates.
fn unbeaten<M>(entries: &[Entry<'_, M>], mut lines: Vec<usize>) -> Vec<usize> {
    let value = |at: &usize, place: usize| entries[*at].values.get(place).copied();
    let places = entries.first().map_or(0, |one| one.values.len());
    let differs = |place: &usize| {
        let mut pairs = lines.windows(2);
        pairs.any(|pair| value(&pair[0], *place) != value(&pair[1], *place))
    };
    if let Some(place) = (0..places).find(differs) {
        let best = lines.iter().filter_map(|at| value(at, place)).min();
        lines.retain(|at| value(at, place) == best);
    }
    let is_dominated = |at: &usize| {
        let mut others = entries.iter();
        others.any(|other| dominates(&other.values, &entries[*at].values))
    };
    lines.retain(|at| !is_dominated(at));
    lines
}

impl Kept {
    fn alone(at: usize) -> Self {
        Self {
            at,
            alike: Vec::new(),
        }
    }
}

/// Whether figures are nowhere worse and somewhere better.
pub(super) fn dominates(one: &[u32], other: &[u32]) -> bool {
    let nowhere_worse = one.iter().zip(other).all(|(one, other)| one <= other);
    nowhere_worse && one != other
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The line's words say what else decides.
    fn entries<'a>(entries: &[(&'a str, u32, &[u32])]) -> Vec<Entry<'a, u32>> {
        let entry = |(line, masks, values): &(&'a str, u32, &[u32])| Entry {
            line,
            masks: *masks,
            values: values.to_vec(),
            is_near: line.contains("near"),
            wastes: line.contains("waste"),
        };
        entries.iter().map(entry).collect()
    }

    fn kept(all: &[(&str, u32, &[u32])]) -> Vec<String> {
        let entries = entries(all);
        let best = best(&entries).into_iter();
        let lines = best.map(|one| {
            let alike: Vec<_> = one.alike.iter().map(|at| entries[*at].line).collect();
            format!("{}+{}", entries[one.at].line, alike.join(","))
        });
        lines.collect()
    }

    #[test]
    fn the_shortest_line_of_the_same_masks_stays() {
        let entries = [
            ("a long line", 1, &[0, 5][..]),
            ("short", 1, &[0, 5]),
            ("other", 2, &[0, 5]),
        ];
        assert_eq!(kept(&entries), ["other+short"]);
    }

    #[test]
    fn worse_lines_go_and_equal_figures_are_one_row() {
        let entries = [
            ("worse", 1, &[0, 6, 1][..]),
            ("best", 2, &[0, 5, 1]),
            ("as good", 3, &[0, 5, 1]),
            ("a trade", 4, &[0, 6, 0]),
            ("worse trade", 5, &[0, 7, 0]),
            ("worse in the first", 6, &[1, 0, 0]),
        ];
        assert_eq!(kept(&entries), ["best+as good", "a trade+"]);
    }

    #[test]
    fn the_order_is_that_of_the_criteria() {
        let entries = [
            ("c", 1, &[0, 2, 0, 0][..]),
            ("b", 2, &[0, 0, 9, 9]),
            ("a", 3, &[0, 1, 0, 5]),
            ("d", 4, &[1, 0, 0, 0]),
        ];
        assert_eq!(kept(&entries), ["b+", "a+", "c+"]);
        assert_eq!(kept(&[]), [""; 0]);
    }

    #[test]
    fn where_all_tie_in_the_first_figure_the_next_decides() {
        let entries = [
            ("auto", 1, &[32, 0, 16, 3][..]),
            ("sockets", 2, &[32, 64, 32, 1]),
            ("packed", 3, &[32, 0, 64, 2]),
        ];
        assert_eq!(kept(&entries), ["auto+", "packed+"]);
        let all_tie = [("a", 1, &[1, 2][..]), ("b", 2, &[1, 2])];
        assert_eq!(kept(&all_tie), ["a+b"]);
    }

    #[test]
    fn sharing_beside_idle_cores_is_no_advice_behind_the_best_line() {
        let entries = [
            ("best", 1, &[0, 1, 9, 9][..]),
            ("waste", 2, &[0, 2, 8, 8]),
            ("trade", 3, &[0, 3, 9, 7]),
            ("worst", 4, &[1, 0, 0, 0]),
        ];
        assert_eq!(kept(&entries), ["best+", "trade+"]);
        let wasteful = [("waste", 1, &[0, 1][..]), ("other", 2, &[1, 0])];
        assert_eq!(kept(&wasteful), ["waste+"]);
    }

    #[test]
    fn the_best_line_with_near_stays() {
        // Another one is better in every figure, or gives the same masks, or has the same figures.
        for (masks, values) in [(2, &[0, 4][..]), (1, &[0, 1]), (2, &[0, 1])] {
            let all = [
                ("auto", 1, &[0, 1][..]),
                ("with near", masks, values),
                ("with near, and worse", 3, &[5, 5]),
            ];
            let mut kept = kept(&all);
            kept.sort();
            assert_eq!(kept, ["auto+", "with near+"], "{masks} {values:?}");
            let entries = entries(&all);
            let mut best = best(&entries);
            cut(&mut best, 1, &entries);
            assert_eq!(best, [Kept::alone(1)]);
        }
    }

    /// Lines of equal masks that differ in what the step gets: the longer one may be the better one.
    #[test]
    fn a_dominated_line_is_not_kept_for_its_length() {
        assert!(dominates(&[0, 1], &[0, 2]));
        assert!(!dominates(&[0, 1], &[0, 1]));
        assert!(!dominates(&[1, 0], &[0, 1]));
    }
}
