//! Slurm's lists of counts, one for each of an allocation's nodes: `4(x2),2`.
//! In: a text that may come from a user. Out: what the callers add up, compare or go through, in
//! memory that grows with the text and never with what the text says. Pure.

use berth_placement::limits::NODE_LIST;

/// Slurm's `4(x2),2` (CPUs or tasks of an allocation's nodes): counts, each with the number of
/// successive nodes that have it. A repeat stays a number, so the memory that the list takes is a
/// small multiple of its text, whatever the text says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Runs(Vec<(u32, u32)>);

impl Runs {
    /// All nodes together; a sum beyond 64 bits stays at the largest number.
    pub(crate) fn sum(&self) -> u64 {
        let product = |&(count, nodes): &(u32, u32)| u64::from(count) * u64::from(nodes);
        self.0.iter().map(product).fold(0, u64::saturating_add)
    }

    /// One count per node, in order. The caller says how many nodes it wants.
    pub(crate) fn each(&self) -> impl Iterator<Item = u32> + '_ {
        let run = |&(count, nodes): &(u32, u32)| std::iter::repeat_n(count, nodes as usize);
        self.0.iter().flat_map(run)
    }
}

/// Reads such a list; none where it is not one, or longer than any that Linux passes on.
pub(crate) fn each_node(text: &str) -> Option<Runs> {
    let part = |part: &str| -> Option<(u32, u32)> {
        match part.split_once("(x") {
            Some((count, nodes)) => {
                let nodes = nodes.strip_suffix(')')?;
                Some((count.parse().ok()?, nodes.parse().ok()?))
            }
            None => Some((part.parse().ok()?, 1)),
        }
    };
    if text.len() > NODE_LIST {
        return None;
    }
    text.split(',').map(part).collect::<Option<_>>().map(Runs)
}

/// How many names a host list such as `n[0-3,7],m[0-1][0-9]` stands for; `None` where it is longer
/// than any that Linux passes on, or a bracket cannot be counted. To be asked before Slurm expands
/// the list: it multiplies brackets out at once, whatever comes of it (`_push_range_list`).
pub(crate) fn count_names(list: &str) -> Option<u64> {
    if list.len() > NODE_LIST {
        return None;
    }
    let (mut all, mut of_name, mut rest) = (0u64, 1u64, list);
    loop {
        let Some(at) = rest.find(['[', ',']) else {
            return all.checked_add(of_name);
        };
        let (_, from) = rest.split_at(at);
        if let Some(next) = from.strip_prefix(',') {
            (all, of_name, rest) = (all.checked_add(of_name)?, 1, next);
            continue;
        }
        let (inside, after) = from.strip_prefix('[')?.split_once(']')?;
        of_name = of_name.checked_mul(count_numbers(inside)?)?;
        rest = after;
    }
}

/// `0-3,7` is five numbers.
fn count_numbers(inside: &str) -> Option<u64> {
    let part = |part: &str| {
        let (low, high) = part.split_once('-').unwrap_or((part, part));
        let (low, high): (u64, u64) = (low.parse().ok()?, high.parse().ok()?);
        high.checked_sub(low)?.checked_add(1)
    };
    inside
        .split(',')
        .try_fold(0u64, |sum, one| sum.checked_add(part(one)?))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test says so")]
mod tests {
    #[test]
    fn names_are_counted_before_they_are_made() {
        for (list, count) in [
            ("n1", Some(1)),
            ("n[0-3,7],m", Some(6)),
            ("a[1-2][0-9]-[1],b[007-010]", Some(24)),
            ("n[0-60000][0-60000][0-9]", Some(36_001_200_010)),
            ("n[0-18446744073709551615]", None),
            ("n[0-4294967295][0-4294967295][0-4294967295]", None),
            ("n[3-1]", None),
            ("n[1-2", None),
            ("n[a-b]", None),
        ] {
            assert_eq!(count_names(list), count, "{list}");
        }
        assert_eq!(count_names(&"n,".repeat(NODE_LIST)), None);
    }

    use super::*;

    #[test]
    fn counts_of_nodes() {
        let expanded = |text| each_node(text).map(|runs| runs.each().collect::<Vec<_>>());
        assert_eq!(expanded("4"), Some(vec![4]));
        assert_eq!(expanded("4(x2),2"), Some(vec![4, 4, 2]));
        for wrong in [
            "",
            "4(x,2",
            "4(x2",
            "4()",
            "4(x-1)",
            "-4",
            "4294967296",
            "4,",
        ] {
            assert_eq!(each_node(wrong), None, "{wrong}");
        }
        let runs = each_node("4(x2),2").unwrap();
        assert_eq!(runs.sum(), 10);
        assert_eq!(each_node("9(x0)").unwrap().sum(), 0);
    }

    #[test]
    fn repeats_stay_numbers() {
        let most = "4294967295(x4294967295)";
        let mut found = None;
        let calls = crate::count_allocations::during(|| {
            found = each_node(&[most; 200].join(","));
        });
        let runs = found.unwrap();
        assert_eq!(runs.sum(), u64::MAX);
        assert_eq!(runs.0.len(), 200);
        assert_eq!(runs.each().take(3).collect::<Vec<_>>(), [u32::MAX; 3]);
        assert!(calls < 20, "{calls} calls of the allocator");
        assert_eq!(each_node(&"1,".repeat(NODE_LIST)), None);
    }
}
