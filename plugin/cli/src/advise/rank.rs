//! The best of many lines: those that give the same masks are one, and a line stays only if its first
//! figure is the best one, and no other line is at least as good in everything and better in something.
//! In: each line with what it gives and its figures. Out: positions, the best first. Pure.

/// What decides about a line.
#[derive(Clone, Debug)]
pub(super) struct Entry<'a, M> {
    /// As it is typed.
    pub line: &'a str,
    /// What it gives to each task.
    pub masks: M,
    /// Its figures, the most important first; a smaller one is better.
    pub values: Vec<u32>,
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
    let mut order: Vec<usize> = (0..entries.len()).collect();
    order.sort_by_key(|at| (entries[*at].line.len(), entries[*at].line));
    let mut different: Vec<usize> = Vec::new();
    for at in order {
        let is_same = |other: &usize| entries[*other].masks == entries[at].masks;
        if !different.iter().any(is_same) {
            different.push(at);
        }
    }
    let is_dominated = |at: &usize| {
        let mut others = entries.iter();
        others.any(|other| dominates(&other.values, &entries[*at].values))
    };
    let first = |at: &usize| entries[*at].values.first().copied();
    let best = different.iter().filter_map(first).min();
    different.retain(|at| first(at) == best && !is_dominated(at));
    let mut kept: Vec<Kept> = Vec::new();
    for at in different {
        let is_alike = |one: &&mut Kept| entries[one.at].values == entries[at].values;
        match kept.iter_mut().find(is_alike) {
            Some(one) => one.alike.push(at),
            None => kept.push(Kept {
                at,
                alike: Vec::new(),
            }),
        }
    }
    kept.sort_by(|one, other| entries[one.at].values.cmp(&entries[other.at].values));
    kept
}

/// Whether figures are nowhere worse and somewhere better.
pub(super) fn dominates(one: &[u32], other: &[u32]) -> bool {
    let nowhere_worse = one.iter().zip(other).all(|(one, other)| one <= other);
    nowhere_worse && one != other
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(entries: &[(&str, u32, &[u32])]) -> Vec<String> {
        let entries: Vec<_> = entries
            .iter()
            .map(|(line, masks, values)| Entry {
                line,
                masks: *masks,
                values: values.to_vec(),
            })
            .collect();
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
        ];
        assert_eq!(kept(&entries), ["b+", "a+", "c+"]);
        assert_eq!(kept(&[]), [""; 0]);
    }

    /// Lines of equal masks that differ in what the step gets: the longer one may be the better one.
    #[test]
    fn a_dominated_line_is_not_kept_for_its_length() {
        assert!(dominates(&[0, 1], &[0, 2]));
        assert!(!dominates(&[0, 1], &[0, 1]));
        assert!(!dominates(&[1, 0], &[0, 1]));
    }
}
