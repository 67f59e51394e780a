//! The reason why srun refuses a line.

use std::fmt;

use berth_placement::TextError;

use crate::line::Trouble;
use crate::reading::Setting;

/// A refusal, with the option concerned if there is only one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    option: Option<String>,
    value: Option<String>,
    why: String,
}

impl Refused {
    /// Options that do not go together.
    pub(super) fn together(why: impl Into<String>) -> Self {
        Self {
            option: None,
            value: None,
            why: why.into(),
        }
    }

    /// A value.
    pub(super) fn value(name: &str, value: &str, why: impl Into<String>) -> Self {
        Self {
            option: Some(name.into()),
            value: Some(value.into()),
            why: why.into(),
        }
    }

    pub(super) fn text(name: &str, value: &str, why: &TextError) -> Self {
        Self::value(name, value, why.to_string())
    }

    pub(super) fn trouble(setting: &Setting<'_>, trouble: &Trouble) -> Self {
        let why = match trouble {
            Trouble::Unknown => "srun of this release has no such option".into(),
            Trouble::Ambiguous(names) => {
                // `--=x` may mean all of them.
                let some: Vec<_> = names.iter().take(8).copied().collect();
                let more = if names.len() > some.len() {
                    ", …"
                } else {
                    ""
                };
                format!(
                    "it may mean --{}{more}; write the whole name",
                    some.join(" or --")
                )
            }
            Trouble::NoValue => "it needs a value".into(),
            Trouble::UnwantedValue => "it takes no value".into(),
        };
        Self {
            option: Some(setting.name.into()),
            value: None,
            why,
        }
    }

    /// The long name of the option whose value is wrong, with the value.
    #[must_use]
    pub fn wrong_value(&self) -> Option<(&str, &str)> {
        Some((self.option.as_deref()?, self.value.as_deref()?))
    }

    /// The reason alone.
    #[must_use]
    pub fn why(&self) -> &str {
        &self.why
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.option {
            Some(option) if option.chars().count() == 1 => write!(f, "-{option}: {}", self.why),
            Some(option) => write!(f, "--{option}: {}", self.why),
            None => f.write_str(&self.why),
        }
    }
}

impl std::error::Error for Refused {}
