//! Answers that PRRTE itself gave; the file says how. Every one is replayed.

use berth_placement::*;

use super::machines::{answer, machine, set};

const RECORDED: &str = include_str!("recorded.txt");

#[test]
fn the_answers_are_those_of_prrte() {
    let mut here: Option<Machine> = None;
    let (mut parts, mut name, mut cases) = (Vec::new(), "", 0);
    for line in RECORDED.lines().filter(|line| !line.starts_with('#')) {
        if let Some(next) = line.strip_prefix("machine ") {
            (parts, name, here) = (Vec::new(), next, None);
        } else if let Some((case, expected)) = line.split_once(" = ") {
            let here = here.get_or_insert_with(|| machine(parts.iter().copied()));
            let (own, rest) = case.split_once(" -n").unwrap();
            let (tasks, words) = rest.split_once(' ').unwrap();
            let own = Allocation::Cpus(set(own));
            let found = answer(here, tasks.parse().unwrap(), words, own);
            // A refusal's words are berth's own.
            let found = if found.starts_with("refused") {
                "refused"
            } else {
                &found
            };
            assert_eq!(found, expected, "{name}: {case}");
            cases += 1;
        } else if !line.is_empty() {
            parts.push(line);
        }
    }
    assert!(cases >= 500, "{cases}");
}
