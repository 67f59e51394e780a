//! `berth report --merge FILE`: the nodes' blocks, which were written as JSON, as one table of the
//! whole step in task order.

use std::io::{self, Read, Write};
use std::path::Path;
use std::process::ExitCode;

use super::show::{Node, rows};
use crate::Failure;
use crate::args::ReportArgs;
use crate::columns::write_rows;
use crate::say;

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
        false => std::fs::read_to_string(file)
            .map_err(|why| format!("--merge {}: {why}", file.display()))?,
    };
    let mut all = Vec::new();
    // What the program wrote between the blocks is not ours.
    let blocks = text
        .lines()
        .filter(|line| line.contains("\"berth-report\""));
    for line in blocks {
        let from = line.find('{').unwrap_or_default();
        let node: Node = serde_json::from_str(&line[from..]).map_err(|why| {
            format!("a block is not as berth report --format json writes it: {why}")
        })?;
        all.extend(node.tasks.into_iter().map(|row| (node.host.clone(), row)));
    }
    if all.is_empty() {
        return Err(
            "there is no block in it; write them with srun … berth report --format json".into(),
        );
    }
    all.sort_by_key(|(_, row)| row.task.task);
    let (hosts, tasks): (Vec<_>, Vec<_>) = all.into_iter().unzip();
    let deviates = tasks.iter().any(|row| !row.task.deviations().is_empty());
    let mut out = say::output();
    write_rows(&mut out, &rows(&tasks, Some(&|at| hosts[at].clone())))?;
    out.flush()?;
    Ok(match deviates && args.check {
        true => ExitCode::FAILURE,
        false => ExitCode::SUCCESS,
    })
}
