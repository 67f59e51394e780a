//! The fields of a handover's text: `name=value`, with blanks and control characters written as `%20`.
//! In: values. Out: a text, and the values again.

use std::fmt::{Display, Write};
use std::str::FromStr;

use berth_placement::CpuSet;

use crate::message::hex;

/// Adds a field. Blanks and control characters of its value are written as `%20`.
pub(super) fn field(text: &mut String, name: &str, value: &str) {
    text.push_str(name);
    let is_special = |byte: u8| matches!(byte, 0..=b' ' | b'%' | 0x7f);
    let mut rest = value;
    // A special character has one byte, so both parts are texts.
    while let Some(at) = rest.bytes().position(is_special) {
        let (plain, special) = rest.split_at(at);
        let (special, after) = special.split_at(1);
        text.push_str(plain);
        match special {
            // The words of a request have blanks between them.
            " " => text.push_str("%20"),
            _ => special.bytes().for_each(|byte| {
                text.push('%');
                hex::push(text, [byte]);
            }),
        }
        rest = after;
    }
    text.push_str(rest);
}

/// Adds a field whose value has no special characters.
pub(super) fn number(text: &mut String, name: &str, value: impl Display) {
    // A String takes everything.
    let _ = write!(text, "{name}{value}");
}

/// Names and values; if a name comes twice, the first one counts.
pub(super) struct Fields<'a>(pub(super) Vec<(&'a str, &'a str)>);

impl Fields<'_> {
    pub(super) fn value(&self, name: &str) -> Option<String> {
        let found = self.0.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| unescaped(value))
    }

    /// A text; an empty one is not written at all.
    pub(super) fn text(&self, name: &str) -> String {
        self.value(name).unwrap_or_default()
    }

    pub(super) fn read<T: FromStr>(&self, name: &str) -> Result<Option<T>, String> {
        let read = |text: String| text.parse().map_err(|_| unreadable(name));
        self.value(name).map(read).transpose()
    }
}

/// CPUs, perhaps none.
pub(super) fn cpus(name: &str, list: &str) -> Result<CpuSet, String> {
    match list {
        "" => Ok(CpuSet::new()),
        list => CpuSet::from_list(list).map_err(|_| unreadable(name)),
    }
}

pub(super) fn unreadable(name: &str) -> String {
    format!("its {name} cannot be read")
}

/// The value that [`field`] was given.
fn unescaped(value: &str) -> String {
    let mut parts = value.split('%');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (code, rest) = part.split_at_checked(2).unwrap_or(("", part));
        let code = u8::from_str_radix(code, 16).ok().map(char::from);
        text.push(code.unwrap_or('%'));
        text.push_str(rest);
    }
    text
}
