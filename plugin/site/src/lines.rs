//! The lines of a file of the site, each cut into its words: `key=value key='a value' # comment`.
//! In: the file's bytes. Out: the words of each line, and their values, or the first wrong line with its number and the
//! reason. Pure.

use berth_placement::sets::text::{MOST_TYPOS, nearest, shown};

use crate::read_settings::is_all;

/// Lines of the file, comments too.
const MOST_LINES: usize = 1 << 12;
/// Bytes of a line: two requests of the longest kind fit.
const LINE: usize = 20 << 10;
/// Bytes of a name.
const NAME: usize = 64;
/// Names in a list of users, accounts or partitions.
const MOST_NAMES: usize = 1 << 12;
/// A line has fewer words than this.
const MOST_WORDS: usize = 32;
/// Characters of a word that a reason repeats.
pub(crate) const SHOWN: usize = 60;

/// A line, and what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {why}")]
pub struct LineError {
    /// Its number, from 1.
    pub line: usize,
    /// The reason, as a part of a sentence.
    pub why: String,
}

/// Gives the words of each line that has some.
///
/// # Errors
/// [`LineError`] for the first line that cannot be read, or that is not taken.
pub(crate) fn each_line(
    text: &[u8],
    mut take: impl FnMut(usize, &[Word]) -> Result<(), String>,
) -> Result<(), LineError> {
    for (line, bytes) in (1..).zip(text.split(|byte| *byte == b'\n')) {
        let taken = words_of(line, bytes).and_then(|words| match words.is_empty() {
            true => Ok(()),
            false => take(line, &words),
        });
        taken.map_err(|why| LineError { line, why })?;
    }
    Ok(())
}

fn words_of(line: usize, bytes: &[u8]) -> Result<Vec<Word>, String> {
    if line > MOST_LINES {
        return Err(format!("the file has more than {MOST_LINES} lines"));
    }
    if bytes.len() > LINE {
        return Err(format!("the line has more than {LINE} bytes"));
    }
    words(std::str::from_utf8(bytes).map_err(|_| "the line is no text in UTF-8")?)
}

/// Each key is known, stands once, and has a value.
pub(crate) fn check_keys(words: &[Word], known: &[&str]) -> Result<(), String> {
    for (index, word) in words.iter().enumerate() {
        let key = &*word.key;
        if !known.contains(&key) {
            let shown = shown(SHOWN, key);
            return Err(match nearest(key, known.iter().copied(), MOST_TYPOS) {
                Some(near) => format!("there is no key {shown} here; the nearest is {near}"),
                None => format!(
                    "there is no key {shown} here; the keys are {}",
                    known.join(", ")
                ),
            });
        }
        if words.iter().take(index).any(|before| before.key == key) {
            return Err(format!("{key}= stands twice; keep one of them"));
        }
        if word.value.is_empty() {
            return Err(format!(
                "{key}= has no value; give one, or leave the word out"
            ));
        }
    }
    Ok(())
}

pub(crate) fn value<'a>(words: &'a [Word], key: &str) -> Option<&'a str> {
    let word = words.iter().find(|word| word.key == key)?;
    Some(&word.value)
}

pub(crate) fn needed<'a>(words: &'a [Word], key: &str) -> Result<&'a str, String> {
    value(words, key).ok_or_else(|| format!("{key}= is missing, and the line needs it"))
}

/// Whether a line is for this node, by its `nodes=`.
pub(crate) fn is_here(
    words: &[Word],
    has_node: &dyn Fn(&str) -> Result<bool, String>,
) -> Result<bool, String> {
    match value(words, "nodes") {
        Some(nodes) if !is_all(nodes) => has_node(nodes).map_err(|why| format!("nodes=: {why}")),
        _ => Ok(true),
    }
}

/// Names with commas between them.
pub(crate) fn names(key: &str, list: &str) -> Result<Vec<String>, String> {
    if list.split(',').count() > MOST_NAMES {
        return Err(format!("{key}= has more than {MOST_NAMES} names"));
    }
    list.split(',').map(|word| name(key, word)).collect()
}

/// Whether a line's list has a job's name; a line without the list takes every job.
pub(crate) fn takes(list: Option<&[String]>, own: &str) -> bool {
    list.is_none_or(|names| names.iter().any(|name| name == own))
}

/// As [`takes`], for the names that Slurm's accounting keeps in small letters.
pub(crate) fn takes_any_case(list: Option<&[String]>, own: &str) -> bool {
    list.is_none_or(|names| names.iter().any(|name| name.eq_ignore_ascii_case(own)))
}

/// A name has letters that no shell, list or log takes for anything else.
pub(crate) fn name(key: &str, text: &str) -> Result<String, String> {
    let fits = |letter: char| letter.is_alphanumeric() || "_-.@+".contains(letter);
    match !text.is_empty() && text.len() <= NAME && text.chars().all(fits) {
        true => Ok(text.into()),
        false => Err(format!(
            "{key}=: \"{}\" is no name (1 to {NAME} letters, digits and the signs _-.@+)",
            shown(SHOWN, text)
        )),
    }
}

/// A word of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    pub key: String,
    /// The value without its quotes.
    pub value: String,
}

/// The words of a line. Quotes of both kinds keep blanks, `#` and each other; a `#` at the beginning of a
/// word begins a comment.
pub(crate) fn words(line: &str) -> Result<Vec<Word>, String> {
    let mut words = Vec::new();
    let mut letters = line.chars().peekable();
    loop {
        while letters.next_if(|letter| letter.is_whitespace()).is_some() {}
        if matches!(letters.peek(), None | Some('#')) {
            return Ok(words);
        }
        if words.len() == MOST_WORDS {
            return Err(format!("the line has more than {MOST_WORDS} words"));
        }
        words.push(word(&mut letters)?);
    }
}

/// One word, up to the next blank outside quotes.
fn word(letters: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Result<Word, String> {
    let (mut text, mut key, mut quote) = (String::new(), None, None);
    while let Some(letter) = letters.next_if(|letter| quote.is_some() || !letter.is_whitespace()) {
        match (letter, quote) {
            (letter, Some(open)) if letter == open => quote = None,
            ('\'' | '"', None) => quote = Some(letter),
            ('=', None) if key.is_none() => key = Some(std::mem::take(&mut text)),
            (letter, _) => text.push(letter),
        }
    }
    match (quote, key) {
        (Some(quote), _) => Err(format!("the quote {quote} does not end on this line")),
        (None, None) => Err(format!(
            "{} is no word of the form key=value",
            shown(SHOWN, &text)
        )),
        (None, Some(key)) => Ok(Word { key, value: text }),
    }
}
