//! `berth report --merge FILE`: the nodes' lines of JSON as one table of the whole step in task
//! order.

use std::io::{self, Read, Write};
use std::path::Path;
use std::process::ExitCode;

use super::show::{Row, rows};
use crate::args::ReportArgs;
use crate::say;
use crate::{Failure, Unreadable};
use berth_answer::columns::write_rows;

/// Runs it.
///
/// # Errors
/// A file that cannot be read or holds something else.
pub(crate) fn run(args: &ReportArgs, file: &Path) -> Result<ExitCode, Failure> {
    let text = match file.as_os_str() == "-" {
        true => {
            let mut text = String::new();
            io::stdin().read_to_string(&mut text)?;
            text
        }
        false => std::fs::read_to_string(file).map_err(|why| {
            Unreadable(format!("--merge {} cannot be read: {why}", file.display()))
        })?,
    };
    let mut tasks = Vec::new();
    // What the program wrote between the lines is not ours; srun --label stands before them.
    for line in text
        .lines()
        .filter(|line| line.contains("\"berth-report\""))
    {
        let from = line.find('{').unwrap_or_default();
        let row: Row = serde_json::from_str(&line[from..]).map_err(|why| {
            Unreadable(format!(
                "a line does not have the form of berth report --format json: {why}"
            ))
        })?;
        tasks.push(row);
    }
    if tasks.is_empty() {
        let why = "the input has no report; make one with srun … berth report --format json";
        return Err(Unreadable(why.into()).into());
    }
    tasks.sort_by_key(|row| row.task.task);
    let deviates = tasks.iter().any(|row| !row.as_planned);
    let mut out = say::foreign_output();
    write_rows(&mut out, say::width(None), &rows(&tasks, true))?;
    out.flush()?;
    Ok(match deviates && args.check {
        true => ExitCode::FAILURE,
        false => ExitCode::SUCCESS,
    })
}
