//! Words of a line put together again: without some of srun's options, and with others.

use std::collections::BTreeMap;

use berth_srun::Line;

/// Options by long name; one without a value has an empty one.
pub(crate) type Options = BTreeMap<String, String>;

/// srun's words without some options and with others before them.
pub(crate) fn rewritten(line: &Line, words: &[String], drop: &[&str], add: &[&str]) -> String {
    // Letters of one word, as in -lun4, leave it together.
    let dropped = |at: &usize| {
        line.given
            .iter()
            .any(|given| given.words.contains(at) && drop.contains(&given.name.as_str()))
    };
    let kept = (0..words.len())
        .filter(|at| !dropped(at))
        .map(|at| &words[at]);
    let added = add.iter().map(|word| (*word).to_string());
    joined(&added.chain(kept.cloned()).collect::<Vec<_>>())
}

/// Words as one line for a shell; variables are left to be replaced.
pub(crate) fn joined(words: &[String]) -> String {
    words
        .iter()
        .map(|word| quoted(word))
        .collect::<Vec<_>>()
        .join(" ")
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_=:,./@+%~$".contains(c);
    match shlex::try_quote(word) {
        Ok(text) if !word.chars().all(plain) => text.into_owned(),
        _ => word.to_string(),
    }
}
