//! The options that srun and slurmctld derive from a line.

use std::fmt::Debug;

use super::{of_each, or_none, or_refused};
use crate::facts_text::hold;
use crate::line;
use crate::options::Command;
use crate::reading::{Refused, SrunRequest, read, selection};
use crate::release::Release;

fn request(text: &str, release: Release) -> Result<SrunRequest, Refused> {
    let words: Vec<_> = text.split(' ').filter(|word| !word.is_empty()).collect();
    let line = line::read(&words, Command::Srun, Some(release));
    read(&line.options, release)
}

#[test]
fn requests() {
    hold(include_str!("request.txt"), |about, text| {
        let (about, releases) = about.split_once(' ').unwrap_or((about, ""));
        of_each(releases, |release| {
            let found = request(text, release);
            match about {
                "level" => or_refused(found.map(|found| found.cpu_bind)),
                "tasks" => or_refused(found.map(|found| found.tasks())),
                "threads" => or_refused(found.map(|found| or_none(found.threads_per_core))),
                "notes" => or_refused(found.map(|found| match found.notes.is_empty() {
                    true => "none".into(),
                    false => found.notes.join("; "),
                })),
                "request" => or_refused(found.map(|found| changed(&found))),
                "nodes" => or_refused(found.map(|found| {
                    let nodes = found.nodes.unwrap();
                    format!("{}-{}", nodes.least, or_none(nodes.most))
                })),
                "taken" => found.map_or("no".into(), |_| "yes".into()),
                _ => panic!("{about}"),
            }
        })
    });
}

#[test]
fn selections() {
    hold(include_str!("selection.txt"), |_, text| {
        let words: Vec<_> = text.split(' ').filter(|word| !word.is_empty()).collect();
        let line = line::read(&words, Command::Srun, None);
        or_refused(selection::read(&line, Release::V22_05).map(|found| {
            let partition = found.partition.map(|name| format!("partition {name}"));
            let unmodelled = found.unmodelled.into_iter();
            let unmodelled = unmodelled.map(|name| format!("unmodelled {name}"));
            let options = Some(changed(&found.options)).filter(|text| !text.is_empty());
            let parts = options.into_iter().chain(partition).chain(unmodelled);
            parts.collect::<Vec<_>>().join(", ")
        }))
    });
}

/// The fields that are not the default ones.
fn changed<T: Debug + Default>(value: &T) -> String {
    let (found, default) = (fields(value), fields(&T::default()));
    let both = found.into_iter().zip(default);
    let changed = both.filter(|(one, default)| one != default);
    changed.map(|(one, _)| one).collect::<Vec<_>>().join(", ")
}

/// The fields of a structure, each with what is in it.
fn fields(value: &impl Debug) -> Vec<String> {
    let text = format!("{value:#?}");
    let fields = text.trim_end_matches("\n}").split("\n    ").skip(1);
    let mut all: Vec<String> = Vec::new();
    for line in fields {
        match all.last_mut() {
            Some(last) if line.starts_with(' ') || line.starts_with([')', ']', '}']) => {
                *last += line.trim()
            }
            _ => all.push(line.trim().into()),
        }
    }
    let shown = all
        .iter()
        .map(|field| field.trim_end_matches(',').replace(",)", ")"));
    shown
        .map(|field| field.replace(",]", "]").replace(",}", "}"))
        .collect()
}
