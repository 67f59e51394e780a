//! The values of keys: numbers within bounds, yes and no.
//! In: a line, a line of defaults, and a key. Out: the value, or an error with its place.

use super::text::{ConfError, Line, MOST_PAIRS};

/// The value of a key on a line, else in the lines `NAME=DEFAULT` before it.
pub(super) fn value<'a>(line: &'a Line, default: Option<&'a Line>, key: &str) -> Option<&'a str> {
    line.value(key).or_else(|| default?.value(key))
}

/// A number of at most `most`; `UNLIMITED` and `INFINITE` are none.
pub(super) fn number(
    line: &Line,
    default: Option<&Line>,
    key: &str,
    most: u64,
) -> Result<Option<u64>, ConfError> {
    let Some(text) = value(line, default, key) else {
        return Ok(None);
    };
    if ["unlimited", "infinite", "n/a"]
        .iter()
        .any(|word| text.eq_ignore_ascii_case(word))
    {
        return Ok(None);
    }
    match text.parse::<u64>().ok().filter(|number| *number <= most) {
        Some(number) => Ok(Some(number)),
        None => {
            let why = format!("{key}={text} is no number from 0 to {most}; write one");
            Err(line.place.error(&why))
        }
    }
}

/// The same where 0 and 1 are the same.
pub(super) fn count(
    line: &Line,
    default: Option<&Line>,
    key: &str,
) -> Result<Option<u32>, ConfError> {
    let found = number(line, default, key, u16::MAX.into())?;
    Ok(found.map(|found| (found as u32).max(1)))
}

/// Yes or no; no where it is not given.
pub(super) fn yes(line: &Line, default: Option<&Line>, key: &str) -> Result<bool, ConfError> {
    let Some(text) = value(line, default, key) else {
        return Ok(false);
    };
    match text.to_ascii_lowercase().as_str() {
        "yes" | "up" | "true" | "1" => Ok(true),
        "no" | "down" | "false" | "0" => Ok(false),
        _ => Err(line
            .place
            .error(&format!("{key}={text} is neither YES nor NO; write one"))),
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
