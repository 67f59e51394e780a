//! A plan in one line: the answer to a line of a file.

use berth_placement::Node;

use super::json;
use super::step::{Answered, PlannedStep, Task};
use super::{masks, notes};
use crate::Failure;
use crate::args::Format;
use crate::question::Question;

/// The line in a format; its notes stand behind ` # `.
///
/// # Errors
/// A format that has several lines.
pub fn one_line(
    args: &Question,
    on: &Node,
    step: &PlannedStep,
    format: Option<Format>,
) -> Result<String, Failure> {
    let mut line = match format {
        Some(Format::Cpus) => listed_cpus(step).join(" "),
        Some(Format::Masks) | None => nodes_masks(step).join(" "),
        Some(Format::Json) => return json::line(Answered { args, on, step }),
        Some(_) => {
            return Err(
                "--batch prints one line per request; use --format masks, cpus or json".into(),
            );
        }
    };
    let of_job = step.job.iter().filter(|_| format.is_none());
    let refused = of_job.flat_map(super::step::PlannedJob::refused_steps);
    for note in notes(args, on, step).into_iter().chain(refused) {
        line.push_str(&format!(" # {}", joined(&note)));
    }
    Ok(line)
}

/// A reason in place of the line.
#[must_use]
pub fn no_line(why: &str, format: Option<Format>) -> String {
    let why = joined(why);
    match format {
        Some(Format::Json) => json::no_plan(&why),
        _ => format!("error: {why}"),
    }
}

/// The text of each node's launch message.
fn nodes_masks(step: &PlannedStep) -> Vec<String> {
    let nodes = 0..step.node_count();
    nodes.map(|node| masks(step.plan_of(node))).collect()
}

/// Each task's CPUs, in task order; none of a task that is not bound.
pub(super) fn cpus(step: &PlannedStep) -> impl Iterator<Item = Option<String>> {
    let of_task = |task: Task<'_>| {
        let bound = task.node_plan.is_bound();
        bound.then(|| task.plan().cpus.to_string())
    };
    step.tasks().map(of_task)
}

/// Each task's CPUs as a text, `none` for a task that is not bound. A step without any bound task has one text.
pub(super) fn listed_cpus(step: &PlannedStep) -> Vec<String> {
    let unbound = || "none".to_string();
    match step.is_bound() {
        true => cpus(step)
            .map(|cpus| cpus.unwrap_or_else(unbound))
            .collect(),
        false => vec![unbound()],
    }
}

fn joined(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
