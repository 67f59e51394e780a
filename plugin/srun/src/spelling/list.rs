//! Lists in `--cpu-bind` and `--mem-bind` that srun accepts (`_expand_mult`). The engine's own
//! reader, which also reads a launch message, checks the numbers. In: a word with its list. Out:
//! the list without the parts that srun drops.

use std::fmt::Write;

use berth_placement::TextError;

/// Longer lists than any machine needs get no advice.
const MOST_SPELLED: u32 = 1 << 10;

/// The two spellings of a name, and the content of its list.
type Kind<'a> = ([&'static str; 2], &'a str);

/// The first spelling of a word's name, with its list; `None` for another word. Text
/// between the name and `:` or `=`, and after a second one, is ignored.
pub(super) fn of(
    word: &str,
    kinds: &[Kind<'_>],
) -> Option<Result<(&'static str, String), TextError>> {
    let lower = word.to_ascii_lowercase();
    let is_it = |kind: &&Kind<'_>| kind.0.iter().any(|name| lower.starts_with(name));
    let (names, what) = kinds.iter().find(is_it)?;
    let list = word.split([':', '=']).nth(1).unwrap_or_default();
    let is_mask = names[0].starts_with("mask");
    Some(read(list, is_mask, what).map(|list| (names[0], list)))
}

fn read(list: &str, is_mask: bool, what: &str) -> Result<String, TextError> {
    let wrong = |part: &str| TextError::new(part, &format!("in a list of {what}{}", advice(list)));
    let mut kept = String::with_capacity(list.len());
    for part in list.split(',').filter(|part| !part.is_empty()) {
        let digits = part.strip_prefix("0x").filter(|_| is_mask).unwrap_or(part);
        let (value, count) = match digits.split_once('*') {
            Some((value, count)) => (value, Some(count)),
            None => (digits, None),
        };
        let is_digit = |byte: u8| match is_mask {
            true => byte.is_ascii_hexdigit(),
            false => byte.is_ascii_digit(),
        };
        let plain = |text: &str, is: &dyn Fn(u8) -> bool| !text.is_empty() && text.bytes().all(is);
        let counted = count.is_none_or(|count| plain(count, &|byte| byte.is_ascii_digit()));
        if !plain(value, &is_digit) || !counted {
            return Err(wrong(part));
        }
        let comma = if kept.is_empty() { "" } else { "," };
        let times = if count.is_some() { "*" } else { "" };
        let _ = write!(kept, "{comma}{value}{times}{}", count.unwrap_or_default());
    }
    match kept.is_empty() {
        true => Err(wrong(list)),
        false => Ok(kept),
    }
}

/// The list to write instead of a list with ranges.
fn advice(list: &str) -> String {
    let mut spelled = Vec::new();
    let mut ranges = false;
    for part in list.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (Ok(first), Ok(last)) = (first.parse::<u32>(), last.parse::<u32>()) else {
            return String::new();
        };
        if last < first || last - first > MOST_SPELLED || spelled.len() > MOST_SPELLED as usize {
            return String::new();
        }
        ranges |= part.contains('-');
        spelled.extend((first..=last).map(|number| number.to_string()));
    }
    match ranges && spelled.len() <= 64 {
        true => format!("; srun takes no ranges: write {}", spelled.join(",")),
        false if ranges => "; srun takes no ranges".into(),
        false => String::new(),
    }
}
