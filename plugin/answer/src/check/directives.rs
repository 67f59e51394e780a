//! The directives of a script: `#SBATCH` lines for sbatch, and those of other systems.

use berth_srun::options::Command as Program;
use berth_srun::submission::directives;

use super::command::Kind;
use super::foreign::{Foreign, System};
use super::script::{Reader, no_word};
use crate::shell::{Word, line_of};

impl Reader<'_> {
    /// The `#SBATCH` lines as one line.
    pub(super) fn slurm_directives(&mut self) {
        let lines = directives(&self.found.text);
        let Some(first) = lines.first() else {
            return;
        };
        self.found.has_components = lines.iter().any(|line| line.begins_component);
        let words = lines.iter().flat_map(|line| &line.words);
        let words = words.map(|word| self.placed(&word.text, word.range.clone()));
        let words = words.collect();
        let job = self.command(first.line, Kind::Job(Program::Sbatch), no_word(), words);
        self.found.job = Some(job);
    }

    fn placed(&self, text: &str, range: std::ops::Range<usize>) -> Word {
        Word {
            is_plain: self.found.text.get(range.clone()) == Some(text.as_bytes()),
            text: text.into(),
            range,
            is_computed: false,
            may_split: false,
        }
    }

    /// The first line that Grid Engine or LSF takes for a directive; they read them anywhere. A document is no script.
    pub(super) fn foreign_directive(&mut self, comments: &[usize]) {
        let text = self.found.text.clone();
        self.found.foreign = comments.iter().find_map(|at| {
            let is_line = *at == 0 || text.get(*at - 1) == Some(&b'\n');
            let line = text.get(*at..)?.split(|byte| *byte == b'\n').next()?;
            let system = System::of_comment(line).filter(|_| is_line)?;
            Some(Foreign {
                line: line_of(&text, *at),
                system,
                is_directive: true,
            })
        });
    }

    /// The blanks before lines that look like directives and stand before the first command.
    pub(super) fn indented_directives(&mut self, comments: &[usize]) {
        let script = &self.found;
        let blanks = |at: usize| {
            let before = script.text.get(..at)?;
            let count = before.iter().rev().take_while(|byte| b" \t".contains(byte));
            let start = at - count.count();
            let is_line = start == 0 || script.text.get(start - 1) == Some(&b'\n');
            let rest = script.text.get(at..)?;
            let is_one = start < at && is_line && rest.starts_with(b"#SBATCH ");
            is_one.then_some(start..at)
        };
        let until = script.first_command.unwrap_or(script.text.len());
        let before = comments.iter().filter(|at| **at < until);
        self.found.indented = before.filter_map(|at| blanks(*at)).collect();
    }

    /// Where lines begin that look like directives and stand behind the first command.
    pub(super) fn late_directives(&mut self, comments: &[usize]) {
        let script = &self.found;
        let Some(first) = script.first_command else {
            return;
        };
        let is_directive = |at: &&usize| {
            let is_line = **at == 0 || script.text.get(**at - 1) == Some(&b'\n');
            let rest = script.text.get(**at..).unwrap_or_default();
            **at > first && is_line && rest.starts_with(b"#SBATCH ")
        };
        self.found.late = comments.iter().filter(is_directive).copied().collect();
    }
}
