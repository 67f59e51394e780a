//! The faults that a node's service meets, look after look. In: the texts of one look. Out: a line of the log for each
//! fault when it begins. A fault that lasts is tried again at every look, and is not logged again.

use std::collections::BTreeSet;

/// The faults of the last look.
#[derive(Debug, Default)]
pub(crate) struct Faults(BTreeSet<String>);

impl Faults {
    /// Logs those of the next look that are new.
    pub(crate) fn log(&mut self, faults: BTreeSet<String>) {
        for fault in self.new_ones(faults) {
            log::error!("{fault}");
        }
    }

    fn new_ones(&mut self, faults: BTreeSet<String>) -> Vec<String> {
        let new = faults.difference(&self.0).cloned().collect();
        self.0 = faults;
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_that_lasts_is_logged_once() {
        let mut faults = Faults::default();
        for (found, expected) in [
            (&["a"][..], &["a"][..]),
            (&["b", "a"], &["b"]),
            (&["a", "b"], &[]),
            (&["b"], &[]),
            // It has begun again.
            (&["a", "b"], &["a"]),
        ] {
            let found = found.iter().map(|fault| (*fault).to_owned()).collect();
            assert_eq!(faults.new_ones(found), expected);
        }
    }
}
