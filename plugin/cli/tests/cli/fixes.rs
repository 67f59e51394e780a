//! The documentation of the named fixes, run: every request in it, both answers,
//! and that each fix has its section.

use berth_placement::Fix;

use crate::run::{Done, command, root};

const PAGE: &str = include_str!("../../../../docs/administrators/fixes.md");

fn masks(request: &str, rest: &[&str]) -> String {
    let mut words = shlex::split(request).unwrap();
    words.extend(rest.iter().map(ToString::to_string));
    // Machine files of the page are named from the top.
    let mut plan = command();
    plan.current_dir(root());
    plan.args(["plan", "--format", "masks", "--cores=all"]);
    let done = Done::of(plan.args(words).output().unwrap());
    match done.code {
        0 => done.stdout.trim().to_string(),
        1 => "refused".into(),
        _ => panic!("{request}: {done:?}"),
    }
}

#[test]
fn every_fix_has_its_section() {
    let sections: Vec<_> = PAGE
        .lines()
        .filter_map(|line| line.strip_prefix("## "))
        .collect();
    let names: Vec<_> = Fix::table().map(|(_, name, _)| name).collect();
    assert_eq!(sections, names);
}

#[test]
fn every_answer_in_the_page_is_given() {
    let mut section = "";
    let mut request = "";
    let mut answers = 0;
    for line in PAGE.lines() {
        if let Some(name) = line.strip_prefix("## ") {
            section = name;
        } else if let Some(text) = line.strip_prefix("request ") {
            request = text.trim();
        } else if let Some(text) = line.strip_prefix("task/affinity  ") {
            assert_eq!(masks(request, &["--compat", "affinity"]), text, "{request}");
            // Switching that fix alone off restores it.
            let off = format!("--fixes=-{section}");
            assert_eq!(masks(request, &[&off]), text, "{request} {off}");
            answers += 1;
        } else if let Some(text) = line.strip_prefix("berth          ") {
            assert_eq!(masks(request, &[]), text, "{request}");
            answers += 1;
        }
    }
    assert!(
        answers >= 22,
        "only {answers} answers were found in the page"
    );
}
