//! The values of keys: numbers within bounds, yes and no, and the defaults before a line.
//! In: a line and a key. Out: the value, or an error with its place.

use super::text::{ConfError, Line, MOST_PAIRS};

impl Line {
    /// The line behind the lines `NAME=DEFAULT` before it, of which it overrides what it gives itself.
    pub(super) fn after(&self, default: Option<&Self>) -> Self {
        let before = default.into_iter().flat_map(|default| &default.pairs);
        Self {
            place: self.place.clone(),
            pairs: before.chain(&self.pairs).cloned().collect(),
        }
    }

    /// A number of at most `most`; `UNLIMITED` and `INFINITE` are none.
    pub(super) fn number(&self, key: &str, most: u64) -> Result<Option<u64>, ConfError> {
        let none = ["unlimited", "infinite", "n/a"];
        let is_none = |text: &&str| none.iter().any(|word| text.eq_ignore_ascii_case(word));
        let Some(text) = self.value(key).filter(|text| !is_none(text)) else {
            return Ok(None);
        };
        let number = text.parse().ok().filter(|number| *number <= most);
        let why = || format!("{key}={text} is no number from 0 to {most}; write one");
        number.map(Some).ok_or_else(|| self.place.error(&why()))
    }

    /// A number of at most 65535, of which 0 counts as 1; `UNLIMITED` and `INFINITE` are none.
    pub(super) fn count(&self, key: &str) -> Result<Option<u32>, ConfError> {
        let found = self.number(key, u16::MAX.into())?;
        Ok(found.map(|found| (found as u32).max(1)))
    }

    /// Yes or no; no where it is not given.
    pub(super) fn yes(&self, key: &str) -> Result<bool, ConfError> {
        let text = self.value(key).unwrap_or("no");
        match text.to_ascii_lowercase().as_str() {
            "yes" | "up" | "true" | "1" => Ok(true),
            "no" | "down" | "false" | "0" => Ok(false),
            _ => {
                let why = format!("{key}={text} is neither YES nor NO; write one");
                Err(self.place.error(&why))
            }
        }
    }
}

/// What a line adds to the defaults: a later `DEFAULT` line replaces only what it gives.
pub(super) fn merged(default: Option<Line>, line: Line) -> Result<Line, ConfError> {
    let Some(mut all) = default else {
        return Ok(line);
    };
    all.pairs.retain(|(key, _)| line.value(key).is_none());
    all.pairs.extend(line.pairs);
    match all.pairs.len() > MOST_PAIRS {
        true => Err(line
            .place
            .error("the DEFAULT lines have more than 256 keys in all")),
        false => Ok(all),
    }
}
