//! The administrators' page of failures quotes lines of the log. Each is a line of the man page, which another test
//! compares with the code (man.rs), every error that ends a node's bindings has its row, and a row names the level of a
//! line that is not in every log.

use crate::run::root;
use std::fs;

use crate::log_common::{code, fixed, in_order, literal};

/// The log lines of task_berth(8).
fn of_manual() -> Vec<String> {
    let page = fs::read_to_string(root().join("plugin/man/task_berth.8")).unwrap();
    let lines = page.split(".Sh LOG LINES").nth(1).unwrap();
    let lines = lines.split(".Sh EXAMPLES").next().unwrap().lines();
    let items = lines.filter_map(|line| line.strip_prefix(".It Sy \"")?.strip_suffix('"'));
    items.map(str::to_owned).collect()
}

/// What the page's rows quote, and their number of cells.
fn of_page() -> Vec<(String, usize)> {
    let page = fs::read_to_string(root().join("docs/administrators/failures.md")).unwrap();
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `"));
    rows.map(|row| {
        let quoted = row.split('`').next().unwrap().to_owned();
        (quoted, row.matches(" | ").count() + 1)
    })
    .collect()
}

#[test]
fn every_line_of_the_page_is_in_the_log() {
    let (manual, page) = (of_manual(), of_page());
    assert!(page.len() > 50, "only {} rows were found", page.len());
    for (line, cells) in &page {
        assert!(
            manual.iter().any(|item| item.contains(line.as_str())),
            "no line of the log: {line}"
        );
        assert_eq!(*cells, 4, "{line}");
    }
}

#[test]
fn whatever_keeps_a_node_or_step_from_its_binding_has_a_row() {
    let page = of_page();
    let ends = [
        "is bound here",
        "binds nothing",
        "without placement",
        "internal error",
        "in force",
    ];
    let mut count = 0;
    for item in of_manual() {
        if ends.iter().any(|end| item.contains(end)) {
            count += 1;
            let row = page.iter().any(|(line, _)| item.contains(line.as_str()));
            assert!(
                row,
                "docs/administrators/failures.md has no row for: {item}"
            );
        }
    }
    assert!(count > 10, "only {count} such lines were found");
}

/// The texts that the code logs by this macro.
fn logged(call: &str) -> Vec<String> {
    let mut texts = Vec::new();
    for code in code() {
        let calls = code.match_indices(call).map(|(at, _)| at + call.len());
        let texts_of = calls.filter_map(|at| code[at..].trim_start().strip_prefix('"'));
        texts.extend(texts_of.map(literal));
    }
    texts
}

/// No log has lines of the level debug unless somebody asks for them.
#[test]
fn a_row_names_the_level_of_a_line_that_few_logs_have() {
    let page = fs::read_to_string(root().join("docs/administrators/failures.md")).unwrap();
    let debug = logged("log::debug!(");
    assert!(debug.len() > 10, "{debug:?}");
    let louder = ["log::info!(", "log::warn!(", "log::error!("];
    let louder: Vec<_> = louder.into_iter().flat_map(logged).collect();
    let mut count = 0;
    for row in page.lines().filter(|line| line.starts_with("| `")) {
        let line = row.split('`').nth(1).unwrap();
        let parts = fixed(line, '<', '>');
        let has = |texts: &[String]| texts.iter().any(|text| in_order(text, &parts));
        if has(&debug) && !has(&louder) {
            count += 1;
            assert!(row.contains("`debug`"), "the row names no level: {row}");
        }
    }
    assert!(count > 0, "no row has a line of that level");
}
