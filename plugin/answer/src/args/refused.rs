//! A wrong command line as its user reads it: no value is repeated at length, or on several lines.

use clap::Error;
use clap::error::{ContextKind, ContextValue};

use crate::text;

/// Longer values are cut in messages.
const MOST_SHOWN: usize = 80;

/// A value as a message repeats it.
pub(super) fn cut(value: &str) -> String {
    let mut cut: String = value.chars().take(MOST_SHOWN).collect();
    if cut.len() < value.len() {
        cut.push('…');
    }
    text::one_line(&cut).into_owned()
}

/// A wrong value, in clap's words.
pub(crate) fn invalid(name: &str, value_name: &str, value: &str, why: &str) -> String {
    let value = cut(value);
    format!("invalid value '{value}' for '--{name} <{value_name}>': {why}")
}

/// clap's error with its values cut.
pub fn shortened(mut why: Error) -> Error {
    let all: Vec<_> = why
        .context()
        .filter(|(kind, _)| *kind != ContextKind::Usage)
        .map(|(kind, value)| (kind, short(value)))
        .collect();
    for (kind, value) in all {
        match value {
            Some(value) => why.insert(kind, value),
            None => why.remove(kind),
        };
    }
    why
}

/// The first line of a refusal by clap, without the reminder of the usage.
pub fn in_one_line(why: Error) -> String {
    let text = shortened(why).to_string();
    let line = text.lines().next().unwrap_or_default();
    line.trim_start_matches("error: ").into()
}

/// A part of an error; none if it is advice that repeats a long value.
fn short(part: &ContextValue) -> Option<ContextValue> {
    let is_long =
        |text: &clap::builder::StyledStr| text.to_string().chars().count() > 4 * MOST_SHOWN;
    Some(match part {
        ContextValue::String(text) => ContextValue::String(cut(text)),
        ContextValue::Strings(all) => {
            ContextValue::Strings(all.iter().map(|text| cut(text)).collect())
        }
        ContextValue::StyledStr(text) if is_long(text) => return None,
        ContextValue::StyledStrs(all) if all.iter().any(is_long) => return None,
        other => other.clone(),
    })
}
