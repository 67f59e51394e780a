//! Options of other SPANK plugins beside srun's own. They are accepted, and a note names them.

use berth_srun::options::{Foreign, Takes, all_foreign, foreign};
use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches};

/// Under this name a line passes on an option that no table has.
const UNKNOWN: &str = "line-foreign";

/// An option that is not Slurm's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignOption {
    /// Its long name.
    pub name: String,
    /// Its value, if it has one.
    pub value: Option<String>,
    /// Its row, if its plugin is a known one.
    pub row: Option<&'static Foreign>,
}

/// Those of a request.
#[derive(Clone, Debug, Default)]
pub struct ForeignOptions(pub Vec<ForeignOption>);

/// An option that no table has, in a word that clap reads.
pub fn passed_on(name: &str, value: Option<&str>) -> String {
    match value {
        Some(value) => format!("--{UNKNOWN}={name}={value}"),
        None => format!("--{UNKNOWN}={name}"),
    }
}

fn argument(row: &'static Foreign) -> Arg {
    let arg = Arg::new(row.name).long(row.name).hide(true);
    let arg = arg.action(ArgAction::Append);
    match row.takes {
        Takes::Nothing => arg.num_args(0).default_missing_value(""),
        Takes::Value => arg.allow_hyphen_values(true),
        Takes::Attached => arg
            .num_args(0..=1)
            .require_equals(true)
            .default_missing_value(""),
    }
}

impl Args for ForeignOptions {
    fn augment_args(command: Command) -> Command {
        let unknown = Arg::new(UNKNOWN).long(UNKNOWN).hide(true);
        let command = command.arg(unknown.action(ArgAction::Append));
        command.args(all_foreign().map(argument))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for ForeignOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let known = all_foreign().filter(|row| matches.contains_id(row.name));
        let known = known.map(|row| ForeignOption {
            name: row.name.into(),
            value: matches.get_one::<String>(row.name).cloned(),
            row: foreign(row.name),
        });
        let unknown = matches.get_many::<String>(UNKNOWN).into_iter().flatten();
        let unknown = unknown.map(|word| {
            let (name, value) = match word.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (word.as_str(), None),
            };
            ForeignOption {
                name: name.into(),
                value,
                row: None,
            }
        });
        Ok(Self(known.chain(unknown).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
