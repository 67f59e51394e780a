//! The line that is tuned: variables, srun, its options and its program, and the same line with other options. It is
//! started without a shell, so nothing in it may need one. Pure.

use berth_srun::Program;
use berth_srun::line::{LineOption, read};

use crate::args::quoted;
use crate::lines::base;
use crate::shell::{Word, assignment, scan};

/// Options of which one overrides or contradicts another.
const BINDERS: [&str; 6] = [
    "cpu-bind", "binding", "map-by", "rank-by", "bind-to", "near",
];

/// These options decide about the placement alone, so two lines that differ only in them may have the same plan.
const PLACING: [&str; 4] = [
    "distribution",
    "hint",
    "threads-per-core",
    "ntasks-per-core",
];

/// Variables by which OpenMP's threads are placed.
const THREADS: [&str; 4] = [
    "OMP_NUM_THREADS",
    "OMP_PLACES",
    "OMP_PROC_BIND",
    "GOMP_CPU_AFFINITY",
];

/// An option with its words.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Typed {
    name: String,
    value: Option<String>,
    words: Vec<String>,
}

impl Typed {
    fn binds(&self) -> bool {
        BINDERS.contains(&self.name.as_str())
    }

    fn places(&self) -> bool {
        self.binds() || PLACING.contains(&self.name.as_str())
    }
}

/// A line taken apart.
#[derive(Clone, Debug, Default)]
pub struct TunedLine {
    /// Assignments, `NAME=VALUE`.
    pub variables: Vec<String>,
    /// The word `srun`, perhaps with its folder.
    pub srun: String,
    options: Vec<Typed>,
    /// The program and its words.
    pub program: Vec<String>,
}

impl TunedLine {
    /// Reads it.
    ///
    /// # Errors
    /// A line that needs a shell, does not begin with srun, has several components or no program.
    pub(super) fn read(line: &str) -> Result<Self, String> {
        let words = plain_words(line)?;
        let at = words.iter().position(|word| assignment(word).is_none());
        let (variables, rest) = words.split_at(at.unwrap_or(words.len()));
        let Some((srun, rest)) = rest.split_first().filter(|(word, _)| base(word) == "srun") else {
            return Err(format!(
                "\"{line}\" does not begin with srun; give a line such as 'srun -n8 -c4 ./app'"
            ));
        };
        let read = read(rest, Program::Srun, None);
        if read.more {
            let why = "a step of several components (:) is not tuned; give the line of one";
            return Err(why.into());
        }
        if read.program.is_empty() {
            return Err(format!(
                "\"{line}\" starts no program; add the one that is to be measured"
            ));
        }
        Ok(Self {
            variables: variables.to_vec(),
            srun: srun.clone(),
            options: typed(&read.options, rest),
            program: rest[rest.len() - read.program.len()..].to_vec(),
        })
    }

    /// The value of an option.
    pub(super) fn value(&self, name: &str) -> Option<&str> {
        let mut given = self.options.iter().rev();
        given.find(|one| one.name == name)?.value.as_deref()
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.options.iter().any(|one| one.name == name)
    }

    /// `-c`, if it is a number.
    pub(super) fn cpus_per_task(&self) -> Option<u32> {
        self.value("cpus-per-task")?.parse().ok()
    }

    /// The hardware threads of a core that it uses at most, if it says so.
    pub(super) fn threads_per_core(&self) -> Option<u32> {
        match self.value("threads-per-core") {
            Some(most) => most.parse().ok(),
            None => (self.value("hint") == Some("nomultithread")).then_some(1),
        }
    }

    /// This line with other options in place of its own.
    ///
    /// # Errors
    /// Words that are no options of srun.
    pub(super) fn with(&self, options: &str) -> Result<Self, String> {
        let wrong = |what: &str| {
            format!("\"{options}\" {what}; give options of srun, as in --also '--cpu-bind=cores'")
        };
        let words = shlex::split(options).ok_or_else(|| wrong("has a quote that is not closed"))?;
        let read = read(&words, Program::Srun, None);
        if !read.program.is_empty() || read.own_words != words.len() {
            return Err(wrong("has a word that is no option"));
        }
        let added = typed(&read.options, &words);
        let binds = added.is_empty() || added.iter().any(Typed::places);
        let mut line = self.clone();
        line.options
            .retain(|one| !(binds && one.binds() || added.iter().any(|new| new.name == one.name)));
        line.options.extend(added);
        Ok(line)
    }

    /// This line with more variables before it, unless it or the environment places OpenMP's threads already.
    /// Returns those of them that differ between lines too.
    pub(super) fn with_variables(
        &self,
        more: Vec<String>,
        is_set: impl Fn(&str) -> bool,
    ) -> (Self, Vec<String>) {
        let own = self.variables.iter().filter_map(|word| assignment(word));
        let mut names = own.map(|(name, _)| name);
        let mut line = self.clone();
        if names.any(|name| THREADS.contains(&name)) || THREADS.into_iter().any(is_set) {
            return (line, Vec::new());
        }
        let places = more.iter().filter(|word| word.starts_with("OMP_PLACES"));
        let places = places.cloned().collect();
        line.variables.splice(0..0, more);
        (line, places)
    }

    /// Whatever the engine does not look at: lines that differ in it are never alike.
    pub(super) fn beside_placement(&self) -> Vec<String> {
        let others = self.options.iter().filter(|one| !one.places());
        let words = others.flat_map(|one| &one.words);
        self.variables.iter().chain(words).cloned().collect()
    }

    /// A batch script that makes a job for the line: sbatch's part of its options, and the line as it is.
    pub(super) fn batch(&self) -> Vec<String> {
        let is_sbatchs = |one: &&Typed| {
            let read = read(&one.words, Program::Sbatch, None);
            !one.binds() && read.options.iter().all(|given| given.trouble.is_none())
        };
        let jobs = self.options.iter().filter(is_sbatchs);
        let words = jobs.map(|one| joined(one.words.iter().map(String::as_str)));
        let mut lines = vec!["#!/bin/bash".to_string()];
        lines.extend(words.map(|words| format!("#SBATCH {words}")));
        lines.push(self.text());
        lines
    }

    /// The words of srun's options.
    pub fn options(&self) -> impl Iterator<Item = &String> {
        self.options.iter().flat_map(|one| &one.words)
    }

    /// As it is typed.
    pub(super) fn text(&self) -> String {
        let words = self.variables.iter().chain([&self.srun]);
        let words = words.chain(self.options()).chain(&self.program);
        joined(words.map(String::as_str))
    }
}

/// Words as they are typed in a shell.
pub(super) fn joined<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let words = words.map(|word| match word {
        "" => "''".into(),
        word => quoted(word),
    });
    words.collect::<Vec<_>>().join(" ")
}

fn typed(options: &[LineOption], words: &[String]) -> Vec<Typed> {
    let typed = |given: &LineOption| Typed {
        name: given.name.clone(),
        value: given.value.clone(),
        words: words.get(given.words.clone()).unwrap_or_default().to_vec(),
    };
    options.iter().map(typed).collect()
}

/// The words of a line that needs no shell.
fn plain_words(line: &str) -> Result<Vec<String>, String> {
    let found = scan(line.as_bytes());
    let words = shlex::split(line).filter(|_| found.unclosed.is_none());
    let words = words.ok_or("a quote of the line is not closed; close it")?;
    let is_plain = match found.commands.as_slice() {
        [one] => {
            let texts = one.words.iter().map(|word| &word.text);
            let is_known = |word: &Word| !word.is_computed && !word.may_split;
            let is_simple = one.outputs.is_empty() && !one.in_background && one.block == 0;
            is_simple && texts.eq(&words) && one.words.iter().all(is_known)
        }
        _ => false,
    };
    match is_plain {
        true => Ok(words),
        false => Err(format!(
            "\"{line}\" needs a shell (a variable, a redirection or several commands), and berth tune starts the \
             line without one; put that into a script, and give 'srun … ./script'"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_replace_those_of_the_line() {
        let line = "A=1 srun -n4 --cpu-bind=cores -c 2 -m block:block ./app 'a b' --cpu-bind=x";
        let line = TunedLine::read(line).unwrap();
        for (options, text) in [
            (
                "",
                "A=1 srun -n4 -c 2 -m block:block ./app 'a b' '--cpu-bind=x'",
            ),
            (
                "--mpi=pmix",
                "A=1 srun -n4 '--cpu-bind=cores' -c 2 -m block:block '--mpi=pmix' ./app 'a b' '--cpu-bind=x'",
            ),
            (
                "--binding=auto -m cyclic",
                "A=1 srun -n4 -c 2 '--binding=auto' -m cyclic ./app 'a b' '--cpu-bind=x'",
            ),
        ] {
            let spelled = line.with(options).unwrap().text();
            assert_eq!(shlex::split(&spelled), shlex::split(text), "{options}");
        }
        assert!(line.with("-n 2 ./other").unwrap_err().contains("no option"));
        assert_eq!(line.value("cpus-per-task"), Some("2"));
    }

    #[test]
    fn what_needs_a_shell_is_refused() {
        for line in [
            "srun ./a > b",
            "srun ./a | tail",
            "srun -n $N ./a",
            "cd x && srun ./a",
            "srun ./a < b",
            "srun ./a &",
        ] {
            assert!(
                TunedLine::read(line).unwrap_err().contains("needs a shell"),
                "{line}"
            );
        }
        assert!(
            TunedLine::read("srun -n4")
                .unwrap_err()
                .contains("starts no program")
        );
        assert!(
            TunedLine::read("./app")
                .unwrap_err()
                .contains("does not begin with srun")
        );
        assert!(
            TunedLine::read("srun -n1 a : -n2 b")
                .unwrap_err()
                .contains("components")
        );
    }
}
