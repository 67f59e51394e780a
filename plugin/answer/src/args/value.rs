//! One value of an option, as --help, the man pages and the shells' completions show it.

/// A value, or the beginning of one that goes on with what the user fills in.
#[derive(Clone, Copy)]
pub struct Value {
    /// `cores`, `map_cpu:`
    pub word: &'static str,
    /// `LIST`; empty where the word is all.
    pub rest: &'static str,
    pub meaning: &'static str,
}

pub(super) const fn value(word: &'static str, meaning: &'static str) -> Value {
    with(word, "", meaning)
}

pub(super) const fn with(word: &'static str, rest: &'static str, meaning: &'static str) -> Value {
    Value {
        word,
        rest,
        meaning,
    }
}
