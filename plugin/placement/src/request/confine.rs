//! `--confine`, and the site's `confine=`: whether a task's CPUs are a fence, or advice that the task
//! may ignore. In: both words. Out: whether tasks are confined, and what the user must know. Pure.

use std::fmt;
use std::str::FromStr;

use derive_more::Display;

use crate::sets::error::TextError;

/// What a step requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Display)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Confine {
    /// The tasks' masks are advice.
    #[display("off")]
    Off,
    /// No task leaves its CPUs.
    #[display("task")]
    Task,
}

impl FromStr for Confine {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        // As all words of berth's own options, in any case.
        match text.to_ascii_lowercase().as_str() {
            "task" => Ok(Self::Task),
            "off" => Ok(Self::Off),
            _ => Err(TextError::new(text, "task or off")),
        }
    }
}

/// What the site sets for steps that request nothing, and whether they may refuse it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SiteConfine {
    /// Tasks are confined on request.
    #[default]
    Off,
    /// Tasks are confined unless the step requests otherwise.
    Task,
    /// Tasks are always confined.
    Force,
}

impl SiteConfine {
    /// Every value with its word.
    pub const WORDS: [(&'static str, Self); 3] = [
        ("off", Self::Off),
        ("task", Self::Task),
        ("task,force", Self::Force),
    ];

    /// Whether the tasks of a step are confined, if they are bound.
    #[must_use]
    pub fn confines(self, requested: Option<Confine>) -> bool {
        match (self, requested) {
            (Self::Force, _) | (_, Some(Confine::Task)) => true,
            (_, Some(Confine::Off)) => false,
            (site, None) => site == Self::Task,
        }
    }

    /// What the user must know: a request that is not honoured.
    #[must_use]
    pub fn note(self, requested: Option<Confine>, is_bound: bool) -> Option<&'static str> {
        match (self, requested) {
            (Self::Force, Some(Confine::Off)) if is_bound => Some(
                "--confine=off is not honoured: this site confines every bound task \
                 (confine=task,force); leave it out",
            ),
            (_, Some(Confine::Task)) if !is_bound => Some(
                "--confine=task confines nothing, because the step's tasks are not bound; drop \
                 --cpu-bind=none, or request a binding",
            ),
            _ => None,
        }
    }
}

impl fmt::Display for SiteConfine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = Self::WORDS.iter().find(|(_, site)| site == self);
        f.write_str(found.map_or("off", |(word, _)| word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_step_decides_unless_the_site_forces() {
        use Confine::{Off, Task};
        //   site, step, bound: confined, words of the note
        for (site, requested, is_bound, confines, note) in [
            (SiteConfine::Off, None, true, false, ""),
            (SiteConfine::Off, Some(Task), true, true, ""),
            (SiteConfine::Off, Some(Off), true, false, ""),
            (
                SiteConfine::Off,
                Some(Task),
                false,
                true,
                "confines nothing",
            ),
            (SiteConfine::Task, None, true, true, ""),
            (SiteConfine::Task, None, false, true, ""),
            (SiteConfine::Task, Some(Off), true, false, ""),
            (SiteConfine::Force, None, true, true, ""),
            (SiteConfine::Force, Some(Off), true, true, "not honoured"),
            (SiteConfine::Force, Some(Off), false, true, ""),
        ] {
            let case = format!("{site} {requested:?} {is_bound}");
            assert_eq!(site.confines(requested), confines, "{case}");
            let found = site.note(requested, is_bound).unwrap_or_default();
            assert_eq!(found.is_empty(), note.is_empty(), "{case}: {found}");
            assert!(found.contains(note), "{case}: {found}");
        }
    }

    #[test]
    fn words_are_read_as_they_are_written() {
        for one in [Confine::Off, Confine::Task] {
            assert_eq!(one.to_string().parse(), Ok(one));
            assert_eq!(one.to_string().to_uppercase().parse(), Ok(one));
        }
        for word in ["", "on", "task,force", "task "] {
            assert!(word.parse::<Confine>().is_err(), "{word}");
        }
        for (word, site) in SiteConfine::WORDS {
            assert_eq!(site.to_string(), word);
        }
    }
}
