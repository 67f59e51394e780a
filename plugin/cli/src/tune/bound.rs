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

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn found(rows: &[(usize, &str)], planned: &[&str]) -> Option<String> {
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
        assert_eq!(found(&[(1, "4-7"), (0, "0-3")], &["0-3", "4-7"]), None);
        // A task that is not bound has no plan.
        assert_eq!(found(&[(0, "0-9"), (1, "1")], &["", "1"]), None);
        let wrong = found(&[(0, "0-3"), (1, "0-3")], &["0-3", "4-7"]).unwrap();
        assert_eq!(
            wrong,
            "NOT BOUND AS PLANNED: 1 of 2 tasks, such as task 1: CPUs 0-3, planned 4-7"
        );
        let missing = found(&[(0, "0")], &["0", "1"]).unwrap();
        assert!(missing.contains("1 of 2 answered: 3: {"), "{missing}");
        // A number that no task has.
        assert_eq!(found(&[(0, "0"), (9, "1")], &["0", "1"]), None);
    }
}
