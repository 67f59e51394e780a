//! A parser of values that also knows which there are, for completions and the man pages. It takes
//! what the parser takes, and not only these.

use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Arg, Command, Error};

use berth_srun::options::Value;

/// A parser that also knows which values there are.
#[derive(Clone)]
pub struct Offered<P> {
    inner: P,
    values: Vec<PossibleValue>,
}

impl<P: TypedValueParser> TypedValueParser for Offered<P> {
    type Value = P::Value;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<P::Value, Error> {
        self.inner.parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.values.iter().cloned()))
    }
}

/// A parser, and values that are offered.
pub(super) fn offered<P>(inner: P, values: impl IntoIterator<Item = Value>) -> Offered<P> {
    let mut words: Vec<&str> = Vec::new();
    let mut found = Vec::new();
    for value in values {
        // A word that goes on in two ways is offered once.
        if !words.contains(&value.word) {
            words.push(value.word);
            found.push(PossibleValue::new(value.word).help(value.meaning));
        }
    }
    Offered {
        inner,
        values: found,
    }
}

/// A parser, and names that say everything.
pub(super) fn named<P: TypedValueParser>(
    inner: P,
    names: impl IntoIterator<Item = &'static str>,
) -> Offered<P> {
    Offered {
        inner,
        values: names.into_iter().map(PossibleValue::new).collect(),
    }
}
