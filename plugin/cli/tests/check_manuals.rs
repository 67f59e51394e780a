//! Lines and scripts from the manuals of computing centres: no alarm where there is no trap, and each
//! trap is named, under the release lines that they may run on.

mod check_common;

use check_common::rules;

/// One of the collection.
struct Entry {
    name: &'static str,
    whole: bool,
    /// A release line and the rules that hold there, in alphabetical order.
    expected: [(&'static str, Vec<&'static str>); 2],
    text: String,
}

fn entries() -> Vec<Entry> {
    let all = include_str!("../../../tests/check-manuals.txt");
    let entry = |part: &'static str| {
        let (head, text) = part.split_once('\n').unwrap();
        let fields: Vec<_> = head.split(" | ").collect();
        let [name, newer, older] = fields[..] else {
            panic!("{head}: three fields are expected")
        };
        let rules = |field: &'static str| match field {
            "clean" => Vec::new(),
            field => field.split(' ').collect(),
        };
        Entry {
            name: name.split(' ').next().unwrap(),
            whole: name.ends_with(" whole"),
            expected: [("24.11", rules(newer)), ("22.05", rules(older))],
            text: text.into(),
        }
    };
    all.split("\n== ").skip(1).map(entry).collect()
}

#[test]
fn each_trap_is_named_and_nothing_else() {
    let entries = entries();
    assert!(entries.len() >= 100, "{} lines and scripts", entries.len());
    let mut wrong = Vec::new();
    for entry in &entries {
        for (release, expected) in &entry.expected {
            let slurm = format!("--slurm={release}");
            let mut words = vec![slurm.as_str()];
            words.extend(entry.whole.then_some("--site=exclusive"));
            words.push("-");
            let (mut found, _) = rules(&words, &entry.text);
            found.sort();
            if found != *expected {
                wrong.push(format!(
                    "{} {release}: {found:?}, not {expected:?}",
                    entry.name
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_collection_has_clean_ones_and_many_traps() {
    let entries = entries();
    let clean = entries
        .iter()
        .filter(|entry| entry.expected[0].1.is_empty())
        .count();
    let all = entries
        .iter()
        .flat_map(|entry| &entry.expected)
        .flat_map(|(_, rules)| rules);
    let traps: std::collections::BTreeSet<_> = all.collect();
    assert!(clean >= 100 && traps.len() >= 10, "{clean} {traps:?}");
}
