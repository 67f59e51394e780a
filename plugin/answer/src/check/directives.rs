//! The directives of a script: `#SBATCH` lines for sbatch, and those of other systems.

use std::rc::Rc;

use berth_srun::Program;
use berth_srun::submission::{Directive, directives};

use super::command::{Command, Foreign, Kind};
use super::script::Reader;
use crate::lines::System;
use crate::shell::{Word, line_of};

impl Reader<'_> {
    /// The `#SBATCH` lines as one line for each component of the job.
    pub(super) fn slurm_directives(&mut self) {
        let lines = directives(&self.found.text);
        let components = lines.chunk_by(|_, next| !next.begins_component);
        let mut components = components.map(|lines| self.component(lines));
        let first = components.next();
        let others = components.collect();
        (self.found.job, self.found.components) = (first, others);
        self.found.has_components = lines.iter().any(|line| line.begins_component);
    }

    fn component(&self, lines: &[Directive]) -> Command {
        let words = lines.iter().flat_map(|line| &line.words).map(|word| Word {
            is_plain: self.found.text.get(word.range.clone()) == Some(word.text.as_bytes()),
            text: word.text.clone(),
            range: word.range.clone(),
            ..Word::default()
        });
        let number = lines.first().map_or(1, |line| line.line);
        let kind = Kind::Job(Program::Sbatch);
        self.command(number, kind, Word::default(), words.collect())
    }

    /// Comments that sbatch or another system takes for directives, and those that only look like one of sbatch.
    /// sbatch reads its own up to the first command, Grid Engine and LSF anywhere. A document is no script.
    pub(super) fn comments(&mut self, comments: &[usize]) {
        let text = Rc::clone(&self.found.text);
        for (at, (before, line)) in comments.iter().map(|at| (*at, text.split_at(*at))) {
            let blanks = before.iter().rev().take_while(|byte| b" \t".contains(byte));
            let start = at - blanks.count();
            if !(start == 0 || text.get(start - 1) == Some(&b'\n')) {
                continue;
            }
            let is_late = self.found.first_command.is_some_and(|first| at > first);
            let is_indented = start < at;
            match (line.starts_with(b"#SBATCH "), is_indented) {
                (true, true) if !is_late => self.found.indented.push(start..at),
                (true, false) if is_late => self.found.late.push(at),
                (false, false) if self.found.foreign.is_none() => {
                    let line = line.split(|byte| *byte == b'\n').next().unwrap_or_default();
                    self.found.foreign = System::of_comment(line).map(|system| Foreign {
                        line: line_of(&text, at),
                        system,
                        is_directive: true,
                    });
                }
                _ => {}
            }
        }
    }
}
