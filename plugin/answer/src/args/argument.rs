//! clap's argument for an option of srun or of berth's own, from its description.

use berth_srun::OwnRequest;
use berth_srun::options::{Own, Row, Takes};
use clap::builder::{StringValueParser, TypedValueParser};
use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches};

use super::offered::offered;

/// The argument for an option of srun.
pub(super) fn argument(row: &'static Row) -> Arg {
    let arg = named(row);
    match row.has_values() {
        true => {
            let parser = offered(StringValueParser::new(), row.values());
            arg.value_parser(parser).hide_possible_values(true)
        }
        false => arg,
    }
}

/// The argument for an option of berth's own.
fn own_argument(own: Own) -> Arg {
    let read = move |text: String| OwnRequest::default().set(own, &text).map(|()| text);
    let row = own.row();
    let parser = offered(StringValueParser::new().try_map(read), row.values());
    let text = [row.summary, row.description].join("\n\n");
    let arg = named(row).long_help(text.trim_end().to_string());
    arg.value_parser(parser).hide_possible_values(true)
}

/// An argument with its names and help.
fn named(row: &'static Row) -> Arg {
    let arg = Arg::new(row.typed()).long(row.typed());
    let arg = arg.short(row.short()).aliases(row.alias());
    let arg = taking(arg.help_heading("Request"), row.takes());
    if row.summary.is_empty() {
        return arg.hide(true);
    }
    let arg = arg.help(row.summary).hide_short_help(!row.in_short);
    let arg = arg.long_help(with_values(row));
    match row.value_name {
        "" => arg,
        name => arg.value_name(name),
    }
}

/// The value, in the way in which getopt takes it.
pub(super) fn taking(arg: Arg, takes: Takes) -> Arg {
    let arg = arg.action(ArgAction::Append);
    match takes {
        // It is no flag of clap, because that would have a value in every parse.
        Takes::Nothing => arg.num_args(0).default_missing_value(""),
        // It takes any word.
        Takes::Value => arg.allow_hyphen_values(true),
        Takes::Attached => arg
            .num_args(0..=1)
            .require_equals(true)
            .default_missing_value(""),
    }
}

/// The long help of one of Slurm's options: its details and its values.
fn with_values(row: &Row) -> String {
    let mut text = match row.description {
        "" => row.summary.to_string(),
        description => description.into(),
    };
    for (at, value) in row.values().enumerate() {
        text += if at == 0 { "\n\nValues:" } else { "" };
        text += &format!("\n  {}{}: {}", value.word, value.rest, value.meaning);
    }
    text
}

/// berth's own options, as they were typed.
#[derive(Clone, Debug, Default)]
pub struct OwnOptions(pub OwnRequest);

impl Args for OwnOptions {
    fn augment_args(command: Command) -> Command {
        command.args(Own::ALL.map(own_argument))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for OwnOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut request = OwnRequest::default();
        for own in Own::ALL {
            let mut all = matches.get_many::<String>(own.name).into_iter().flatten();
            if let Some(text) = all.next_back() {
                let read = request.set(own, text);
                read.map_err(|why| Error::raw(clap::error::ErrorKind::InvalidValue, why))?;
            }
        }
        Ok(Self(request))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
