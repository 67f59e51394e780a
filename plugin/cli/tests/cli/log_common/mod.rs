//! The lines that the code logs, for tests that compare them with pages.

use std::fs;
use std::path::Path;

/// Source files of a folder that are no tests.
fn sources(folder: &Path, all: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && name != "tests" {
            sources(&path, all);
        } else if name.ends_with(".rs") && !name.ends_with("tests.rs") {
            let text = fs::read_to_string(&path).unwrap();
            let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
            all.push(code.into());
        }
    }
}

/// The source files whose code may log.
pub fn code() -> Vec<String> {
    let mut all = Vec::new();
    for folder in [
        "plugin/src",
        "plugin/host/src",
        "plugin/node/src",
        "plugin/site/src",
        "plugin/placement/src",
        "bindings/src",
    ] {
        sources(
            &Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("../..")
                .join(folder),
            &mut all,
        );
    }
    assert!(all.len() > 100);
    all
}

/// The text of a string literal that begins here, with its continuation lines joined.
pub fn literal(code: &str) -> String {
    let (mut text, mut letters) = (String::new(), code.chars());
    while let Some(letter) = letters.next() {
        match letter {
            '"' => break,
            '\\' => match letters.next() {
                Some('\n') => {
                    let rest = letters.as_str().trim_start();
                    letters = rest.chars();
                }
                Some('n') => text.push(' '),
                Some(other) => text.push(other),
                None => {}
            },
            other => text.push(other),
        }
    }
    text
}

/// What stands between placeholders that begin and end with these letters.
pub fn fixed(text: &str, begin: char, end: char) -> Vec<String> {
    let (mut parts, mut rest) = (Vec::new(), text);
    while let Some(at) = rest.find(begin) {
        parts.push(rest[..at].to_string());
        rest = rest[at..].split_once(end).map_or("", |(_, rest)| rest);
    }
    parts.push(rest.into());
    let trimmed = parts
        .iter()
        .map(|part| part.trim_matches([' ', '"']).to_string());
    trimmed.filter(|part| part.len() >= 2).collect()
}

/// Whether parts stand in a text one behind the other.
pub fn in_order(text: &str, parts: &[String]) -> bool {
    let mut rest = text;
    parts.iter().all(|part| match rest.find(part.as_str()) {
        Some(at) => {
            rest = &rest[at + part.len()..];
            true
        }
        None => false,
    })
}
