//! The man pages: complete, in order for mandoc and groff, and in step with the code.

use crate::run::{self, root};
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::log_common::{code, fixed, in_order, literal};

fn berth(words: &[&str]) -> String {
    let done = run::berth(words, "");
    assert_eq!(done.code, 0, "{words:?}: {}", done.stderr);
    done.stdout
}

/// A page of `plugin/man`.
fn by_hand(name: &str) -> String {
    fs::read_to_string(root().join("plugin/man").join(name)).unwrap()
}

/// A page as a reader sees it, in one line without layout. mandoc need not be installed.
fn plain(page: &str) -> String {
    let mut text = page
        .replace("\\(dq", "\"")
        .replace("\\*(Aq", "'")
        .replace("\\&", "")
        .replace("\\-", "-");
    for font in ["\\fB", "\\fI", "\\fR"] {
        text = text.replace(font, "");
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Every page, in a folder.
fn pages() -> (tempfile::TempDir, Vec<PathBuf>) {
    let folder = tempfile::tempdir().unwrap();
    berth(&["man", &folder.path().to_string_lossy()]);
    let found = fs::read_dir(folder.path()).unwrap();
    let mut found: Vec<_> = found.map(|entry| entry.unwrap().path()).collect();
    found.sort();
    (folder, found)
}

/// Words of a help text that begin with two dashes.
fn options(help: &str) -> Vec<String> {
    let first = |line: &str| {
        let line = line.trim_start();
        let name = line.split("--").nth(1).filter(|_| line.starts_with('-'))?;
        let end = name.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-');
        Some(format!("--{}", &name[..end.unwrap_or(name.len())]))
    };
    help.lines().filter_map(first).collect()
}

#[test]
fn every_subcommand_has_a_page_with_every_option() {
    let (folder, found) = pages();
    let names: Vec<_> = found
        .iter()
        .map(|path| path.file_name().unwrap().to_string_lossy())
        .collect();
    for name in ["berth.1", "berth-plan.1", "berth-binding.7", "task_berth.8"] {
        assert!(
            names.iter().any(|found| found == name),
            "{name} in {names:?}"
        );
    }
    for name in names
        .iter()
        .filter_map(|name| name.strip_suffix(".1")?.strip_prefix("berth-"))
    {
        let page = fs::read_to_string(folder.path().join(format!("berth-{name}.1"))).unwrap();
        let page = plain(&page);
        let help = berth(&[name, "--help"]);
        let all = options(&help);
        assert!(all.len() >= 2, "{name}: {help}");
        for option in all {
            assert!(
                page.contains(&format!("{option} ")) || page.contains(&format!("{option}[")),
                "{name}: {option}"
            );
        }
        for example in help
            .lines()
            .filter_map(|line| line.strip_prefix("  berth "))
        {
            let example: String = example.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(page.contains(&example), "{name}: {example}");
        }
        assert!(
            page.contains(".SH EXAMPLES") && page.contains(".nf"),
            "{name}"
        );
    }
}

#[test]
fn options_are_described_with_their_values() {
    let (folder, _) = pages();
    let page = plain(&fs::read_to_string(folder.path().join("berth-plan.1")).unwrap());
    for text in [
        "map_cpu:LIST: CPU numbers",
        "compute_bound",
        "block:fcyclic",
        "striding:AMOUNT:STEP",
        "threads-last",
        "numa_node_as_socket",
        "22.05 23.02 23.11",
        "EXIT STATUS",
        "ACCEPTED AND IGNORED",
        "--partition, --",
    ] {
        assert!(page.contains(text), "{text}: {page}");
    }
    // No option stands without a word about it.
    for option in page.split(" .TP ").skip(1) {
        let words = option.split(' ').count();
        assert!(words > 2, "{option}");
    }
}

#[test]
fn a_page_has_the_variables_that_its_command_reads() {
    let (folder, _) = pages();
    for (variable, readers) in [
        ("NO_COLOR", &["plan", "topo"][..]),
        ("SLURM_HOSTFILE", &["plan", "tune"]),
        ("LC_ALL", &["plan", "topo", "tune", "status"]),
    ] {
        for name in ["plan", "topo", "tune", "status"] {
            let page = fs::read_to_string(folder.path().join(format!("berth-{name}.1"))).unwrap();
            let page = plain(&page);
            let variables = between(&page, "ENVIRONMENT", ".SH");
            assert_eq!(
                variables.contains(variable),
                readers.contains(&name),
                "{variable}: {page}"
            );
        }
    }
}

fn is_there(program: &str) -> bool {
    let which = ["-c", "command -v \"$0\" > /dev/null", program];
    Command::new("sh")
        .args(which)
        .status()
        .is_ok_and(|done| done.success())
}

#[test]
fn mandoc_and_groff_find_nothing_wrong() {
    let (_folder, found) = pages();
    for page in found {
        if is_there("mandoc") {
            let done = Command::new("mandoc")
                .args(["-Tlint", "-Wwarning"])
                .arg(&page)
                .output()
                .unwrap();
            let stdout = String::from_utf8_lossy(&done.stdout).into_owned();
            assert!(done.status.success(), "{stdout}");
        }
        if is_there("groff") {
            let done = Command::new("groff")
                .args(["-wall", "-mandoc", "-Tascii"])
                .arg(&page)
                .output()
                .unwrap();
            let stderr = String::from_utf8_lossy(&done.stderr).into_owned();
            assert!(stderr.is_empty(), "{}: {stderr}", page.display());
        }
    }
}

/// Examples of pages that are written by hand are commands that run.
#[test]
fn examples_run() {
    let page = by_hand("berth-binding.7");
    let examples: Vec<_> = page
        .lines()
        .filter(|line| line.starts_with("berth plan "))
        .collect();
    assert!(examples.len() >= 4, "{examples:?}");
    for example in examples {
        let words = shlex::split(example).unwrap();
        let words: Vec<_> = words.iter().skip(1).map(String::as_str).collect();
        berth(&words);
    }
}

/// The lines between two that stand in a file.
fn between<'a>(text: &'a str, from: &str, to: &str) -> &'a str {
    let begin = text.find(from).unwrap_or_else(|| panic!("{from}")) + from.len();
    let rest = &text[begin..];
    &rest[..rest.find(to).unwrap()]
}

#[test]
fn every_setting_is_on_the_page_and_no_other() {
    let code = fs::read_to_string(root().join("plugin/site/src/settings.rs")).unwrap();
    let keys = between(&code, "const KEYS: [", "];");
    let mut keys: Vec<_> = keys.split('"').skip(1).step_by(2).collect();
    keys.sort_unstable();
    assert!(keys.len() >= 12, "{keys:?}");
    let page = by_hand("task_berth.8");
    let settings = between(&page, ".Sh SETTINGS", ".Sh ENVIRONMENT");
    let items = settings
        .lines()
        .filter_map(|line| line.strip_prefix(".It Cm "));
    let mut found: Vec<_> = items.filter_map(|item| item.split(' ').next()).collect();
    found.sort_unstable();
    assert_eq!(found, keys);
}

/// Lines that the page names: their own words, in order.
fn named() -> Vec<(String, Vec<String>)> {
    let page = by_hand("task_berth.8");
    let lines = between(&page, ".Sh LOG LINES", ".Sh EXAMPLES");
    let items = lines
        .lines()
        .filter_map(|line| line.strip_prefix(".It Sy \"")?.strip_suffix('"'));
    items
        .map(|item| (item.to_string(), fixed(item, '<', '>')))
        .collect()
}

#[test]
fn every_log_line_on_the_page_is_in_the_code() {
    let mut literals = Vec::new();
    for code in code() {
        let ends = code.match_indices('"').map(|(at, _)| at + 1);
        literals.extend(ends.map(|at| literal(&code[at..])));
    }
    let lines = named();
    assert!(lines.len() >= 40, "{}", lines.len());
    for (line, parts) in lines {
        let letters: usize = parts.iter().map(String::len).sum();
        assert!(letters >= 8, "{line} says too little: {parts:?}");
        assert!(
            literals.iter().any(|text| in_order(text, &parts)),
            "not in the code: {line}"
        );
    }
}

/// What the object logs as an error or warning is explained on the page.
#[test]
fn every_error_in_the_code_is_on_the_page() {
    let lines = named();
    let mut found = 0;
    for code in code() {
        for call in ["log::error!(", "log::warn!("] {
            for (at, _) in code.match_indices(call) {
                let rest = code[at + call.len()..].trim_start();
                let Some(text) = rest.strip_prefix('"').map(literal) else {
                    continue;
                };
                let parts = fixed(&text, '{', '}');
                // A text that comes from elsewhere is explained there.
                if parts.iter().all(|part| part.len() < 8) {
                    continue;
                }
                found += 1;
                let known = lines.iter().any(|(line, _)| in_order(line, &parts));
                assert!(known, "task_berth(8) does not explain: {text}");
            }
        }
    }
    assert!(found >= 20, "only {found} were found");
}
