//! The options of a request as clap takes them: srun's, berth's own and those of other SPANK plugins, each from its
//! description.

use berth_srun::options::{
    Command as Program, Foreign, Lookup, Own, Row, Takes, all_foreign, long,
};
use berth_srun::{LineOption, OwnRequest};
use clap::builder::{StringValueParser, TypedValueParser};
use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches};

use super::srun::rows;
use super::values::offered;

/// The argument for an option of srun.
fn argument(row: &'static Row) -> Arg {
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
    let arg = Arg::new(row.typed).long(row.typed);
    let arg = arg.short(row.short).aliases(row.alias);
    let arg = taking(arg.help_heading("Request"), row.takes);
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
fn taking(arg: Arg, takes: Takes) -> Arg {
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

/// The options of a request, as they were typed.
#[derive(Clone, Debug, Default)]
pub struct RequestOptions {
    /// srun's, in their order, because srun reads them in that order.
    pub(crate) slurms: Vec<LineOption>,
    /// Those of other plugins. They are accepted, and a note names them.
    pub(crate) foreign: Vec<LineOption>,
    /// berth's own.
    pub(crate) own: OwnRequest,
}

impl RequestOptions {
    /// Adds one of srun's by its long name.
    pub fn add(&mut self, name: &str, value: Option<&str>) {
        if let Lookup::Option(row) = long(Program::Srun, None, name) {
            let value = value.map(String::from);
            self.slurms.push(LineOption::typed(row.name(), value));
        }
    }
}

impl Args for RequestOptions {
    fn augment_args(command: Command) -> Command {
        let foreign =
            |row: &'static Foreign| taking(Arg::new(row.name).long(row.name).hide(true), row.takes);
        let command = command.args(rows().map(argument));
        let command = command.args(all_foreign().map(foreign));
        command.args(Own::ALL.map(own_argument))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for RequestOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut slurms = Vec::new();
        for row in rows().filter(|row| matches.contains_id(row.typed)) {
            let places = matches.indices_of(row.typed).into_iter().flatten();
            let values = matches.get_many::<String>(row.typed);
            for (at, value) in places.zip(values.into_iter().flatten()) {
                let value = Some(value.clone()).filter(|_| row.takes != Takes::Nothing);
                slurms.push((at, LineOption::typed(row.typed, value)));
            }
        }
        slurms.sort_by_key(|(at, _)| *at);
        let foreign = all_foreign().filter(|row| matches.contains_id(row.name));
        let foreign = foreign.map(|row| LineOption {
            foreign: Some(row),
            ..LineOption::typed(row.name, matches.get_one(row.name).cloned())
        });
        let mut own = OwnRequest::default();
        for option in Own::ALL {
            let all = matches.get_many::<String>(option.name);
            if let Some(text) = all.and_then(|mut all| all.next_back()) {
                let read = own.set(option, text);
                read.map_err(|why| Error::raw(clap::error::ErrorKind::InvalidValue, why))?;
            }
        }
        Ok(Self {
            slurms: slurms.into_iter().map(|(_, option)| option).collect(),
            foreign: foreign.collect(),
            own,
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
