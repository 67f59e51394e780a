//! How many requests ended how, by name; sums go from process to process as lines of text.

use std::collections::BTreeMap;
use std::fmt;

/// Numbers by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts(BTreeMap<String, u64>);

impl Counts {
    /// One more.
    pub fn one(&mut self, name: &str) {
        self.many(name, 1);
    }

    /// So many more.
    pub fn many(&mut self, name: &str, count: u64) {
        *self.0.entry(name.to_owned()).or_default() += count;
    }

    /// How many there are; none for a name that was never counted.
    #[must_use]
    pub fn of(&self, name: &str) -> u64 {
        self.0.get(name).copied().unwrap_or(0)
    }

    /// The names that begin with a text, without it, and their numbers.
    pub fn under<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = (&'a str, u64)> {
        self.0
            .iter()
            .filter_map(move |(name, count)| Some((name.strip_prefix(prefix)?, *count)))
    }

    /// Adds a line as [`fmt::Display`] writes it; false where it is none.
    pub fn read(&mut self, line: &str) -> bool {
        let words = line.strip_prefix("count ");
        let found = words.and_then(|words| words.split_once(' '));
        let Some((count, name)) = found.and_then(|(count, name)| Some((count.parse().ok()?, name)))
        else {
            return false;
        };
        self.many(name, count);
        true
    }

    /// Adds another's.
    pub fn add(&mut self, other: &Self) {
        for (name, count) in &other.0 {
            self.many(name, *count);
        }
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, count) in &self.0 {
            writeln!(f, "count {count} {name}")?;
        }
        Ok(())
    }
}
