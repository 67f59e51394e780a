//! Numbers as srun reads them: `strtol`, with blanks and a sign before the digits.
//! In: a text. Out: a number and the rest of the text.

use crate::release::Release;

/// The number at the beginning of a text, with the rest; a text without one is 0 and all rest.
/// One that is too large is the largest, as `strtol` has it.
#[must_use]
pub fn leading(text: &str) -> (i64, &str) {
    let trimmed = text.trim_start_matches([' ', '\t', '\n', '\r', '\x0b', '\x0c']);
    let (negative, digits) = match trimmed.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, trimmed.strip_prefix('+').unwrap_or(trimmed)),
    };
    let end = digits
        .find(|letter: char| !letter.is_ascii_digit())
        .unwrap_or(digits.len());
    let (number, rest) = digits.split_at(end);
    if number.is_empty() {
        return (0, text);
    }
    let number = number.parse().unwrap_or(i64::MAX);
    (if negative { -number } else { number }, rest)
}

/// Whether a text has no digits where `strtol` looks for them.
#[must_use]
pub fn is_missing(text: &str) -> bool {
    leading(text).1.len() == text.len()
}

/// `parse_int`: a whole text, at least 0, or at least 1 where it must be positive.
/// 22.05 keeps the lower 32 bits of a larger one; later lines refuse it.
#[must_use]
pub fn whole(text: &str, positive: bool, release: Release) -> Option<i32> {
    let (number, rest) = leading(text);
    if !rest.is_empty() || number < i64::from(positive) || number == i64::MAX {
        return None;
    }
    match i32::try_from(number) {
        Ok(i32::MAX) | Err(_) if release > Release::V22_05 => None,
        Ok(number) => Some(number),
        Err(_) => Some(number as i32),
    }
}

/// A number with `k` or `m` behind it, and what follows.
#[must_use]
pub fn scaled(text: &str) -> (i64, &str) {
    let (number, rest) = leading(text);
    for (letters, factor) in [(['k', 'K'], 1 << 10), (['m', 'M'], 1 << 20)] {
        if let Some(rest) = rest.strip_prefix(letters) {
            return (number.saturating_mul(factor), rest);
        }
    }
    (number, rest)
}

/// A size in MiB: a number with K, M, G or T behind it, and perhaps a B; M if there is no letter.
/// Source: `str_to_mbytes`.
#[must_use]
pub fn megabytes(text: &str) -> Option<u64> {
    let (number, rest) = leading(text);
    let number = u64::try_from(number).ok().filter(|_| !is_missing(text))?;
    let letters = rest.to_ascii_lowercase();
    match letters
        .strip_suffix('b')
        .filter(|rest| !rest.is_empty())
        .unwrap_or(&letters)
    {
        "" | "m" => Some(number),
        "k" => Some(number.div_ceil(1 << 10)),
        "g" => number.checked_mul(1 << 10),
        "t" => number.checked_mul(1 << 20),
        _ => None,
    }
}
