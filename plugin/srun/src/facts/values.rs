//! The spellings of values, numbers and lists.

use berth_placement::{CpuBind, Level, MemBind};

use super::{of_each, or_none, or_refused};
use crate::facts_text::hold;
use crate::node_lists::{Most, each_node, expand};
use crate::number::{is_missing, megabytes, scaled, whole};
use crate::release::Release;
use crate::spelling::{Hints, cpu_bind, distribution, hints, mem_bind, mem_bind_into, node_info};

#[test]
fn spellings() {
    hold(include_str!("spelling.txt"), |about, text| {
        let (option, release) = about.split_once(' ').unwrap_or((about, "26.05"));
        let release = release.parse().unwrap();
        match option {
            "cpu-bind" => or_refused(cpu_bind(text, release).map(|bind| {
                let verbose = if bind.verbose { " verbose" } else { "" };
                let default = if bind == CpuBind::default() {
                    " (default)"
                } else {
                    ""
                };
                format!("{bind}{verbose}{default}")
            })),
            "mem-bind" => memory(text, release),
            "distribution" => or_refused(distribution(text)),
            "node-info" => or_refused(node_info(text).map(|found| {
                let field =
                    |least: Option<u32>| least.map_or("-".into(), |count| count.to_string());
                let level = found
                    .level
                    .map_or("None".into(), |level| format!("{level:?}"));
                format!("{} {level}", found.least.map(field).join(":"))
            })),
            "hints" => or_refused(hints(text).map(|found| words_of(&found))),
            _ => panic!("{option}"),
        }
    });
}

/// The memory policy of one option, or of several with a `+` between them.
fn memory(text: &str, release: Release) -> String {
    let mut texts = text.split(" + ");
    let first = mem_bind(texts.next().unwrap_or_default(), release);
    let all = first.and_then(|mut bind| {
        for text in texts {
            mem_bind_into(&mut bind, text, release)?;
        }
        Ok(bind)
    });
    or_refused(all.map(|bind| {
        let verbose = if bind.verbose { " verbose" } else { "" };
        let sort = if bind.sort { " sort" } else { "" };
        let default = if bind == MemBind::default() {
            " (default)"
        } else {
            ""
        };
        format!("{bind}{verbose}{sort}{default}")
    }))
}

fn words_of(found: &Hints) -> String {
    let threads = found.threads_per_core.map(or_none);
    let one_thread = or_none(found.one_thread);
    let words = [
        (
            threads.is_some(),
            format!("threads-per-core={}", threads.unwrap_or_default()),
        ),
        (
            found.one_thread.is_some(),
            format!("one-thread={one_thread}"),
        ),
        (found.levels.has(Level::Threads), "threads".into()),
        (found.levels.has(Level::Cores), "cores".into()),
        (found.levels.has(Level::Sockets), "sockets".into()),
        (found.any_node, "any-node".into()),
        (found.any_tasks_per_core, "any-tasks-per-core".into()),
        (found.one_core_a_socket, "one-core-a-socket".into()),
    ];
    let set = words.into_iter().filter(|(is_set, _)| *is_set);
    set.map(|(_, word)| word).collect::<Vec<_>>().join(" ")
}

#[test]
fn numbers_and_lists() {
    const SOME: Most = Most {
        names: 1000,
        bytes: 100_000,
    };
    hold(include_str!("numbers.txt"), |about, text| match about {
        "whole" | "positive" => of_each("22.05 26.05", |release| {
            or_none(whole(text, about == "positive", release))
        }),
        "scaled" => {
            let (number, rest) = scaled(text);
            format!("{number} {rest}")
        }
        "missing" => is_missing(text).to_string(),
        "megabytes" => or_none(megabytes(text)),
        "hosts" => or_refused(expand(text, SOME).map(|names| names.join(" "))),
        "runs" => or_none(each_node(text).map(|runs| {
            let counts: Vec<_> = runs.each().map(|count| count.to_string()).collect();
            format!("{}: {}", counts.join(" "), runs.sum())
        })),
        "release" => or_none(text.parse::<Release>().ok()),
        _ => panic!("{about}"),
    });
}
