//! The options of berth's own whose value is one word: `--confine` beside the site's `confine=`, `--core-kind`,
//! `--pool`. In: the words. Out: whether tasks are confined and what the user must know, the kind of cores, the wish.
//! Pure.

use std::fmt;
use std::str::FromStr;

use derive_more::Display;
use strum::EnumString;

use crate::sets::text::TextError;

/// A step's `--confine`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::Display, EnumString)]
#[strum(
    serialize_all = "lowercase",
    ascii_case_insensitive,
    parse_err_ty = TextError,
    parse_err_fn = no_confine
)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Confine {
    /// The tasks' masks are advice.
    Off,
    /// No task leaves its CPUs.
    Task,
}

fn no_confine(text: &str) -> TextError {
    TextError::new(text, "task or off")
}

/// The site's `confine=` for steps that request nothing, and whether they may refuse it.
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

    /// The note about a request that is not honoured.
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

/// The requested kind of cores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, strum::Display, EnumString)]
#[strum(
    serialize_all = "lowercase",
    ascii_case_insensitive,
    parse_err_ty = TextError,
    parse_err_fn = no_core_kind
)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum CoreKindWish {
    /// All cores.
    #[default]
    Any,
    /// Fast cores.
    Performance,
    /// Slow and frugal cores.
    Efficiency,
}

fn no_core_kind(text: &str) -> TextError {
    TextError::new(text, "performance, efficiency or any")
}

/// A job's `--pool`. No job can request a pool: the site says which jobs are in one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::Display, EnumString)]
#[strum(serialize_all = "lowercase", parse_err_ty = TextError, parse_err_fn = no_pool)]
pub enum PoolWish {
    /// The job runs as a normal one.
    None,
}

fn no_pool(text: &str) -> TextError {
    let wanted = "none (the site decides which jobs are in a pool, by their partition)";
    TextError::new(text, wanted)
}

/// A pool's name, as `berth plan` asks about it; `none` is no pool.
#[derive(Clone, Debug, PartialEq, Eq, Display)]
pub struct PoolName(String);

/// Bytes of a name.
const MOST: usize = 64;

impl PoolName {
    /// The name, unless it is `none`.
    #[must_use]
    pub fn of_a_pool(&self) -> Option<&str> {
        Some(self.0.as_str()).filter(|name| *name != "none")
    }
}

impl FromStr for PoolName {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        let fits = |letter: char| letter.is_alphanumeric() || "_-.@+".contains(letter);
        match !text.is_empty() && text.len() <= MOST && text.chars().all(fits) {
            true => Ok(Self(text.into())),
            false => Err(TextError::new(
                text,
                "none or the name of one of the site's pools",
            )),
        }
    }
}
