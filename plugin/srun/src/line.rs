//! A command line of srun, sbatch or salloc taken apart, as `getopt_long` does it: options in their
//! order, and the program. Options that the table does not have are kept as they stand.
//! In: the words after the command's name. Out: [`Line`].

use std::ops::Range;

use crate::options::{Command, Foreign, Lookup, Takes, foreign, long, short};
use crate::release::Release;

/// An option of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineOption {
    /// Its long name; for an option that is not in the table, the typed word without the dashes.
    pub name: String,
    /// The name by which it was typed, if that is another one.
    pub alias: Option<&'static str>,
    /// Its value, if one stands there.
    pub value: Option<String>,
    /// The words that it takes.
    pub words: Range<usize>,
    /// The reason why the command would refuse it.
    pub trouble: Option<Trouble>,
    /// The option of another SPANK plugin that it is, if the plugin is a known one.
    pub foreign: Option<&'static Foreign>,
    /// The variable that gives it, if it does not stand on the line.
    pub variable: Option<String>,
    /// Whether it is an option of the job around a step. slurmctld knows such an option even if the step's request
    /// does not have it.
    pub is_jobs: bool,
}

impl LineOption {
    /// An option without words of its own.
    #[must_use]
    pub fn typed(name: &str, value: Option<String>) -> Self {
        Self {
            name: name.into(),
            alias: None,
            value,
            words: 0..0,
            trouble: None,
            foreign: None,
            variable: None,
            is_jobs: false,
        }
    }

    /// An option that a variable gives.
    #[must_use]
    pub fn by_variable(variable: &str, name: &str, value: &str) -> Self {
        Self {
            variable: Some(variable.into()),
            ..Self::typed(name, Some(value.into()))
        }
    }

    /// Its value; empty where it has none.
    #[must_use]
    pub(crate) fn text(&self) -> &str {
        self.value.as_deref().unwrap_or_default()
    }

    /// Whether it stands on the line, and no variable gives it.
    pub(crate) fn is_typed(&self) -> bool {
        self.variable.is_none()
    }

    /// Whether a word may have been taken for its value, because the table does not have it.
    pub(crate) fn is_guessed(&self) -> bool {
        match self.trouble {
            Some(Trouble::Unknown) => self.words.len() > 1,
            Some(Trouble::Ambiguous(_)) => true,
            _ => false,
        }
    }
}

/// A fault of an option that shows before its value is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The table does not have it. It may be an option of a SPANK plugin; if a word that is no
    /// option follows it, that word was read as its value.
    Unknown,
    /// It abbreviates several options.
    Ambiguous(Vec<&'static str>),
    /// It needs a value and the line ends.
    NoValue,
    /// It takes no value and has one.
    UnwantedValue,
}

/// A command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// The options, in the order in which they stand there.
    pub options: Vec<LineOption>,
    /// The program and its words; in a step of several components, those of the first.
    pub program: Vec<String>,
    /// The number of words that are the command's own.
    pub own_words: usize,
    /// Whether further components follow (`srun A : B`).
    pub more: bool,
}

/// Takes the words behind the command's name apart. Without a release every option of any line
/// is known, in its newest form.
pub fn read<W: AsRef<str>>(words: &[W], command: Command, release: Option<Release>) -> Line {
    let mut reader = Reader {
        words,
        at: 0,
        table: (command, release),
        options: Vec::new(),
    };
    while let Some(word) = reader.word().filter(|word| is_option(word)) {
        let from = reader.at;
        reader.at += 1;
        match word.strip_prefix("--") {
            Some("") => break,
            Some(long) => reader.long(long, from),
            None => reader.short(word.get(1..).unwrap_or_default(), from),
        }
    }
    let rest: Vec<String> = words
        .iter()
        .skip(reader.at)
        .map(|word| word.as_ref().to_string())
        .collect();
    let program: Vec<_> = rest
        .iter()
        .take_while(|word| *word != ":")
        .cloned()
        .collect();
    Line {
        options: reader.options,
        own_words: reader.at,
        more: program.len() < rest.len(),
        program,
    }
}

fn is_option(word: &str) -> bool {
    word.len() > 1 && word.starts_with('-')
}

struct Reader<'a, W> {
    words: &'a [W],
    at: usize,
    table: (Command, Option<Release>),
    options: Vec<LineOption>,
}

impl<'a, W: AsRef<str>> Reader<'a, W> {
    fn word(&self) -> Option<&'a str> {
        self.words.get(self.at).map(AsRef::as_ref)
    }

    fn next(&mut self) -> Option<String> {
        let word = self.word()?;
        self.at += 1;
        Some(word.into())
    }

    fn long(&mut self, text: &str, from: usize) {
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value.to_string())),
            None => (text, None),
        };
        let given = match long(self.table.0, self.table.1, name) {
            Lookup::Option(row) => LineOption {
                alias: Some(row.typed).filter(|typed| *typed != row.name()),
                ..self.taking(row.takes, row.name(), value)
            },
            Lookup::Ambiguous(names) => LineOption {
                trouble: Some(Trouble::Ambiguous(names)),
                ..LineOption::typed(name, value)
            },
            Lookup::Unknown => match foreign(name) {
                Some(row) => LineOption {
                    foreign: Some(row),
                    ..self.taking(row.takes, row.name, value)
                },
                None => self.unknown(name, value),
            },
        };
        self.push(given, from);
    }

    /// An option that the tables do not have. A word that is no option is read as its value.
    fn unknown(&mut self, name: &str, value: Option<String>) -> LineOption {
        let next = self.word().is_some_and(|next| !next.starts_with('-'));
        let value = match value {
            None if next => self.next(),
            value => value,
        };
        LineOption {
            trouble: Some(Trouble::Unknown),
            ..LineOption::typed(name, value)
        }
    }

    /// An option with its value, which may be the next word.
    fn taking(&mut self, takes: Takes, name: &str, value: Option<String>) -> LineOption {
        let (value, trouble) = match (takes, value) {
            (Takes::Nothing, Some(value)) => (Some(value), Some(Trouble::UnwantedValue)),
            (Takes::Value, None) => match self.next() {
                None => (None, Some(Trouble::NoValue)),
                value => (value, None),
            },
            (_, value) => (value, None),
        };
        LineOption {
            trouble,
            ..LineOption::typed(name, value)
        }
    }

    /// The letters of one word, as in `-ul` or `-n4`.
    fn short(&mut self, letters: &str, from: usize) {
        let mut rest = letters.chars();
        while let Some(letter) = rest.next() {
            let Some(row) = short(self.table.0, self.table.1, letter) else {
                let given = LineOption {
                    trouble: Some(Trouble::Unknown),
                    ..LineOption::typed(&letter.to_string(), None)
                };
                self.push(given, from);
                continue;
            };
            let attached = Some(rest.as_str()).filter(|text| !text.is_empty());
            let attached = attached.map(String::from);
            let given = match row.takes {
                Takes::Nothing => LineOption::typed(row.name(), None),
                takes => self.taking(takes, row.name(), attached),
            };
            self.push(given, from);
            if row.takes != Takes::Nothing {
                return;
            }
        }
    }

    fn push(&mut self, given: LineOption, from: usize) {
        self.options.push(LineOption {
            words: from..self.at,
            ..given
        });
    }
}

impl Line {
    /// Whether a word may have been taken for a value that was none: an option that the table does
    /// not have stands before a word that is no option.
    #[must_use]
    pub fn is_unsure(&self) -> bool {
        self.options.iter().any(LineOption::is_guessed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #![proptest_config(crate::random::config(256))]

        /// Whatever the words are, each option has words of its own, in their order.
        #[test]
        fn any_words_are_read(words in proptest::collection::vec("-{0,2}[a-zé=:]{0,8}", 0..8)) {
            let found = read(&words, Command::Srun, None);
            let mut last = 0;
            for given in &found.options {
                proptest::prop_assert!(given.words.start >= last && given.words.end <= found.own_words);
                last = given.words.start;
            }
            proptest::prop_assert!(found.own_words <= words.len());
        }
    }
}
