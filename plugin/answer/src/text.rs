//! Text that may come from somebody's file, for one line or several. It must never act as a command to a
//! terminal, and it has a bounded length.

use std::borrow::Cow;

/// Whether a list in words has a word.
#[must_use]
pub fn has_word(list: &str, word: &str) -> bool {
    list.split(' ').any(|one| one == word)
}

/// Text of several lines without other control characters.
#[must_use]
pub fn lines(text: &str) -> Cow<'_, str> {
    without(text, |letter| {
        letter.is_control() && !matches!(letter, '\n' | '\t')
    })
}

/// Text of one line.
#[must_use]
pub fn one_line(text: &str) -> Cow<'_, str> {
    without(text, char::is_control)
}

fn without(text: &str, bad: impl Fn(char) -> bool) -> Cow<'_, str> {
    match text.contains(&bad) {
        true => text.replace(bad, "\u{fffd}").into(),
        false => text.into(),
    }
}

/// A text that is cut at a number of letters; a cut is marked.
#[must_use]
pub fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.into(),
    }
}

/// The letters at each end of a message that is too long.
const END: usize = 700;

/// A message that may repeat somebody's value: its beginning and its end, where the reason is.
#[must_use]
pub fn short(text: &str) -> Cow<'_, str> {
    let count = text.chars().count();
    if count <= 3 * END {
        return text.into();
    }
    let head = text.chars().take(END);
    let tail = text.chars().skip(count - END);
    head.chain(['…']).chain(tail).collect()
}
