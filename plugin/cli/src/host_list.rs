//! Slurm's host lists on the command line, and the order of names.

use berth_placement::TextError;
use berth_placement::host_list::{self, Most};

/// More nodes than slurmctld takes, and more than a command line has room for.
const MOST: Most = Most {
    names: 1 << 17,
    bytes: 64 << 20,
};

/// The names of a list, in its order.
///
/// # Errors
/// A bracket that does not close, a range that is none, or far too many names.
pub(crate) fn expand(list: &str) -> Result<Vec<String>, TextError> {
    host_list::expand(list, MOST)
}

/// A key by which n2 comes before n10.
pub(crate) fn natural(name: &str) -> Vec<(String, u64)> {
    let mut key = Vec::new();
    let mut rest = name;
    while !rest.is_empty() {
        let text = rest
            .find(|c: char| c.is_ascii_digit())
            .unwrap_or(rest.len());
        let (word, tail) = rest.split_at(text);
        let digits = tail
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(tail.len());
        let (number, tail) = tail.split_at(digits);
        key.push((word.to_string(), number.parse().unwrap_or(0)));
        rest = tail;
    }
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_before_ten() {
        let mut names = ["n10", "n2", "m1", "n2b"];
        names.sort_by_key(|name| natural(name));
        assert_eq!(names, ["m1", "n2", "n2b", "n10"]);
    }
}
