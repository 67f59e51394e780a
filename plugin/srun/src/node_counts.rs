//! Slurm's lists of counts, one for each of an allocation's nodes: `4(x2),2`.
//! In: a text that may come from a user. Out: counts that the callers add up, compare or go
//! through, in memory that grows with the text's length and not with its numbers. Pure.

use berth_placement::sets::limits::NODE_LIST;

/// Slurm's `4(x2),2` (CPUs or tasks of an allocation's nodes): counts, each with the number of
/// successive nodes that have it. A repeat stays a number, so the memory that the list takes is a
/// small multiple of its text, whatever the text says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Runs(Vec<(u32, u32)>);

impl Runs {
    /// All nodes together; a sum beyond 64 bits stays at the largest number.
    #[must_use]
    pub fn sum(&self) -> u64 {
        let product = |&(count, nodes): &(u32, u32)| u64::from(count) * u64::from(nodes);
        self.0.iter().map(product).fold(0, u64::saturating_add)
    }

    /// One count per node, in order. The caller says how many nodes it wants.
    pub fn each(&self) -> impl Iterator<Item = u32> + '_ {
        let run = |&(count, nodes): &(u32, u32)| std::iter::repeat_n(count, nodes as usize);
        self.0.iter().flat_map(run)
    }
}

/// Reads such a list; none if the text is not one, or is longer than Linux passes on.
#[must_use]
pub fn each_node(text: &str) -> Option<Runs> {
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

#[cfg(test)]
mod tests {
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
        let runs = each_node(&[most; 200].join(",")).unwrap();
        assert_eq!(runs.sum(), u64::MAX);
        assert_eq!(runs.0.len(), 200);
        assert_eq!(runs.each().take(3).collect::<Vec<_>>(), [u32::MAX; 3]);
        assert_eq!(each_node(&"1,".repeat(NODE_LIST)), None);
    }
}
