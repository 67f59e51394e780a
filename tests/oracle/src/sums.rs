//! What the messages came to: how many ended how, and the worst of each measure with its message.
//! From process to process they go as lines of text.

use std::collections::BTreeMap;
use std::fmt;

use crate::counts::Counts;

/// Sums.
#[derive(Clone, Debug, Default)]
pub struct Sums {
    /// By how they ended.
    pub counts: Counts,
    most: BTreeMap<String, (u64, String)>,
}

impl Sums {
    /// Remembers a measure of a message where it is the highest so far.
    pub fn measure(&mut self, what: &str, value: u64, whose: impl FnOnce() -> String) {
        if self.most.get(what).is_none_or(|(most, _)| value > *most) {
            self.most.insert(what.to_owned(), (value, whose()));
        }
    }

    /// The highest of a measure, and the words that show its message again.
    #[must_use]
    pub fn most(&self, what: &str) -> (u64, &str) {
        let found = self.most.get(what);
        found.map_or((0, "no message"), |(value, whose)| (*value, whose))
    }

    /// Adds a line as [`fmt::Display`] writes it; false where it is none.
    pub fn read(&mut self, line: &str) -> bool {
        let mut words = line.splitn(4, ' ');
        if words.next() != Some("most") {
            return self.counts.read(line);
        }
        let (value, what, whose) = (words.next(), words.next(), words.next());
        let Some(value) = value.and_then(|value| value.parse().ok()) else {
            return false;
        };
        let whose = whose.unwrap_or_default().to_owned();
        self.measure(what.unwrap_or_default(), value, || whose);
        true
    }

    /// Adds another's.
    pub fn add(&mut self, other: &Self) {
        self.counts.add(&other.counts);
        for (what, (value, whose)) in &other.most {
            self.measure(what, *value, || whose.clone());
        }
    }
}

impl fmt::Display for Sums {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (what, (value, whose)) in &self.most {
            writeln!(f, "most {value} {what} {whose}")?;
        }
        write!(f, "{}", self.counts)
    }
}
