//! Options of other SPANK plugins beside srun's own. They are accepted, and a note names them.

use berth_srun::options::{Foreign, all_foreign, foreign};
use clap::{Arg, ArgMatches, Args, Command, Error, FromArgMatches};

use super::argument::taking;

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

fn argument(row: &'static Foreign) -> Arg {
    taking(Arg::new(row.name).long(row.name).hide(true), row.takes)
}

impl Args for ForeignOptions {
    fn augment_args(command: Command) -> Command {
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
        Ok(Self(known.collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
