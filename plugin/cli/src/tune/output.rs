//! Results from the output of a run: the number that is compared, and whether tasks are bound as planned. For the
//! latter a step with the line's options has `berth report` as its program.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};

use regex::bytes::{Regex, RegexBuilder};
use serde::Deserialize;

use crate::report::json_of;

/// The most bytes that are read: from the end of an output, or reports from its beginning. 4096 tasks with long lists have
/// less.
const MOST: u64 = 16 << 20;
/// The most bytes that a compiled pattern takes; a larger one is refused.
const MOST_OF_A_PATTERN: usize = 1 << 20;
/// The letters of an output's last line that a table shows.
const LETTERS: usize = 160;

/// Reads a pattern.
///
/// # Errors
/// A text that is no pattern.
pub(super) fn pattern(text: &str) -> Result<Regex, String> {
    let mut builder = RegexBuilder::new(text);
    let pattern = builder
        .unicode(false)
        .multi_line(true)
        .size_limit(MOST_OF_A_PATTERN)
        .build();
    let pattern = pattern.map_err(|why| format!("--metric is no regular expression: {why}"))?;
    match pattern.captures_len() {
        0..=2 => Ok(pattern),
        _ => Err(
            "--metric has several groups; put (?: ) around those that are not the number".into(),
        ),
    }
}

/// The end of an output.
fn tail(mut file: &File) -> std::io::Result<Vec<u8>> {
    let length = file.seek(SeekFrom::End(0))?;
    file.seek(SeekFrom::Start(length.saturating_sub(MOST)))?;
    let mut bytes = Vec::new();
    file.take(MOST).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The last number that the pattern finds.
///
/// # Errors
/// There is none that can be compared.
pub(super) fn value(pattern: &Regex, output: &File) -> Result<f64, String> {
    let bytes = tail(output).map_err(|why| format!("its output cannot be read: {why}"))?;
    let last = pattern.captures_iter(&bytes).last();
    let found = last.and_then(|last| last.get(1).or_else(|| last.get(0)));
    let Some(found) = found else {
        return Err(format!(
            "its output has nothing that --metric '{pattern}' finds"
        ));
    };
    let text = String::from_utf8_lossy(found.as_bytes());
    let text: String = text.trim().chars().take(LETTERS).collect();
    let number = text
        .parse()
        .ok()
        .filter(|value: &f64| value.is_finite() && *value > 0.0);
    number.ok_or_else(|| format!("--metric finds \"{text}\", which is no number above 0"))
}

/// The last line of an output that has letters, for a message.
pub(super) fn last_line(output: &File) -> String {
    let bytes = tail(output).unwrap_or_default();
    let end = &bytes[bytes.len().saturating_sub(4096)..];
    let text = String::from_utf8_lossy(end);
    let last = text.lines().rev().find(|line| !line.trim().is_empty());
    last.unwrap_or("no output")
        .trim()
        .chars()
        .take(LETTERS)
        .collect()
}

/// A task's report, as `berth report` prints it.
#[derive(Deserialize)]
struct Row {
    task: usize,
    cpus: String,
}

/// The program of a step whose tasks read their masks back from the kernel.
pub(super) fn report_program() -> Option<Vec<String>> {
    let own = std::env::current_exe().ok()?.to_str()?.to_string();
    Some(
        [&own, "report", "--format", "json", "--wait", "5"]
            .map(String::from)
            .into(),
    )
}

/// How the tasks' CPUs differ from the plan, or why that is not known; none if all is well.
pub(super) fn difference(mut output: &File, planned: &[String]) -> Option<String> {
    output.seek(SeekFrom::Start(0)).ok()?;
    let lines = BufReader::new(output.take(MOST))
        .lines()
        .map_while(Result::ok);
    let rows = lines.filter_map(|line| serde_json::from_str::<Row>(json_of(&line)?).ok());
    let rows: Vec<_> = rows.collect();
    if rows.len() < planned.len() {
        return Some(format!(
            "whether the tasks are bound as planned is not known, as {} of {} answered: {}",
            rows.len(),
            planned.len(),
            last_line(output)
        ));
    }
    let differs = |row: &&Row| {
        planned
            .get(row.task)
            .is_some_and(|cpus| !cpus.is_empty() && *cpus != row.cpus)
    };
    let wrong: Vec<_> = rows.iter().filter(differs).collect();
    let first = wrong.first()?;
    Some(format!(
        "NOT BOUND AS PLANNED: {} of {} tasks, such as task {}: CPUs {}, planned {}",
        wrong.len(),
        planned.len(),
        first.task,
        first.cpus,
        planned[first.task]
    ))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn found(text: &str, output: &str) -> Result<f64, String> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(output.as_bytes()).unwrap();
        value(&pattern(text)?, &file)
    }

    #[test]
    fn the_last_number_counts() {
        let output = "GFLOPS: 1.5\nGFLOPS: 2.5e1\nrest\n";
        assert_eq!(found(r"GFLOPS: ([0-9.e]+)", output), Ok(25.0));
        assert_eq!(found(r"^[0-9]+$", "7\n8\nx9\n"), Ok(8.0));
        for (text, output, part) in [
            ("rate ([0-9]+)", "nothing", "has nothing"),
            ("rate ([-0-9]+)", "rate -5", "no number above 0"),
            ("rate (.*)", "rate fast", "\"fast\""),
            ("(a)(b)", "ab", "several groups"),
            ("(a", "a", "no regular expression"),
            ("a{1000}{1000}", "a", "no regular expression"),
        ] {
            let why = found(text, output).unwrap_err();
            assert!(why.contains(part), "{text}: {why}");
        }
    }

    #[test]
    fn a_long_output_is_read_at_its_end() {
        let long = "x".repeat(MOST as usize) + "\n\nrate 3\n \n";
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(("rate 4\n".to_string() + &long).as_bytes())
            .unwrap();
        assert_eq!(value(&pattern("rate ([0-9])").unwrap(), &file), Ok(3.0));
        assert_eq!(last_line(&file), "rate 3");
    }

    fn deviation(rows: &[(usize, &str)], planned: &[&str]) -> Option<String> {
        let mut file = tempfile::tempfile().unwrap();
        writeln!(file, "srun: a word {{ of somebody else").unwrap();
        for (task, cpus) in rows {
            let row =
                format!("3: {{\"format\":\"berth-report\",\"task\":{task},\"cpus\":\"{cpus}\"}}");
            writeln!(file, "{row}").unwrap();
        }
        let planned: Vec<_> = planned.iter().map(ToString::to_string).collect();
        difference(&file, &planned)
    }

    #[test]
    fn each_task_is_compared_with_its_plan() {
        assert_eq!(deviation(&[(1, "4-7"), (0, "0-3")], &["0-3", "4-7"]), None);
        // A task that is not bound has no plan.
        assert_eq!(deviation(&[(0, "0-9"), (1, "1")], &["", "1"]), None);
        let wrong = deviation(&[(0, "0-3"), (1, "0-3")], &["0-3", "4-7"]).unwrap();
        assert_eq!(
            wrong,
            "NOT BOUND AS PLANNED: 1 of 2 tasks, such as task 1: CPUs 0-3, planned 4-7"
        );
        let missing = deviation(&[(0, "0")], &["0", "1"]).unwrap();
        assert!(missing.contains("1 of 2 answered: 3: {"), "{missing}");
        // A number that no task has.
        assert_eq!(deviation(&[(0, "0"), (9, "1")], &["0", "1"]), None);
    }
}
