//! A fact behind an answer, and its source: an option, what the command found out, or an assumption.

use std::fmt;

use serde::Serialize;

/// How the command knows a fact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum By {
    /// An option gives it.
    Option,
    /// The command found it out.
    Found,
    /// Nothing gives it.
    Assumed,
}

/// Something that an answer rests on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fact {
    /// Its name in the first lines of an answer: `site`, `allocation`, …
    pub what: &'static str,
    /// Its value, `compat=berth`.
    pub value: String,
    /// How it is known.
    pub by: By,
    /// The source: the option, the file or the command; or the reason why nothing better is known.
    pub source: String,
}

impl Fact {
    /// A fact of these parts, in the order of the fields.
    #[must_use]
    pub fn new(what: &'static str, value: String, by: By, source: String) -> Self {
        Self {
            what,
            value,
            by,
            source,
        }
    }
}

/// `cores 0-3 (found: cgroup of job 12)`
impl fmt::Display for Fact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.value)?;
        match (&self.by, self.source.as_str()) {
            (By::Option, "") => Ok(()),
            (By::Option, source) => write!(f, " ({source})"),
            (By::Found, source) => write!(f, " (found: {source})"),
            (By::Assumed, "") => f.write_str(" (assumed)"),
            (By::Assumed, source) => write!(f, " (assumed: {source})"),
        }
    }
}
