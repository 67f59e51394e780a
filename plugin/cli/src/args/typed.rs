//! srun's options as they were typed, in their order: for the title of a picture.

use berth_srun::options::{Row, Takes};
use clap::{ArgMatches, Args, Command, Error, FromArgMatches};

use super::srun::typed;

/// The options of srun, as somebody would type them: `-n 4`, `--cpu-bind=cores`.
#[derive(Clone, Debug)]
pub(crate) struct Typed(pub Vec<String>);

/// It adds no arguments: it reads those of `SrunOptions`.
impl Args for Typed {
    fn augment_args(command: Command) -> Command {
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        command
    }
}

impl FromArgMatches for Typed {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let typed = typed(matches).into_iter();
        Ok(Self(
            typed.map(|(_, row, value)| word(row, value)).collect(),
        ))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// An option as it is typed, quoted for a shell.
fn word(row: &Row, value: Option<&str>) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "=:,./@%+-_".contains(letter);
    let quoted = |value: &str| match value.chars().all(plain) {
        true => value.to_string(),
        false => shlex::try_quote(value).map_or_else(|_| value.into(), Into::into),
    };
    let value = value.filter(|value| !value.is_empty()).map(quoted);
    match (row.short(), value, row.takes()) {
        (Some(letter), Some(value), Takes::Value) => format!("-{letter} {value}"),
        (Some(letter), None, _) => format!("-{letter}"),
        (_, Some(value), _) => format!("--{}={value}", row.typed()),
        (None, None, _) => format!("--{}", row.typed()),
    }
}
