//! One command of a script with the places of its words, and the changes that can be made to it.
//!
//! Lines and scripts of Grid Engine and LSF are recognised, and the page is named that has Slurm's words for theirs: what
//! such a script means hangs together too much for a translation word by word.

use berth_srun::line::{LineOption, Trouble, read};
use berth_srun::options::{Lookup, Takes, long, nearest};
use berth_srun::{Line, Program};

use super::finding::{Edit, Finding, Repair, replaced};
use super::variables::{Variables, may_be_options};
use crate::lines::System;
use crate::shell::Word;

/// The kind of a command, for a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Srun,
    /// A line of sbatch or salloc, or all `#SBATCH` lines of a script.
    Job(Program),
    Mpirun,
}

impl Kind {
    /// The command of Slurm's whose options it has.
    pub(crate) fn program(self) -> Program {
        match self {
            Self::Job(program) => program,
            Self::Srun | Self::Mpirun => Program::Srun,
        }
    }
}

/// A command of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Command {
    /// Its line, from 1.
    pub number: usize,
    pub kind: Kind,
    /// The program's word; directives have an empty one.
    pub name: Word,
    /// The words behind it.
    pub words: Vec<Word>,
    pub line: Line,
    /// Variables that are set when it runs, by the script or before it on its line.
    pub variables: Variables,
    /// Variables that it does not find: they are not exported, or taken away.
    pub hidden: Variables,
    pub in_background: bool,
    pub loops: usize,
    /// The number of times that the script has waited before it.
    pub waits: usize,
    /// The number of its pipeline in the script.
    pub pipeline: usize,
    /// The block that it stands in.
    pub block: usize,
    /// Whether it reads the input of the loop around it.
    pub reads_loop_input: bool,
    /// Whether the script of this sbatch is known, and checked with its options.
    pub is_known_job: bool,
}

impl Command {
    /// The words of the program that it starts.
    pub(crate) fn program(&self) -> &[Word] {
        self.words.get(self.line.own_words..).unwrap_or_default()
    }

    /// Whether every option stands there, and none comes from a variable.
    pub(crate) fn is_complete(&self) -> bool {
        let own = self.words.iter().take(self.line.own_words);
        // A value in a word of its own is one option's, however many words it becomes.
        let given = &self.line.options;
        let is_value = |at: usize| given.iter().any(|given| given.words.contains(&at));
        let mut loose = own.enumerate();
        let program = self.program().first();
        !self.line.is_unsure()
            && !loose.any(|(at, word)| word.may_split && !is_value(at))
            && !program.is_some_and(may_be_options)
    }

    /// The option that counts of that name.
    pub(crate) fn option(&self, name: &str) -> Option<&LineOption> {
        let mut all = self.line.options.iter().rev();
        all.find(|given| given.name == name && given.trouble != Some(Trouble::Unknown))
    }

    /// Whether an option's value is known only when the script runs.
    pub(crate) fn is_computed(&self, given: &LineOption) -> bool {
        let words = self.words.get(given.words.clone()).unwrap_or_default();
        words.iter().any(|word| word.is_computed)
    }

    /// Puts words behind the last option.
    pub(crate) fn insert(&self, words: &str) -> Option<Repair> {
        let last = self.line.options.iter().map(|given| given.words.end).max();
        let word = match last {
            Some(end) => self.words.get(end.checked_sub(1)?)?,
            None => &self.name,
        };
        let end = word.range.end;
        (!word.range.is_empty()).then(|| replaced(end..end, format!(" {words}")))
    }

    /// Gives an option another value.
    pub(crate) fn revalue(&self, text: &[u8], given: &LineOption, value: &str) -> Option<Repair> {
        let old = given.value.as_deref()?;
        let word = self.words.get(given.words.end.checked_sub(1)?)?;
        // Quotes around a value stay.
        let start = places(text, word, old).next_back();
        let start = start.filter(|_| !word.is_computed)?;
        Some(replaced(start..start + old.len(), value))
    }

    /// Gives an option another name.
    pub(crate) fn rename(&self, text: &[u8], given: &LineOption, name: &str) -> Option<Repair> {
        let word = self.words.get(given.words.start)?;
        let start = places(text, word, &format!("--{}", given.name)).next();
        let start = start.filter(|_| !given.name.is_empty())? + 2;
        Some(replaced(start..start + given.name.len(), name))
    }

    /// Takes an option away, with the blanks before it on its line. Letters that share a word stay
    /// together.
    pub(crate) fn remove(&self, text: &[u8], given: &LineOption) -> Option<Repair> {
        let same = |other: &&LineOption| other.words.start == given.words.start;
        let is_alone = self.line.options.iter().filter(same).count() == 1;
        is_alone.then_some(())?;
        let words = self.words.get(given.words.clone())?;
        words.iter().map(|word| without(text, word)).collect()
    }

    /// Sets options, each of which is one word: a new value where the option stands, else the word at the end.
    pub(crate) fn set(&self, text: &[u8], options: &[String]) -> Option<Repair> {
        let line = read(options, Program::Srun, None);
        let one = |(option, word): (&LineOption, &String)| match self.option(&option.name) {
            Some(given) => self.revalue(text, given, option.value.as_deref()?),
            None => self.insert(word),
        };
        let edits: Option<Vec<_>> = line.options.iter().zip(options).map(one).collect();
        edits.map(|edits| edits.concat())
    }
}

/// Where a part of a word stands in the text.
fn places(text: &[u8], word: &Word, part: &str) -> impl DoubleEndedIterator<Item = usize> {
    let bytes = text.get(word.range.clone()).unwrap_or_default();
    let parts = bytes.windows(part.len().max(1)).enumerate();
    let places = parts.filter(|(_, found)| *found == part.as_bytes());
    places.map(|(at, _)| word.range.start + at)
}

/// Takes a word away, with the blanks before it; none if a quote, an escape or a variable would go
/// with it.
pub(crate) fn without(text: &[u8], word: &Word) -> Option<Edit> {
    let before = text.get(..word.range.start)?;
    let blanks = before.iter().rev().take_while(|byte| b" \t".contains(byte));
    let blanks = blanks.count();
    // The indentation of a line stays.
    let rest = before.get(..before.len() - blanks)?;
    let is_first = rest.is_empty() || rest.ends_with(b"\n");
    let start = word.range.start - if is_first { 0 } else { blanks };
    (word.is_plain && !word.is_computed).then(|| Edit {
        range: start..word.range.end,
        text: String::new(),
    })
}

/// Cuts a line behind an option that the table does not have, if a word may be its value or the
/// program: what follows is not known. If the nearest option has a value, the word is meant as one.
pub(super) fn certain(line: &mut Line, release: berth_srun::Release, kind: Kind) {
    let program = kind.program();
    let guessed = |given: &LineOption| {
        let near = || nearest(&given.name, program, release);
        let row = || match long(program, Some(release), near()?) {
            Lookup::Option(row) => Some(row.takes),
            _ => None,
        };
        let is_guess = given.trouble == Some(Trouble::Unknown) && given.words.len() > 1;
        is_guess && row() != Some(Takes::Value)
    };
    if let Some(at) = line.options.iter().position(guessed) {
        line.options.truncate(at + 1);
        line.own_words = line.options.last().map_or(0, |given| given.words.end);
    }
}

/// A line of another system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Foreign {
    /// Its number, from 1.
    pub line: usize,
    pub system: System,
    /// Whether it is a directive of a script, which Slurm takes for a comment.
    pub is_directive: bool,
}

impl Foreign {
    /// The finding: which page to read.
    pub(super) fn finding(self) -> Finding {
        let rule = self.system.rule();
        let what = match self.is_directive {
            true => "script",
            false => "line",
        };
        let found = format!("this is a {what} of {}", self.system);
        let why = format!("berth check reads Slurm's; {}", self.system.page());
        Finding::warning(self.line, rule, found, &why)
    }
}
