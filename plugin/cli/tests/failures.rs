//! The administrators' page of failures quotes lines of the log. Each is a line of the man page, which another test
//! compares with the code (man.rs), and every error that ends a node's bindings has its row.

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

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
