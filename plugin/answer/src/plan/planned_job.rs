//! What a job gets in words: its nodes, and each step of its script.

use std::io::{self, Write};

use berth_placement::sets::count::counted;

use super::step::{InJob, JobStep, PlannedJob, StepAnswer};
use crate::columns::write_named;
use crate::picture::Screen;

/// Nodes that the table names; the JSON has all.
const MOST_NAMES: usize = 8;

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

    /// The steps that would be refused, in words.
    pub fn refused_steps(&self) -> impl Iterator<Item = String> + '_ {
        self.steps.iter().filter_map(|step| match &step.answer {
            Some(StepAnswer::Refused { why }) => {
                Some(format!("line {}: refused: {why}", step.line.unwrap_or(1)))
            }
            _ => None,
        })
    }
}

impl JobStep {
    /// `line 3: srun -n2 ./app`, with the reason where there is no plan.
    pub(super) fn title(&self) -> String {
        let line = self.line.unwrap_or(1);
        let why = match &self.answer {
            Some(StepAnswer::Refused { why }) => format!(": refused: {why}"),
            Some(StepAnswer::NotPlanned { why }) => format!(": not planned: {why}"),
            _ => String::new(),
        };
        format!("line {line}: {}{why}", self.text)
    }

    /// Its plan, if there is one.
    pub(super) fn planned(&self) -> Option<&InJob> {
        match &self.answer {
            Some(StepAnswer::Planned { inside, .. }) => Some(inside),
            _ => None,
        }
    }

    /// The step's line, what becomes of it, and its plan, if there is one. The command that plans it is
    /// not folded, so it can be copied.
    ///
    /// # Errors
    /// Those of `out`.
    pub(super) fn write_head(
        &self,
        out: &mut impl Write,
        screen: Screen,
    ) -> io::Result<Option<&InJob>> {
        match self.line {
            Some(line) => writeln!(out, "\nline {line:<6} {}", self.text)?,
            None => writeln!(out, "\ninside      {}", self.text)?,
        }
        match &self.answer {
            Some(StepAnswer::Planned { .. }) => {}
            Some(StepAnswer::Refused { why }) => write_named(out, screen.width, "refused", why)?,
            Some(StepAnswer::NotPlanned { why }) => {
                write_named(out, screen.width, "not planned", why)?
            }
            None => writeln!(out, "plan it:    {}", self.plan)?,
        }
        Ok(self.planned())
    }
}
