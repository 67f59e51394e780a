//! The directives of a script: `#SBATCH` lines for sbatch, `#$` lines for Grid Engine, and `#BSUB` lines for LSF.

use berth_srun::options::Command as Program;
use berth_srun::submission::directives;

use super::command::Kind;
use super::script::{Reader, no_word};
use crate::shell::{Word, scan};

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

    /// `#$` and `#BSUB` lines; Grid Engine and LSF read them anywhere. Each becomes a command, whose name
    /// is empty and stands where the line begins.
    pub(super) fn foreign_directives(&mut self, prefix: &[u8], kind: Kind) {
        let mut start = 0;
        let text = self.found.text.clone();
        for (at, line) in text.split(|byte| *byte == b'\n').enumerate() {
            let is_document = self.documents.iter().any(|one| one.range.contains(&start));
            if let Some(rest) = line.strip_prefix(prefix).filter(|_| !is_document) {
                let mut words = scan(rest)
                    .commands
                    .into_iter()
                    .next()
                    .map_or(Vec::new(), |one| one.words);
                let from = start + prefix.len();
                for word in &mut words {
                    word.range = word.range.start + from..word.range.end + from;
                }
                let name = Word {
                    range: start..start,
                    ..no_word()
                };
                let command = self.command(at + 1, kind, name, words);
                self.found.commands.push(command);
            }
            start += line.len() + 1;
        }
    }
}
