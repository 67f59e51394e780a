//! Runs `berth plan` as a user does.

use std::io::Write;
use std::process::{Command, Stdio};

/// How it ended, and what it printed.
pub struct Done {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

/// Runs the command with a text on stdin. No cluster of this host counts.
pub fn berth(arguments: &[&str], input: &str) -> Done {
    let mut child = Command::new(env!("CARGO_BIN_EXE_berth"))
        .args(arguments)
        .env("BERTH_STATE_DIR", "/nonexistent")
        // Elsewhere tables and messages have letters of ASCII alone.
        .env("LC_ALL", "C.UTF-8")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(input.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    Done {
        code: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

#[allow(dead_code, reason = "some tests have whole lines alone")]
/// Runs `berth plan` with options in one text, without blanks inside them.
pub fn plan(options: &str) -> Done {
    let mut arguments = vec!["plan"];
    arguments.extend(options.split(' '));
    berth(&arguments, "")
}
