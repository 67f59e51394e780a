//! Where the PRRTE that Open MPI 5.0 brings along (3.0) answers otherwise than berth, which follows
//! PRRTE's newer mapper, and why.

use berth_placement::CpuSet;

/// A difference that has a reason.
struct Known {
    /// Whether it is this one, by the request, what berth gave and what mpirun gave.
    is: fn(&str, &str, &str) -> bool,
    reason: &'static str,
}

/// Every difference with a reason.
const ALL: &[Known] = &[
    Known {
        is: |request, _, theirs| request.contains("ppr:") && theirs.contains("PMIX_ERR_UNPACK"),
        reason: "3.0 maps as many ranks as ppr gives, and starts none if they are more than -n",
    },
    Known {
        is: |request, ours, theirs| request.contains("--bind-to") && is_within(ours, theirs),
        reason: "3.0 binds to the whole object, also where it is wider than the mapped one",
    },
    Known {
        is: |request, _, theirs| {
            request.contains("--bind-to hwthread") && theirs.contains("no available cpus")
        },
        reason: "3.0 binds to hardware threads only where they are mapped",
    },
    Known {
        is: |request, ours, theirs| {
            let is_default = !request.contains("--bind-to");
            is_default && request.contains("hwtcpus") && is_within(theirs, ours)
        },
        reason: "3.0 binds to hardware threads where they are mapped and --bind-to is not given",
    },
    Known {
        is: |request, _, theirs| {
            request.contains("--bind-to none") && theirs.contains("require binding")
        },
        reason: "3.0 counts CPUs although nothing is bound",
    },
];

/// The reason of a difference; `None` if it has none.
#[must_use]
pub fn reason(request: &str, ours: &str, theirs: &str) -> Option<&'static str> {
    let mut all = ALL.iter();
    let found = all.find(|known| (known.is)(request, ours, theirs))?;
    Some(found.reason)
}

/// Whether each task's CPUs are some of what it has by the other answer.
fn is_within(ours: &str, theirs: &str) -> bool {
    let sets = |text: &str| -> Option<Vec<CpuSet>> {
        let words = text.split(' ');
        words.map(|word| CpuSet::from_list(word).ok()).collect()
    };
    let (Some(ours), Some(theirs)) = (sets(ours), sets(theirs)) else {
        return false;
    };
    let mut pairs = ours.iter().zip(&theirs);
    ours.len() == theirs.len() && pairs.all(|(ours, theirs)| ours.difference(theirs).is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_without_a_reason_has_none() {
        let wide = "-n2 --map-by numa --bind-to l3cache";
        assert!(reason(wide, "0-3 4-7", "0-7 0-7").is_some());
        assert_eq!(reason(wide, "0-3 4-7", "0-7 8-15"), None);
        assert_eq!(reason("-n2 --map-by numa", "0-3 4-7", "0-7 0-7"), None);
        assert_eq!(reason(wide, "0-3 4-7", "refused: no cpus"), None);
    }
}
