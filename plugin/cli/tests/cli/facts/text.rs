//! Reads the files of facts.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::case::Case;

/// What a file has, in its order.
pub enum Step {
    /// Words for the requests below.
    Use,
    File {
        name: String,
        text: String,
    },
    Request(Case),
}

/// The words of the command before those of a request, or around it.
fn words(context: &str, request: &str) -> Vec<String> {
    let split = |text| shlex::split(text).unwrap_or_else(|| panic!("{text}: a quote is open"));
    let words = split(context);
    if context.contains("{}") {
        let words = words.iter().map(|word| word.replace("{}", request));
        return words.collect();
    }
    let own = split(request);
    // Variables of a request stand in front of the command.
    let is_variable = |word: &&String| {
        let name = word.split_once('=').map_or("", |(name, _)| name);
        name.starts_with(|first: char| first.is_ascii_uppercase()) && !word.contains(' ')
    };
    let count = own.iter().take_while(is_variable).count();
    [&own[..count], &words, &own[count..]].concat()
}

/// The files and requests of a text.
pub fn parse(text: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut context = "";
    for (at, line) in text.lines().enumerate() {
        let (kind, rest) = line.split_once(' ').unwrap_or((line, ""));
        match (kind, steps.last_mut()) {
            ("" | "#", _) => {}
            ("use", _) => {
                context = rest;
                steps.push(Step::Use);
            }
            ("file", _) => steps.push(Step::File {
                name: rest.into(),
                text: String::new(),
            }),
            ("|", Some(Step::File { text, .. })) => *text += &format!("{rest}\n"),
            ("$", _) => steps.push(Step::Request(Case::new(at + 1, words(context, rest)))),
            ("<", Some(Step::Request(case))) if case.is_open() => case.input(rest),
            ("<", _) => {
                let mut case = Case::new(at + 1, words(context, ""));
                case.input(rest);
                steps.push(Step::Request(case));
            }
            (_, Some(Step::Request(case))) => case.answer(kind, rest),
            _ => panic!("line {}: {line}", at + 1),
        }
    }
    steps
}

/// Writes a file, which may also be a program.
pub fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}
