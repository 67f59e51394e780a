//! The sums of requests: how many ended how, the highest of each measure, and each kind of defect. From process to process
//! it goes as JSON.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// Sums.
#[derive(Debug, Default, Deserialize, Serialize)]
pub struct Report {
    counts: BTreeMap<String, u64>,
    most: BTreeMap<String, Most>,
    defects: BTreeMap<String, Defect>,
}

/// The highest value of a measure, and the request that had it.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
struct Most {
    value: u64,
    number: u64,
}

/// How often something was wrong, and the first time in words.
#[derive(Debug, Default, Deserialize, Serialize)]
struct Defect {
    times: u64,
    first: String,
}

impl Report {
    /// One more.
    pub fn one(&mut self, name: &str) {
        self.many(name, 1);
    }

    /// So many more.
    pub fn many(&mut self, name: &str, count: u64) {
        *self.counts.entry(name.to_owned()).or_default() += count;
    }

    /// How many there are; none for a name that was never counted.
    #[must_use]
    pub fn of(&self, name: &str) -> u64 {
        self.counts.get(name).copied().unwrap_or(0)
    }

    /// Remembers a request's measure where it is the highest so far.
    pub fn measure(&mut self, what: &str, value: u64, number: u64) {
        let most = self.most.entry(what.to_owned()).or_default();
        *most = (*most).max(Most { value, number });
    }

    /// Something is wrong; numbers in `why` make no other kind of defect.
    pub fn defect(&mut self, why: &str, request: &str) {
        let kind = why.replace(|letter: char| letter.is_ascii_digit(), "");
        let first = format!("{why}\n{request}");
        self.add_defect(kind, Defect { times: 1, first });
    }

    fn add_defect(&mut self, kind: String, more: Defect) {
        let defect = self.defects.entry(kind).or_default();
        defect.times += more.times;
        if defect.first.is_empty() {
            defect.first = more.first;
        }
    }

    /// How often something was wrong.
    #[must_use]
    pub fn wrong(&self) -> u64 {
        self.defects.values().map(|defect| defect.times).sum()
    }

    /// Adds another's.
    pub fn add(&mut self, other: Self) {
        for (name, count) in other.counts {
            self.many(&name, count);
        }
        for (what, Most { value, number }) in other.most {
            self.measure(&what, value, number);
        }
        for (kind, defect) in other.defects {
            self.add_defect(kind, defect);
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A name with a slash is one of a table's, which stands elsewhere.
        for (name, count) in self.counts.iter().filter(|(name, _)| !name.contains('/')) {
            writeln!(f, "  {count} {name}")?;
        }
        for (what, Most { value, number }) in &self.most {
            writeln!(f, "  at most {value} {what}: request {number}")?;
        }
        for Defect { times, first } in self.defects.values() {
            writeln!(f, "  WRONG, {times} times: {first}\n")?;
        }
        writeln!(f, "  {} wrong", self.wrong())
    }
}
