//! slurm.conf as lines of keys and values, with its included files, and the values of keys: numbers within bounds, yes
//! and no, and the defaults before a line.
//! In: texts; [`Files`] gives included ones. Out: [`Line`]s in their order, a key's value, or an error with its place.
//! Every size is bounded. Source: `_get_next_line`, `keyvalue_pattern` and `_parse_include_directive` of
//! src/common/parse_config.c.

use std::fmt;
use std::sync::Arc;

use berth_placement::sets::limits::NODE_LIST;

/// Bytes of all files together.
pub const MOST_BYTES: usize = 32 << 20;
/// Included files.
const MOST_FILES: usize = 256;
/// Files that include each other.
const MOST_DEPTH: usize = 8;
/// Keys of one line.
const MOST_PAIRS: usize = 256;

/// An error in a configuration, and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfError {
    /// The file, or the command whose output it is.
    pub file: Arc<str>,
    /// The line, from 1; 0 is no line.
    pub line: u32,
    /// The words that were found, and what to do.
    pub why: String,
}

impl fmt::Display for ConfError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.file, self.why),
            line => write!(f, "{}:{line}: {}", self.file, self.why),
        }
    }
}

impl std::error::Error for ConfError {}

/// The place of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub file: Arc<str>,
    /// The line, from 1.
    pub line: u32,
}

impl Place {
    /// An error here. Control characters of what it quotes are replaced, and a long text is cut.
    #[must_use]
    pub fn error(&self, why: &str) -> ConfError {
        let mut letters = why.chars();
        let plain = |letter: char| match letter.is_control() {
            true => char::REPLACEMENT_CHARACTER,
            false => letter,
        };
        let mut why: String = letters.by_ref().take(300).map(plain).collect();
        if letters.next().is_some() {
            why.push('…');
        }
        ConfError {
            file: Arc::clone(&self.file),
            line: self.line,
            why,
        }
    }
}

/// One line: keys in lower case, with their values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Where it begins.
    pub place: Place,
    /// Its keys and values in their order.
    pub pairs: Vec<(String, String)>,
}

impl Line {
    /// The value of a key in lower case: the last one counts.
    #[must_use]
    pub fn value(&self, key: &str) -> Option<&str> {
        let found = self.pairs.iter().rev().find(|(known, _)| known == key);
        found.map(|(_, value)| value.as_str())
    }
}

/// Gives included files: from a name as it is written to the text, or to the reason why not.
pub type Files<'a> = dyn FnMut(&str) -> Result<String, String> + 'a;

/// Takes one line.
pub(super) type Each<'a> = dyn FnMut(Line) -> Result<(), ConfError> + 'a;

/// Gives the lines of a text and of the files that it includes, one after the other.
///
/// # Errors
/// A line that Slurm does not read, an included file that is not there, or one of the bounds.
pub(super) fn lines(
    file: &str,
    text: &str,
    files: &mut Files<'_>,
    each: &mut Each<'_>,
) -> Result<(), ConfError> {
    let mut reader = Reader {
        files,
        each,
        bytes: 0,
        included: 0,
    };
    reader.read(file, text, 0)
}

/// The last value of a key in lower case, in a text and the files that it includes. What stands behind a line that Slurm does
/// not read counts for nothing.
#[must_use]
pub fn last_value(file: &str, text: &str, key: &str, files: &mut Files<'_>) -> Option<String> {
    let mut last = None;
    let _ = lines(file, text, files, &mut |line| {
        last = line.value(key).map(String::from).or(last.take());
        Ok(())
    });
    last
}

struct Reader<'a, 'f, 'e> {
    files: &'a mut Files<'f>,
    each: &'a mut Each<'e>,
    bytes: usize,
    included: usize,
}

impl Reader<'_, '_, '_> {
    fn read(&mut self, file: &str, text: &str, depth: usize) -> Result<(), ConfError> {
        let file: Arc<str> = file.into();
        let at = |line| Place {
            file: Arc::clone(&file),
            line,
        };
        self.bytes = self.bytes.saturating_add(text.len());
        if self.bytes > MOST_BYTES {
            let why = "the configuration has more than 32 MiB; give a shorter file";
            return Err(at(0).error(why));
        }
        let mut whole = String::new();
        let mut from = 1;
        for (number, line) in (1..).zip(text.lines()) {
            if whole.is_empty() {
                from = number;
            }
            let line = without_comment(line);
            match line.strip_suffix('\\') {
                Some(begun) => whole.push_str(begun),
                None => {
                    whole.push_str(line);
                    self.line(at(from), &whole, depth)?;
                    whole.clear();
                }
            }
        }
        self.line(at(from), &whole, depth)
    }

    fn line(&mut self, place: Place, text: &str, depth: usize) -> Result<(), ConfError> {
        let text = text.trim();
        if text.is_empty() {
            return Ok(());
        }
        if let Some(name) = included(text) {
            self.included += 1;
            if depth >= MOST_DEPTH || self.included > MOST_FILES {
                let why = "more than 8 files include each other, or there are more than 256";
                return Err(place.error(why));
            }
            let found = (self.files)(name);
            let found = found.map_err(|why| place.error(&format!("Include {name}: {why}")))?;
            return self.read(name, &found, depth + 1);
        }
        let pairs = pairs(text).map_err(|why| place.error(&why))?;
        (self.each)(Line { place, pairs })
    }
}

fn included(text: &str) -> Option<&str> {
    let (word, rest) = text.split_once(char::is_whitespace)?;
    let is_include = word.eq_ignore_ascii_case("include");
    rest.split_whitespace()
        .next()
        .filter(|_| is_include && !rest.trim_start().starts_with('='))
}

/// The line up to a `#` that is not escaped.
fn without_comment(line: &str) -> &str {
    let mut escapes = 0;
    for (at, letter) in line.bytes().enumerate() {
        match letter {
            b'#' if escapes % 2 == 0 => return line.get(..at).unwrap_or_default(),
            b'\\' => escapes += 1,
            _ => escapes = 0,
        }
    }
    line
}

/// The keys and values of a line; blanks may stand around `=`.
pub(super) fn pairs(text: &str) -> Result<Vec<(String, String)>, String> {
    let mut pairs = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        if pairs.len() == MOST_PAIRS {
            return Err("more than 256 keys on one line; write fewer".into());
        }
        let is_key = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '.');
        let end = rest.find(|letter| !is_key(letter)).unwrap_or(rest.len());
        let (key, behind) = rest.split_at(end);
        let behind = behind.trim_start();
        let value = behind.strip_prefix('=').filter(|_| !key.is_empty());
        let value = value.ok_or_else(|| format!("\"{rest}\" is no KEY=VALUE; write one"))?;
        let value = value.trim_start();
        let (value, behind) = value_of(value)
            .ok_or_else(|| format!("\"{rest}\" has no value that Slurm reads; write KEY=VALUE"))?;
        if value.len() > NODE_LIST {
            return Err(format!(
                "the value of {key} has more than {} KiB",
                NODE_LIST >> 10
            ));
        }
        pairs.push((key.to_ascii_lowercase(), value.to_string()));
        rest = behind.trim_start();
    }
    Ok(pairs)
}

/// A value in quotes, or up to a blank, and what stands behind it.
fn value_of(text: &str) -> Option<(&str, &str)> {
    if let Some(quoted) = text.strip_prefix('"')
        && let Some((value, behind)) = quoted.split_once('"')
        && (behind.is_empty() || behind.starts_with(char::is_whitespace))
    {
        return Some((value, behind));
    }
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    (end > 0).then(|| text.split_at(end))
}

impl Line {
    /// The line behind the lines `NAME=DEFAULT` before it, of which it overrides what it gives itself.
    pub(super) fn after(&self, default: Option<&Self>) -> Self {
        let before = default.into_iter().flat_map(|default| &default.pairs);
        Self {
            place: self.place.clone(),
            pairs: before.chain(&self.pairs).cloned().collect(),
        }
    }

    /// A number of at most `most`; `UNLIMITED` and `INFINITE` are none.
    pub(super) fn number(&self, key: &str, most: u64) -> Result<Option<u64>, ConfError> {
        let none = ["unlimited", "infinite", "n/a"];
        let is_none = |text: &&str| none.iter().any(|word| text.eq_ignore_ascii_case(word));
        let Some(text) = self.value(key).filter(|text| !is_none(text)) else {
            return Ok(None);
        };
        let number = text.parse().ok().filter(|number| *number <= most);
        let why = || format!("{key}={text} is no number from 0 to {most}; write one");
        number.map(Some).ok_or_else(|| self.place.error(&why()))
    }

    /// A number of at most 65535, of which 0 counts as 1; `UNLIMITED` and `INFINITE` are none.
    pub(super) fn count(&self, key: &str) -> Result<Option<u32>, ConfError> {
        let found = self.number(key, u16::MAX.into())?;
        Ok(found.map(|found| (found as u32).max(1)))
    }

    /// Yes or no; no where it is not given.
    pub(super) fn yes(&self, key: &str) -> Result<bool, ConfError> {
        let text = self.value(key).unwrap_or("no");
        match text.to_ascii_lowercase().as_str() {
            "yes" | "up" | "true" | "1" => Ok(true),
            "no" | "down" | "false" | "0" => Ok(false),
            _ => {
                let why = format!("{key}={text} is neither YES nor NO; write one");
                Err(self.place.error(&why))
            }
        }
    }
}

/// Adds a line to the defaults: a later `DEFAULT` line replaces only the values that it has.
pub(super) fn merged(default: Option<Line>, line: Line) -> Result<Line, ConfError> {
    let Some(mut all) = default else {
        return Ok(line);
    };
    all.pairs.retain(|(key, _)| line.value(key).is_none());
    all.pairs.extend(line.pairs);
    match all.pairs.len() > MOST_PAIRS {
        true => Err(line
            .place
            .error("the DEFAULT lines have more than 256 keys in all")),
        false => Ok(all),
    }
}
