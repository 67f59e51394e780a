//! `berth plan --batch`: as many answers as lines, whatever stands in them, and no end before the
//! last. The program is the one that `BERTH_COMMAND` names.

use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::random::Random;
use crate::texts::{Words, text};

const NAME: &str = "batch lines";
/// Lines a process.
const LINES: u64 = 50_000;

/// How many runs went wrong.
pub fn run(cases: u64, seed: u64) -> u64 {
    let Some(command) = std::env::var_os("BERTH_COMMAND") else {
        println!("{NAME}: BERTH_COMMAND names no program, so none was asked");
        return 0;
    };
    let (start, words, mut random) = (Instant::now(), Words::of(NAME), Random::new(!seed));
    let (mut left, mut answered, mut refused, mut wrong) = (cases, 0, 0, 0);
    while left > 0 {
        let count = left.min(LINES);
        left -= count;
        let lines: String = (0..count).map(|_| line(&words, &mut random)).collect();
        let (code, answers) = ask(&command, lines);
        let found = answers.lines().count() as u64;
        refused += answers
            .lines()
            .filter(|line| line.starts_with("error:"))
            .count();
        answered += found;
        if found != count || code.is_none_or(|code| code > 1) {
            println!("{NAME}: {count} lines, {found} answers, exit code {code:?}");
            wrong += 1;
        }
    }
    println!(
        "{NAME:12} {answered:8} answered {refused:8} refused {wrong:3} wrong {:6.1} s",
        start.elapsed().as_secs_f64()
    );
    wrong
}

/// A line that is neither empty nor a comment: those have no answer.
fn line(words: &Words, random: &mut Random) -> String {
    let words = text(words, random);
    let words: String = words
        .chars()
        .filter(|c| !c.is_control() && *c != ',')
        .collect();
    format!("-n 1 {words}\n")
}

fn ask(command: &std::ffi::OsStr, lines: String) -> (Option<i32>, String) {
    let mut child = Command::new(command)
        .args([
            "plan",
            "--machine",
            "pack:2 core:2 pu:2",
            "--format",
            "cpus",
            "--batch",
            "-",
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("BERTH_COMMAND can be run");
    let mut stdin = child.stdin.take().expect("a pipe");
    let writer = std::thread::spawn(move || stdin.write_all(lines.as_bytes()));
    let mut answers = Vec::new();
    let mut stdout = child.stdout.take().expect("a pipe");
    stdout.read_to_end(&mut answers).expect("its answers");
    // A program that ended early is seen by its answers.
    let _ = writer.join();
    let code = child.wait().ok().and_then(|status| status.code());
    (code, String::from_utf8_lossy(&answers).into_owned())
}
