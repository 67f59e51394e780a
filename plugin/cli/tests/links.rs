//! What the pages link to is there: files, headings, and the source files that they name.

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

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
    let kept = heading
        .chars()
        .filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
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
