//! Runs the command as a user does.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// How a command ended, and what it printed.
#[derive(Debug)]
pub struct Done {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Done {
    pub fn of(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

/// The top of the source tree.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The command. No cluster of this host counts.
pub fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_berth"));
    command.env("BERTH_STATE_DIR", "/nonexistent");
    // Elsewhere tables and messages have letters of ASCII alone.
    command.env("LC_ALL", "C.UTF-8");
    command
}

/// What a command answers to bytes on stdin.
pub fn output(command: &mut Command, input: &[u8]) -> Output {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    std::thread::scope(|scope| {
        // The command may end before it has read all.
        scope.spawn(move || drop(stdin.write_all(input)));
        child.wait_with_output().unwrap()
    })
}

/// Runs the command with a text on stdin.
pub fn berth(words: &[&str], input: &str) -> Done {
    Done::of(output(command().args(words), input.as_bytes()))
}

/// Runs `berth plan` with options in one text, without blanks inside them.
pub fn plan(options: &str) -> Done {
    let words = ["plan"].into_iter().chain(options.split(' '));
    berth(&words.collect::<Vec<_>>(), "")
}

/// The rules that `berth check` finds in a text, a hint's with a question mark, and the exit code.
pub fn rules(words: &[&str], input: &str) -> (Vec<String>, i32) {
    let done = berth(&[&["check", "--format=json"], words].concat(), input);
    (rules_of(&done), done.code)
}

/// The rules of the findings in a document of `berth check`, a hint's with a question mark.
pub fn rules_of(done: &Done) -> Vec<String> {
    let document: Value =
        serde_json::from_str(&done.stdout).unwrap_or_else(|why| panic!("{why}: {done:#?}"));
    let name = |finding: &Value| {
        let mark = if finding["level"] == "hint" { "?" } else { "" };
        format!("{}{mark}", finding["rule"].as_str().unwrap())
    };
    let findings = document["findings"].as_array().unwrap();
    findings.iter().map(name).collect()
}
