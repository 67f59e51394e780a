//! Tables of `berth plan` and `berth tune --dry-run`, kept as files in `golden/`: a change of any is seen in review.
//! Each file begins with its command. For another table write a file with that line alone below the two `---`.
//! Rewritten on request only: `INSTA_UPDATE=always cargo test -p berth-cli --test cli golden::`.

use std::fs;

use crate::run::{berth, root};

/// The name of each file, and its command.
fn commands() -> Vec<(String, String)> {
    let folder = fs::read_dir(root().join("plugin/cli/tests/cli/golden")).unwrap();
    let paths = folder.map(|entry| entry.unwrap().path());
    let mut found: Vec<_> = paths
        .filter(|path| path.extension().is_some_and(|end| end == "snap"))
        .map(|path| {
            let text = fs::read_to_string(&path).unwrap();
            let mut lines = text.lines();
            let command = lines.find_map(|line| line.strip_prefix("$ berth "));
            let name = path.file_stem().unwrap().to_string_lossy();
            (name.into_owned(), command.unwrap().to_owned())
        })
        .collect();
    found.sort();
    found
}

#[test]
fn tables_are_as_they_were() {
    let commands = commands();
    assert!(commands.len() >= 79, "{commands:?}");
    for (name, command) in commands {
        let words = shlex::split(&command).unwrap();
        let words: Vec<_> = words.iter().map(String::as_str).collect();
        let done = berth(&words, "");
        let (code, stdout, stderr) = (done.code, done.stdout, done.stderr);
        let shown = format!("$ berth {command}\n{stdout}{stderr}exit code {code}\n");
        insta::with_settings!({
            snapshot_path => "golden",
            prepend_module_to_snapshot => false,
            omit_expression => true,
        }, {
            insta::assert_snapshot!(name, shown);
        });
    }
}
