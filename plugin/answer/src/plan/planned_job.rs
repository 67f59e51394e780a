//! What a job gets, and its steps, each with the command that plans it; in words and for scripts.

use std::io::{self, Write};

use berth_placement::sets::count::counted;
use serde::Serialize;

use crate::columns::write_named;

/// Nodes that the table names; the JSON has all.
const MOST_NAMES: usize = 8;

/// What a job gets.
#[derive(Clone, Debug, Serialize)]
pub struct PlannedJob {
    /// The line, as it was typed.
    pub(super) line: String,
    /// Tasks of the job's record.
    pub(super) tasks: u32,
    pub(super) nodes: Vec<GivenNode>,
    /// The sruns of the batch script; of salloc one without options.
    pub(super) steps: Vec<Pointer>,
}

/// A node of the job.
#[derive(Clone, Debug, Serialize)]
pub(super) struct GivenNode {
    pub(super) name: String,
    /// Slurm's numbers of the job's cores.
    pub(super) cores: String,
    /// The CPUs that slurmctld counts for the job there.
    pub(super) cpus: u32,
}

/// A step, and the command that plans it.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Pointer {
    /// Its line in the script, from 1; none where there is no script.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) line: Option<usize>,
    pub(super) text: String,
    pub(super) plan: String,
}

impl PlannedJob {
    /// The job in the head of a table.
    ///
    /// # Errors
    /// Those of `out`.
    pub(super) fn write_head(&self, out: &mut impl Write, width: usize) -> io::Result<()> {
        let tasks = match self.tasks {
            0 => "no number of tasks".to_string(),
            tasks => counted(tasks, "task"),
        };
        let text = format!("{tasks}: {}", self.nodes_in_words());
        write_named(out, width, "job", &text)
    }

    /// `cores 0-3 on n1, n2; cores 0-1 on n3`
    fn nodes_in_words(&self) -> String {
        let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
        for node in &self.nodes {
            match groups.iter_mut().find(|(cores, _)| *cores == node.cores) {
                Some((_, names)) => names.push(&node.name),
                None => groups.push((&node.cores, vec![&node.name])),
            }
        }
        let group = |(cores, names): &(&str, Vec<&str>)| {
            let shown = names.iter().take(MOST_NAMES).copied();
            let shown = shown.collect::<Vec<_>>().join(", ");
            let more = match names.len().saturating_sub(MOST_NAMES) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            format!("cores {cores} on {shown}{more}")
        };
        let groups: Vec<_> = groups.iter().map(group).collect();
        groups.join("; ")
    }

    /// The steps, each with the command that plans it; nothing is folded, so it can be copied.
    ///
    /// # Errors
    /// Those of `out`.
    pub(super) fn write_steps(&self, out: &mut impl Write) -> io::Result<()> {
        for step in &self.steps {
            match step.line {
                Some(line) => writeln!(out, "\nline {line:<6} {}", step.text)?,
                None => writeln!(out, "\ninside      {}", step.text)?,
            }
            writeln!(out, "plan it:    {}", step.plan)?;
        }
        Ok(())
    }
}
