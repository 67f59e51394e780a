//! The table of options, and lines.

use super::{of_each, or_none};
use crate::facts_text::hold;
use crate::line::{self, Line, LineOption};
use crate::options::{Command, Foreign, Lookup, foreign, long, passed_by, short, variables};
use crate::release::Release;

#[test]
fn the_table() {
    hold(include_str!("options.txt"), |about, text| {
        let mut about = about.split(' ');
        let mut words = text.split(' ');
        let mut word = || words.next().unwrap_or_default();
        match about.next().unwrap_or_default() {
            "long" => {
                let (command, release) = (command(word()), word().parse().unwrap());
                match long(command, Some(release), word().trim_start_matches('-')) {
                    Lookup::Option(row) => format!("{:?}", row.takes),
                    _ => "None".into(),
                }
            }
            "short" => {
                let row = short(command(word()), None, word().parse().unwrap());
                or_none(row.map(|row| format!("{} {:?}", row.name(), row.takes)))
            }
            "program" => {
                Command::named(text).map_or("None".into(), |command| format!("{command:?}"))
            }
            "abbreviation" => match long(Command::Srun, Some(Release::V22_05), text) {
                Lookup::Option(row) => row.name().to_string(),
                Lookup::Ambiguous(names) => names.join("|"),
                Lookup::Unknown => "-".into(),
            },
            "foreign" => or_none(foreign(text).map(|row| {
                let binds = if Foreign::binds_tasks(row) {
                    " binds tasks"
                } else {
                    ""
                };
                format!("{}{binds}", row.name)
            })),
            "inherits" => of_each("22.05 23.02 23.11", |release| {
                or_none(passed_by(text, release))
            }),
            "variables" => {
                let (of, release) = (about.next().unwrap(), about.next().unwrap());
                let all = variables(command(of), release.parse().unwrap()).map(|(name, _)| name);
                let is_named = |name: &&str| text.split(' ').any(|one| one == *name);
                all.filter(is_named).collect::<Vec<_>>().join(" ")
            }
            other => panic!("{other}"),
        }
    });
}

fn command(name: &str) -> Command {
    Command::named(name).unwrap_or_else(|| panic!("{name} is no command"))
}

#[test]
fn lines() {
    assert_eq!(
        line::read::<&str>(&[], Command::Srun, None),
        Line::default()
    );
    hold(include_str!("line.txt"), |about, text| {
        let words: Vec<_> = text.split(' ').collect();
        let found = line::read(&words, command(about), None);
        let mut shown: Vec<_> = found.options.iter().map(option).collect();
        if found.is_unsure() {
            shown.push("unsure".into());
        }
        shown.push("|".into());
        shown.extend(found.program.iter().cloned());
        if found.more {
            shown.push(": more".into());
        }
        let program = words.len() - found.own_words;
        assert!(found.more || program == found.program.len(), "{text}");
        shown.join(" ")
    });
}

/// An option with its value, the plugin that has it, and why the command refuses it.
fn option(given: &LineOption) -> String {
    let value = given.value.as_deref().unwrap_or("-");
    let plugin = given.foreign.map(|row| format!(" ({})", row.plugin));
    let trouble = given
        .trouble
        .as_ref()
        .map(|trouble| format!(" {trouble:?}"));
    let (plugin, trouble) = (plugin.unwrap_or_default(), trouble.unwrap_or_default());
    format!("{}={value}{plugin}{trouble}", given.name)
}
