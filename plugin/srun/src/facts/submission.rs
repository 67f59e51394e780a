//! Facts about the checks of the submitting command.

use berth_placement::request::mapping::{Mapping, MappingTexts};

use super::or_none;
use crate::conf::Config;
use crate::facts_text::hold;
use crate::line;
use crate::options::{Command, Own};
use crate::release::Release;
use crate::submission::cpuset::{
    is_part_of_job, little_choice, ncpus_of, needs_one_node, never_fits, other_than_job,
};
use crate::submission::own_values::{Typed, counts_beside, two_values, value};
use crate::submission::{Words, directives, never_fits as too_large};

/// A line's words, with those of the script behind a `<`.
fn words(text: &str, release: Release) -> Words {
    let (line, script) = text.split_once(" < ").unwrap_or((text, ""));
    let (command, words) = line.split_once(' ').unwrap_or((line, ""));
    Words::read(command, words.split(' '), release).with_script(script)
}

/// A variable's value in words `NAME=VALUE`.
fn variable(words: &str, name: &str) -> Option<String> {
    let mut pairs = words.split(' ').filter_map(|word| word.split_once('='));
    let (_, value) = pairs.find(|(known, _)| *known == name)?;
    Some(value.to_string())
}

#[test]
fn submissions() {
    let conf = "SelectType=select/cons_tres\nNodeName=n1 CPUs=4\nPartitionName=plain Nodes=n1 Default=YES\n\
                PartitionName=whole Nodes=n1 OverSubscribe=EXCLUSIVE\n";
    let config = Config::read("slurm.conf", conf, &mut |_| Err(String::new())).unwrap();
    hold(include_str!("submission.txt"), |about, text| {
        let (about, given) = about.split_once(' ').unwrap_or((about, ""));
        let env = |name: &str| variable(given, name);
        let most = |words: &Words| or_none(words.most_cpus_per_task(env));
        match about {
            "words" => {
                let (release, _) = given.split_once(' ').unwrap_or((given, ""));
                let words = words(text, release.parse().unwrap());
                let program = words.program.as_deref().unwrap_or("-");
                let tasks = or_none(words.tasks(env));
                let overlap = if words.has("overlap") {
                    ", overlap"
                } else {
                    ""
                };
                format!("{tasks} tasks × {}, {program}{overlap}", most(&words))
            }
            "more" => {
                let words = words(text, Release::NEWEST);
                let more = words.may_get_more(&config, env);
                let before = most(&words);
                let after = most(&words.where_jobs_may_get_more());
                format!("{more}, {before} then {after}")
            }
            "too-large" => {
                let (binding, line) = text.split_once(' ').unwrap();
                let words = words(line, Release::NEWEST);
                or_none(too_large::why(&binding.parse().unwrap(), &words, env))
            }
            "mapping" => {
                let (map, line) = text.split_once(' ').unwrap();
                let texts = MappingTexts {
                    map: Some(map),
                    ..MappingTexts::default()
                };
                let mapping = Mapping::read(texts).unwrap().unwrap();
                or_none(too_large::mapping(
                    &mapping,
                    &words(line, Release::NEWEST),
                    env,
                ))
            }
            "directives" => directives_of(text),
            _ => panic!("{about}"),
        }
    });
}

/// The words of the directives of a script, where they stand, and what else is known of each.
fn directives_of(script: &str) -> String {
    let shown = directives(script.as_bytes()).into_iter().map(|found| {
        let words = found.words.iter();
        let words = words.map(|word| format!("|{}|{:?}", word.text, word.range));
        let component = if found.begins_component {
            " component"
        } else {
            ""
        };
        let unclosed = if found.is_unclosed { " unclosed" } else { "" };
        let words = words.collect::<Vec<_>>().join(" ");
        format!("{} {words}{component}{unclosed}", found.line)
    });
    shown.collect::<Vec<_>>().join("; ")
}

#[test]
fn cpusets() {
    hold(include_str!("cpuset.txt"), |about, text| {
        let (request, rest) = text.split_once(" | ").unwrap_or(("", text));
        let read = || request.parse().unwrap();
        let words = || words(rest, Release::NEWEST);
        match about {
            "count" => or_none(ncpus_of(&words(), |_| None)),
            "never" => or_none(never_fits(&read(), &words(), |_| None)),
            "one-node" => needs_one_node(&read(), &words(), |_| None).to_string(),
            "choice" => or_none(little_choice(&read(), &words())),
            "other" => or_none(other_than_job(request, rest)),
            "part" => {
                let (counted, owned) = rest.split_once(" of ").unwrap();
                let env = |name: &str| {
                    assert_eq!(name, "SLURM_JOB_CPUS_PER_NODE");
                    Some(owned.to_string()).filter(|owned| owned != "unknown")
                };
                is_part_of_job(&read(), counted.parse().ok(), env).to_string()
            }
            _ => panic!("{about}"),
        }
    });
}

/// The variable that a word stands for: `outer.` and an option's name, or its sure one, or `mark.` and its name.
fn name_of(word: &str) -> String {
    let own = |name: &str| Own::named(name).unwrap();
    match word.split_once('.') {
        Some(("outer", name)) => match name.strip_prefix("berth-") {
            Some(name) => own(name).routed_sure.to_string(),
            None => own(name).routed.to_string(),
        },
        Some(("mark", name)) => own(name).mark.to_string(),
        _ => own(word).variable.to_string(),
    }
}

#[test]
fn values_of_own_options() {
    hold(include_str!("own_values.txt"), |about, text| {
        if about == "two" {
            let words: Vec<_> = text.split(' ').collect();
            return or_none(two_values(&line::read(&words, Command::Srun, None).options));
        }
        let (option, set) = text.split_once(" |").unwrap_or((text, ""));
        let mut words = option.split(' ');
        let own = Own::named(words.next().unwrap()).unwrap();
        let typed: Vec<_> = words
            .map(|word| {
                let (name, value) = word.trim_start_matches('-').split_once('=').unwrap();
                Typed::of(Own::named(name).unwrap(), value)
            })
            .collect();
        if about == "beside" {
            return counts_beside(own, &typed).to_string();
        }
        let pairs = || set.split(' ').filter_map(|word| word.split_once('='));
        let env = |name: &str| {
            let (_, value) = pairs().find(|(word, _)| name_of(word) == name)?;
            Some(value.to_string())
        };
        let found = value(own, &typed, env).map(|(name, value)| {
            let (word, _) = pairs().find(|(word, _)| name_of(word) == name).unwrap();
            format!("{word}={value}")
        });
        or_none(found)
    });
}
