//! The variables of a script that its programs find: those that are exported.

use berth_srun::Release;
use berth_srun::options::{Command as Program, passed_by, variables};

use super::script::Reader;
use super::variables::{Variable, Variables, assigned, set_by};
use crate::shell::{Word, is_variable};

/// Commands that set variables for the commands behind them.
const DECLARE: [&str; 5] = ["export", "declare", "local", "typeset", "readonly"];

impl Reader<'_> {
    /// Takes over the variables that a command sets for the commands behind it; whether it is such a command.
    pub(super) fn declares(&mut self, words: &[Word], outer: &Variables) -> bool {
        let mut texts = words.iter().map(|word| word.text.as_str());
        let Some(first) = texts.next().filter(|first| DECLARE.contains(first)) else {
            return false;
        };
        let set = words.iter().filter_map(|word| set_by(word, outer));
        self.variables.extend(set);
        let flags = texts
            .clone()
            .take_while(|text| text.starts_with(['-', '+']));
        let has = |sign, flag| {
            flags
                .clone()
                .any(|one| one.starts_with(sign) && one.contains(flag))
        };
        let is_export = first == "export";
        let is_taken_back = has('+', 'x') || is_export && has('-', 'n');
        for text in texts {
            let name = assigned(text).map_or(text, |(name, _, _)| name);
            if is_taken_back && is_variable(name) {
                self.hide(name);
            } else if is_export || has('-', 'x') {
                self.found_by_programs(name);
            } else if name != text {
                self.set_alone(name, outer);
            }
        }
        true
    }

    /// A variable that stands alone reaches programs if it is exported already; its value, in which nothing else can
    /// stand behind it, may be exported later.
    pub(super) fn set_alone(&mut self, name: &str, outer: &Variables) {
        let is_found = |one: &Variable| !one.is_hidden;
        let by_job = || is_set_by_jobs(name, self.around.release);
        let is_exported = self.exports_all || outer.get(name).map_or_else(by_job, is_found);
        if let Some(one) = self.variables.get_mut(name) {
            one.end = None;
            one.is_hidden = !is_exported;
        }
    }

    fn found_by_programs(&mut self, name: &str) {
        if let Some(one) = self.variables.get_mut(name) {
            one.is_hidden = one.value.is_empty() && one.is_hidden;
        }
    }

    /// A variable that is not exported any more.
    fn hide(&mut self, name: &str) {
        let known = self.variables.entry(name.into());
        let found = known.or_insert_with(|| Variable {
            value: format!("${{{name}}}").into(),
            ..Variable::unknown(name)
        });
        found.is_hidden = true;
    }

    /// `set -a`: every variable that is set from here on is exported.
    pub(super) fn set_options(&mut self, words: &[Word]) {
        let is_all = |word: &Word| {
            let text = word.text.as_str();
            text == "allexport"
                || text.starts_with('-') && !text.starts_with("--") && text.contains('a')
        };
        self.exports_all |= words.iter().any(is_all);
    }

    /// Variables that are not set any more; `-f` names functions.
    pub(super) fn unset(&mut self, words: &[Word]) {
        let is_one = |word: &&Word| is_variable(&word.text);
        if !words.iter().any(|word| word.text == "-f") {
            let names = words.iter().filter(is_one);
            let unset = names.map(|word| (word.text.clone(), Variable::unset()));
            self.variables.extend(unset);
        }
    }

    /// csh's way to set a variable.
    pub(super) fn setenv(&mut self, words: &[Word]) {
        if let [name, value] = words {
            let value = Variable {
                value: value.text.as_str().into(),
                is_computed: value.is_computed,
                ..Variable::default()
            };
            self.variables.insert(name.text.clone(), value);
        }
    }
}

/// Whether sbatch may have exported a variable.
fn is_set_by_jobs(name: &str, release: Release) -> bool {
    let mut all = variables(Program::Srun, release);
    let is_passed = |(variable, option): (&str, &str)| {
        variable == name && passed_by(option, release) == Some(variable)
    };
    ["SLURM_NNODES", "SLURM_NPROCS"].contains(&name) || all.any(is_passed)
}
