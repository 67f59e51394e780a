//! Facts about the readers of words: each text beside this file has questions and their answers.

mod options;
mod request;
mod submission;
mod values;

use std::fmt::{Debug, Display};
use std::str::FromStr;

/// A value, or `None`.
fn or_none<T: Display>(value: Option<T>) -> String {
    value.map_or_else(|| "None".into(), |value| value.to_string())
}

/// The value that was read, or why it was refused.
pub fn or_refused<T: Display>(found: Result<T, impl Display>) -> String {
    match found {
        Ok(found) => found.to_string(),
        Err(why) => format!("refused: {why}"),
    }
}

/// The answers of some releases, one behind the other.
fn of_each<T: FromStr<Err: Debug>>(releases: &str, answer: impl Fn(T) -> String) -> String {
    let answers = releases
        .split(' ')
        .map(|name| answer(name.parse().unwrap()));
    answers.collect::<Vec<_>>().join(" / ")
}
