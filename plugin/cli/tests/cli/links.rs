//! What the pages link to is there: files, headings, and the source files that they name.

use crate::run::root;
use std::fs;
use std::path::{Path, PathBuf};

/// Every file below a folder, but nothing that was built.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap_or_default();
        if path.is_dir() && !path.is_symlink() {
            if name != "target" && !name.to_string_lossy().starts_with('.') {
                files(&path, found);
            }
        } else {
            found.push(path);
        }
    }
}

fn pages(all: &[PathBuf]) -> Vec<(&PathBuf, String)> {
    let pages = all
        .iter()
        .filter(|path| path.extension().is_some_and(|kind| kind == "md"));
    let read = |path| (path, fs::read_to_string(path).unwrap());
    let pages: Vec<_> = pages.map(read).collect();
    assert!(pages.len() >= 12, "only {} pages were found", pages.len());
    pages
}

/// A heading as the last part of a link to it.
fn anchor(heading: &str) -> String {
    let heading = heading.trim_start_matches('#').trim().to_lowercase();
    let letters = heading
        .chars()
        .filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    letters.map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[test]
fn every_link_leads_to_a_file_and_a_heading() {
    let mut all = Vec::new();
    files(&root(), &mut all);
    let mut broken = Vec::new();
    for (page, text) in pages(&all) {
        for link in text.split("](").skip(1) {
            let target = link.split(')').next().unwrap_or_default();
            if target.contains("://") {
                continue;
            }
            let (path, heading) = target.split_once('#').unwrap_or((target, ""));
            let path = match path {
                "" => page.clone(),
                path => page.with_file_name(path),
            };
            let is_there = match heading {
                "" => path.exists(),
                heading => fs::read_to_string(&path).is_ok_and(|text| {
                    let mut headings = text.lines().filter(|line| line.starts_with('#'));
                    headings.any(|line| anchor(line) == heading)
                }),
            };
            if !is_there {
                broken.push(format!("{}: {target}", page.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn every_source_file_that_a_page_names_is_there() {
    let mut all = Vec::new();
    files(&root(), &mut all);
    let mut broken = Vec::new();
    let mut names = 0;
    for (page, text) in pages(&all) {
        for word in text.split('`').skip(1).step_by(2) {
            let is_name = word.ends_with(".rs") && !word.contains(['*', ' ']);
            if is_name {
                names += 1;
                if !all.iter().any(|file| file.ends_with(word)) {
                    broken.push(format!("{}: {word}", page.display()));
                }
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
    assert!(names > 60, "only {names} names were found");
}

/// Words of a page without the marks around them.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let outside = |c: char| !c.is_alphanumeric() && !"-_./".contains(c);
    let words = text.split(move |c: char| c.is_whitespace() || "`()[]\"'|=#".contains(c));
    words.map(move |word| word.trim_matches(outside).trim_end_matches(['.', '/']))
}

#[test]
fn every_program_and_file_of_the_tree_that_a_page_names_is_there() {
    const FOLDERS: [&str; 7] = [
        "ci/",
        "packaging/",
        "slurm-conf-examples/",
        "tests/",
        "plugin/",
        "docs/",
        "bindings/",
    ];
    let mut all = Vec::new();
    files(&root(), &mut all);
    let (mut broken, mut names) = (Vec::new(), 0);
    for (page, text) in pages(&all) {
        // Old entries name old places.
        if page.ends_with("CHANGELOG.md") {
            continue;
        }
        for word in words(&text) {
            let is_name = FOLDERS.iter().any(|folder| word.starts_with(folder)) && word.is_ascii();
            // "name.xml" stands for a file of the reader's, and a brace or star for several.
            if is_name && !word.contains("name.xml") && !word.contains('*') {
                names += 1;
                let inside = page
                    .parent()
                    .is_some_and(|folder| folder.join(word).exists());
                if !root().join(word).exists() && !inside {
                    broken.push(format!("{}: {word}", page.display()));
                }
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
    assert!(names > 100, "only {names} names were found");
}

/// `ci/vm run --suite trixie`: the script knows the option.
#[test]
fn scripts_know_the_options_that_pages_give_them() {
    let mut all = Vec::new();
    files(&root(), &mut all);
    let (mut unknown, mut options) = (Vec::new(), 0);
    for (page, text) in pages(&all) {
        for line in text.split(['\n', '`']).flat_map(|line| line.split("&&")) {
            let line = line.split(" -- ").next().unwrap_or_default();
            let mut words = line.split_whitespace();
            let script = words.next().unwrap_or_default();
            if !script.starts_with("ci/") && !script.starts_with("packaging/") {
                continue;
            }
            let Ok(code) = fs::read_to_string(root().join(script)) else {
                continue;
            };
            for word in words.filter(|word| word.starts_with("--")) {
                let option = word.split('=').next().unwrap_or(word);
                options += 1;
                if !code.contains(option) {
                    unknown.push(format!("{}: {script} {option}", page.display()));
                }
            }
        }
    }
    assert!(unknown.is_empty(), "{}", unknown.join("\n"));
    assert!(options > 10, "only {options} options were found");
}
