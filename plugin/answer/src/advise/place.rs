//! The options that say where a request is planned, taken from the words that were typed: a command
//! that plans one of the lines again repeats them. Pure.

use std::ffi::OsString;

use clap::{Arg, Command};

use crate::reader::awaits_value;

/// The headings of `berth plan --help` with the options of the place.
const HEADINGS: [&str; 3] = ["Machine", "Cluster", "Rules"];

/// The words of the place among those behind `advise`.
pub(super) fn place(words: &[String], command: &Command) -> Vec<String> {
    let mut kept = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let Some(option) = word.strip_prefix("--") else {
            continue;
        };
        let name = option.split('=').next().unwrap_or(option);
        let is_place = |arg: &Arg| {
            let heading = arg.get_help_heading().unwrap_or_default();
            arg.get_long() == Some(name) && HEADINGS.contains(&heading)
        };
        let is_place = command.get_arguments().any(is_place);
        let value = match option.contains('=') {
            false if awaits_value(command, &OsString::from(word)) => words.next(),
            _ => None,
        };
        if is_place {
            kept.push(word.clone());
            kept.extend(value.cloned());
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_says_where_stays() {
        let typed = "-n 8 --machine x.xml -c2 --for gpu --whole --lines=2 --job --whole --cores=all --site exclusive \
                     --mem-bind local --core-kind any --format json --slurm 22.05 --cluster f --exact";
        let words: Vec<_> = typed.split_whitespace().map(String::from).collect();
        let kept = place(&words, &crate::reader::command());
        assert_eq!(
            kept.join(" "),
            "--machine x.xml --job --whole --cores=all --site exclusive --slurm 22.05 --cluster f"
        );
    }
}
