//! The options of a line, as the arguments of `berth plan`: what clap would make of them, without clap.

use berth_srun::{LineOption, Own};

use super::srun::WholeLine;
use crate::args::{PlanArgs, has_same_meaning, invalid, word};

impl PlanArgs {
    /// Takes an option that has no fault of its own. It overrides what was given before.
    ///
    /// # Errors
    /// A value that berth's own option does not have.
    pub(crate) fn take(&mut self, given: &LineOption) -> Result<(), String> {
        let value = given.value.as_deref();
        if let Some(own) = Own::named(&given.name) {
            let text = value.unwrap_or_default();
            let read = self.set(own, text);
            return read.map_err(|why| invalid(own.name, own.row().value_name, text, &why));
        }
        match given.foreign.is_some() || given.trouble.is_some() {
            true => self.request.foreign.push(given.clone()),
            false => self.request.add(&given.name, value),
        }
        Ok(())
    }

    /// Takes a whole line. Its options override those that are here, or these override them.
    ///
    /// # Errors
    /// A value that berth's own option does not have.
    pub(crate) fn take_line(&mut self, mut line: WholeLine, overrides: bool) -> Result<(), String> {
        if let Some(job) = &mut line.job {
            // An --exclusive beside the line is its job's.
            let is_exclusive = |one: &mut LineOption| one.name == "exclusive";
            for one in self.request.slurms.extract_if(.., is_exclusive) {
                let word = word(&one);
                let program = job.find(' ').unwrap_or(job.len());
                job.insert_str(program, &format!(" {word}"));
            }
        }
        let mut options = std::mem::take(&mut self.request.slurms);
        let own = self.request.own.clone();
        for given in &line.options {
            self.take(given)?;
        }
        match overrides {
            true => std::mem::swap(&mut self.request.slurms, &mut options),
            false => Own::ALL.iter().try_for_each(|one| match own.text(*one) {
                Some(text) => self.set(*one, &text),
                None => Ok(()),
            })?,
        }
        self.request.slurms.append(&mut options);
        self.line_variables.extend(line.variables);
        self.line_notes.extend(line.note);
        self.only_job |= line.only_job;
        self.job = line.job.or(self.job.take());
        Ok(())
    }
}

/// Whether clap would take a word of a line as getopt does: the name is whole, and no option of another program.
pub(crate) fn is_whole(given: &LineOption, word: &str) -> bool {
    let typed = word.trim_start_matches('-');
    let typed = typed.split_once('=').map_or(typed, |(name, _)| name);
    let is_long = word.starts_with("--");
    given.trouble.is_none()
        && has_same_meaning(&given.name)
        && (!is_long || typed == given.alias.unwrap_or(&given.name))
}

/// Whether a word makes a job's nodes its own.
pub(crate) fn is_exclusive(word: &str) -> bool {
    word == "--exclusive" || word.starts_with("--exclusive=")
}
