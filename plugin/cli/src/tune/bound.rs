//! Whether tasks are bound as planned: a step with the line's options and `berth report` as its program, whose tasks
//! read their masks back from the kernel.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};

use serde::Deserialize;

use super::metric::last_line;

/// 4096 tasks with long lists have less.
const MOST: u64 = 16 << 20;

#[derive(Deserialize)]
struct Row {
    task: usize,
    cpus: String,
}

/// The program of the step.
pub(super) fn program() -> Option<Vec<String>> {
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
    let rows = lines.filter_map(|line| {
        let from = line
            .find('{')
            .filter(|_| line.contains("\"berth-report\""))?;
        serde_json::from_str::<Row>(line.get(from..)?).ok()
    });
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
