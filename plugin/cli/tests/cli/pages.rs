//! What the documentation shows of the command is what it prints: each `$ berth …` line in README and the book
//! is run, and the lines below it compared. `BERTH_PAGES=write cargo test -p berth-cli --test cli pages::`
//! writes what is printed now into the pages. Lines that need a cluster or this very machine stand in
//! blocks marked `text`, and are not run.

use crate::page_lines;
use crate::run::root;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Pictures of the pages, and the options that draw them.
const PICTURES: &[(&str, &str)] = &[
    (
        "docs/pictures/before.svg",
        "plan --machine 'pack:2 numa:2 core:8 pu:1' --site exclusive --format svg 'srun -n 8 ./app'",
    ),
    (
        "docs/pictures/after.svg",
        "plan --machine 'pack:2 numa:2 core:8 pu:1' --site exclusive --format svg 'srun -n 8 -c 4 ./app'",
    ),
    (
        "docs/pictures/eight-by-four.svg",
        "plan --machine 'pack:2 numa:2 core:8 pu:1' --cores all -n 8 -c 4 --cpu-bind=cores -m block:block --format svg",
    ),
    (
        "docs/pictures/two-by-64.svg",
        "plan --machine 'pack:2 core:64 pu:2' -n 64 -c 2 --cpu-bind=cores --cores 0-99 --format svg",
    ),
    (
        "docs/pictures/two-nodes.svg",
        "plan --machine 'pack:2 numa:2 l3:2 core:4 pu:1' --cores all -N 2 -n 12 -c 4 --cpu-bind=cores -m block:block --format svg",
    ),
    (
        "docs/pictures/did-not-fit.svg",
        "plan --machine 'pack:2 core:4 pu:2' --cores all -n 12 --hint=nomultithread --format svg",
    ),
];

/// What a shell prints for a line, both outputs.
fn run(line: &str) -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_berth"));
    let path = std::env::var("PATH").unwrap();
    let output = Command::new("sh")
        .args(["-c", &format!("{{ {line}; }} 2>&1")])
        .env(
            "PATH",
            format!("{}:{path}", program.parent().unwrap().display()),
        )
        .env("LC_ALL", "C.UTF-8")
        .current_dir(root())
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// A page with every shown line's output as it is now.
fn renewed(page: &str) -> String {
    let mut text = String::new();
    let mut lines = page.lines().peekable();
    let (mut is_inside, mut is_shown) = (false, false);
    while let Some(line) = lines.next() {
        text.push_str(line);
        text.push('\n');
        if line.starts_with("```") {
            is_inside = !is_inside;
            is_shown = is_inside && line == "```";
        }
        let Some(command) = line.strip_prefix("$ berth ").filter(|_| is_shown) else {
            continue;
        };
        while lines
            .peek()
            .is_some_and(|next| !next.starts_with("```") && !next.starts_with("$ "))
        {
            lines.next();
        }
        text.push_str(&run(&format!("berth {command}")));
    }
    text
}

fn compare(path: &Path, now: &str) -> Option<String> {
    if std::env::var("BERTH_PAGES").is_ok_and(|word| word == "write") {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, now).unwrap();
        return None;
    }
    let shown = fs::read_to_string(path).unwrap_or_default();
    let differ = shown
        .lines()
        .zip(now.lines())
        .find(|(shown, now)| shown != now);
    (shown != now).then(|| format!("{}: {differ:?}", path.display()))
}

#[test]
fn pages_show_what_the_command_prints() {
    let mut pages = page_lines::pages(&root().join("docs"));
    assert!(pages.len() > 10, "only {} pages were found", pages.len());
    pages.push(root().join("README.md"));
    let pages = pages.iter().map(|path| {
        let page = fs::read_to_string(path).unwrap();
        compare(path, &renewed(&page))
    });
    let pictures = PICTURES.iter().map(|(name, options)| {
        // What stands on stderr does not belong to the picture: browsers refuse text after its end.
        let picture = run(&format!("berth {options} 2> /dev/null"));
        assert!(picture.trim_end().ends_with("</svg>"), "{name}");
        compare(&root().join(name), &picture)
    });
    let old: Vec<_> = pages.chain(pictures).flatten().collect();
    assert!(old.is_empty(), "{}", old.join("\n"));
}
