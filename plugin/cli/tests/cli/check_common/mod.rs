//! Runs `berth check` and reads its answer.
#![allow(dead_code, reason = "each test program uses a part of it")]

use std::io::Write;
use std::process::{Command, Output, Stdio};

/// Runs it with a text on stdin.
pub fn check(arguments: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_berth"))
        .arg("check")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // It may have ended already, and not read all.
    let _ = stdin.write_all(input);
    drop(stdin);
    child.wait_with_output().unwrap()
}

/// The rules that were found, a hint's with a question mark, and the exit code.
pub fn rules(arguments: &[&str], input: &str) -> (Vec<String>, Option<i32>) {
    let done = check(&[&["--format=json"], arguments].concat(), input.as_bytes());
    let stderr = String::from_utf8_lossy(&done.stderr).into_owned();
    let found: serde_json::Value = serde_json::from_slice(&done.stdout)
        .unwrap_or_else(|why| panic!("{why}: {stderr}\n{input}"));
    let name = |finding: &serde_json::Value| {
        let mark = if finding["level"] == "hint" { "?" } else { "" };
        format!("{}{mark}", finding["rule"].as_str().unwrap())
    };
    let all = found["findings"].as_array().unwrap().iter();
    (all.map(name).collect(), done.status.code())
}

/// The text with its corrections.
pub fn corrected(arguments: &[&str], input: &str) -> String {
    let arguments = [&["--format=script"], arguments, &["-"]].concat();
    String::from_utf8(check(&arguments, input.as_bytes()).stdout).unwrap()
}

/// A line, the rule that it breaks, and the corrected line.
pub type Row = (&'static str, &'static str, &'static str);

/// Whether each line has exactly its trap, and whether its correction has none.
pub fn holds(release: &str, rows: &[Row]) {
    let slurm = format!("--slurm={release}");
    for (line, rule, instead) in rows {
        let (found, code) = rules(&[&slurm, "-"], line);
        assert_eq!(found, [*rule], "{line}");
        let is_hint = rule.ends_with('?');
        assert_eq!(code, Some(i32::from(!is_hint)), "{line}");
        assert_eq!(corrected(&[&slurm], line), *instead, "{line}");
        if instead != line {
            let (left, code) = rules(&[&slurm, "-"], instead);
            assert_eq!((left, code), (vec![], Some(0)), "{instead}");
        }
    }
}
