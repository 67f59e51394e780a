//! `berth plan --batch`: as many answers as lines, whatever stands in them, and no end before the
//! last. The program is the one that `BERTH_COMMAND` names.

use std::process::{Command, Stdio};

use crate::Sums;
use crate::random::Random;
use crate::texts::{Words, text};

/// As `words.txt` has it for the words of its lines.
pub const NAME: &str = "batch lines";
/// Lines a process.
const LINES: u64 = 50_000;

/// Runs the program that `BERTH_COMMAND` names with so many lines.
///
/// # Errors
/// Where there is no such program.
pub fn run(cases: u64, seed: u64) -> std::io::Result<Sums> {
    let (words, mut random) = (Words::of(NAME), Random::new(seed));
    let file = std::env::temp_dir().join(format!("berth-fuzz-{}", std::process::id()));
    let mut sums = Sums::default();
    for first in (0..cases).step_by(LINES as usize) {
        let count = LINES.min(cases - first);
        let lines: String = (0..count).map(|_| line(&words, &mut random)).collect();
        std::fs::write(&file, lines)?;
        let program = std::env::var_os("BERTH_COMMAND").unwrap_or_default();
        let done = Command::new(program)
            .args(["plan", "--machine", "pack:2 core:2 pu:2"])
            .args(["--format", "cpus", "--batch"])
            .arg(&file)
            .stderr(Stdio::null())
            .output()?;
        let answers = String::from_utf8_lossy(&done.stdout);
        let refused = answers.lines().filter(|line| line.starts_with("error:"));
        let (found, refused) = (answers.lines().count() as u64, refused.count() as u64);
        sums.refused += refused;
        sums.accepted += found - refused;
        if found != count || !matches!(done.status.code(), Some(0 | 1)) {
            println!("{NAME}: {count} lines, {found} answers, {}", done.status);
            sums.wrong += 1;
        }
    }
    // A file that stays is one of a folder that nobody keeps.
    let _ = std::fs::remove_file(file);
    Ok(sums)
}

/// A line that is neither empty nor a comment: those have no answer.
fn line(words: &Words, random: &mut Random) -> String {
    let words = text(words, random);
    let is_of_line = |letter: &char| !letter.is_control() && *letter != ',';
    let words: String = words.chars().filter(is_of_line).collect();
    format!("-n 1 {words}\n")
}
