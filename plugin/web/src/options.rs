//! The options of a line with their help and values, from the definitions that the command's help has: the page offers
//! them while somebody types.

use berth_answer::reader;
use clap::Arg;
use serde::Serialize;

/// An option.
#[derive(Serialize)]
pub(crate) struct Offer {
    long: Option<String>,
    short: Option<char>,
    /// The name of its value; absent where it has none.
    value: Option<String>,
    /// Whether the value may be left out.
    optional: bool,
    help: String,
    /// The chapter of the help.
    chapter: Option<String>,
    values: Vec<Choice>,
}

/// A value that it may have.
#[derive(Serialize)]
struct Choice {
    word: String,
    help: String,
}

/// Every option, in the order of the help.
pub(crate) fn all() -> Vec<Offer> {
    let command = reader::command();
    let options = command.get_arguments().filter(|one| !one.is_positional());
    options.map(offer).collect()
}

fn offer(option: &Arg) -> Offer {
    let names = option.get_value_names().unwrap_or_default();
    let takes = option.get_action().takes_values();
    let choice = |value: clap::builder::PossibleValue| Choice {
        word: value.get_name().into(),
        help: value
            .get_help()
            .map(ToString::to_string)
            .unwrap_or_default(),
    };
    Offer {
        long: option.get_long().map(String::from),
        short: option.get_short(),
        value: takes.then(|| names.iter().map(ToString::to_string).collect()),
        optional: option
            .get_num_args()
            .is_some_and(|count| count.min_values() == 0),
        help: option
            .get_help()
            .map(ToString::to_string)
            .unwrap_or_default(),
        chapter: option.get_help_heading().map(String::from),
        values: option
            .get_possible_values()
            .into_iter()
            .map(choice)
            .collect(),
    }
}
