//! Reads the text of the site's file of cpusets, each line cut into its words: `key=value key='a value' # comment`.
//! In: its bytes, and the node's answers to "is this host list mine?" and "who is this user?". Out:
//! [`SiteCpusets`], or the first wrong line with its number and the reason. Pure.

use std::fmt;

use berth_placement::request::cpuset::{Attributes, Dynamic, Keyword, Words};
use berth_placement::sets::text::{MOST_TYPOS, nearest, shown};
use berth_placement::{CpuSet, CpusetError, CpusetRequest};

use super::{PartitionWords, SiteCpusets, StaticSet};
use crate::read_settings::is_all;

/// Lines of the file, comments too.
pub(crate) const MOST_LINES: usize = 1 << 12;
/// Bytes of a line: two requests of the longest kind fit.
pub(crate) const LINE: usize = 20 << 10;
/// Bytes of a name.
const NAME: usize = 64;
/// Names in a list of users, accounts or partitions.
const MOST_NAMES: usize = 1 << 12;

const OF_A_SET: [&str; 8] = [
    "name",
    "nodes",
    "cpus",
    "mems",
    "users",
    "accounts",
    "partitions",
    "options",
];
const OF_A_PARTITION: [&str; 3] = ["partition", "default", "mandatory"];

/// The node's facts beside the file.
pub struct Site<'a> {
    /// Whether a host list has this node, or why the list cannot be read.
    pub is_here: &'a dyn Fn(&str) -> Result<bool, String>,
    /// A user's number, or nothing if there is no such user.
    pub uid: &'a dyn Fn(&str) -> Option<u32>,
}

/// A line, and what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineError {
    /// Its number, from 1.
    pub line: usize,
    /// The reason, as a part of a sentence.
    pub why: String,
}

impl fmt::Display for LineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.why)
    }
}

impl std::error::Error for LineError {}

/// Reads the text.
///
/// # Errors
/// [`LineError`] for the first wrong line.
pub fn read(text: &[u8], site: &Site<'_>) -> Result<SiteCpusets, LineError> {
    let mut all = SiteCpusets::default();
    for (index, bytes) in text.split(|byte| *byte == b'\n').enumerate() {
        let line = index + 1;
        let added = one(bytes, line, site, &mut all);
        added.map_err(|why| LineError { line, why })?;
    }
    Ok(all)
}

/// Adds what one line says.
fn one(bytes: &[u8], line: usize, site: &Site<'_>, all: &mut SiteCpusets) -> Result<(), String> {
    if line > MOST_LINES {
        return Err(format!("the file has more than {MOST_LINES} lines"));
    }
    if bytes.len() > LINE {
        return Err(format!("the line has more than {LINE} bytes"));
    }
    let text = std::str::from_utf8(bytes).map_err(|_| "the line is no text in UTF-8")?;
    let words = words(text)?;
    let Some(first) = words.first() else {
        return Ok(());
    };
    // A line of a partition has this word; all others are lines of sets.
    if words.iter().any(|word| word.key == "partition") {
        check_keys(&words, &OF_A_PARTITION)?;
        let words = partition(&words, line, &mut all.doubts)?;
        return all.add_partition(words);
    }
    if OF_A_PARTITION.contains(&&*first.key) {
        return Err(format!("a line with {}= also needs partition=", first.key));
    }
    check_keys(&words, &OF_A_SET)?;
    let set = set(&words, line, site, &mut all.doubts)?;
    all.add_set(set)
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

fn set(
    words: &[Word],
    line: usize,
    site: &Site<'_>,
    doubts: &mut Vec<LineError>,
) -> Result<StaticSet, String> {
    let list = |key: &str| value(words, key).map(|list| names(key, list)).transpose();
    let nodes = value(words, "nodes");
    let mut doubt = |why: String| doubts.push(LineError { line, why });
    Ok(StaticSet {
        line,
        name: needed(words, "name")?
            .parse()
            .map_err(|why| format!("name=: {why}"))?,
        cpus: numbers("cpus", needed(words, "cpus")?)?,
        mems: match value(words, "mems") {
            Some(list) => in_request("mems", Keyword::MemList, list)?.mem_list,
            None => None,
        },
        options: match value(words, "options") {
            Some(list) => in_request("options", Keyword::Options, list)?.attributes,
            None => Attributes::default(),
        },
        nodes: nodes.map(String::from),
        is_here: match nodes {
            None => true,
            Some(nodes) if is_all(nodes) => true,
            Some(nodes) => (site.is_here)(nodes).map_err(|why| format!("nodes=: {why}"))?,
        },
        users: list("users")?.map(|names| {
            let uid = |name: String| {
                let uid = name.parse().ok().or_else(|| (site.uid)(&name));
                if uid.is_none() {
                    doubt(format!(
                        "this node knows no user {name}, so nobody gets in by that name"
                    ));
                }
                uid
            };
            names.into_iter().filter_map(uid).collect()
        }),
        accounts: list("accounts")?,
        partitions: list("partitions")?,
    })
}

fn partition(
    words: &[Word],
    line: usize,
    doubts: &mut Vec<LineError>,
) -> Result<PartitionWords, String> {
    let of = |key: &str| -> Result<Option<Words>, String> {
        let words = value(words, key).map(str::parse::<Words>).transpose();
        words.map_err(|why| format!("{key}=: {why}"))
    };
    let words = PartitionWords {
        line,
        partition: name("partition", needed(words, "partition")?)?,
        default: of("default")?,
        mandatory: of("mandatory")?,
    };
    if words.default.is_none() && words.mandatory.is_none() {
        return Err("a line with partition= also needs default= or mandatory=".into());
    }
    match CpusetRequest::of(&words.merged(&Words::default())) {
        Ok(_) => Ok(words),
        // The job's own words may add what is missing here.
        Err(
            why @ (CpusetError::NoName
            | CpusetError::Together { .. }
            | CpusetError::FewCandidates { .. }),
        ) => {
            let why = format!(
                "jobs of the partition {} that have no words of their own are refused: {why}",
                words.partition
            );
            doubts.push(LineError { line, why });
            Ok(words)
        }
        Err(why) => Err(why.to_string()),
    }
}

/// A list of CPUs by kernel number.
fn numbers(key: &str, list: &str) -> Result<CpuSet, String> {
    CpuSet::from_list(list).map_err(|why| format!("{key}=: {why}"))
}

/// A value that means the same behind this keyword of a request.
fn in_request(key: &str, keyword: Keyword, value: &str) -> Result<Dynamic, String> {
    let wrong = |why: CpusetError| format!("{key}=: {why}");
    let words: Words = format!("{keyword}={value}").parse().map_err(wrong)?;
    match CpusetRequest::of(&words).map_err(wrong)? {
        // A `;` in the value would begin another keyword.
        CpusetRequest::Dynamic(set) if words.iter().count() == 1 => Ok(set),
        _ => Err(format!(
            "{key}=: only what may stand behind {keyword}= may stand here"
        )),
    }
}

/// Names with commas between them.
pub(crate) fn names(key: &str, list: &str) -> Result<Vec<String>, String> {
    if list.split(',').count() > MOST_NAMES {
        return Err(format!("{key}= has more than {MOST_NAMES} names"));
    }
    list.split(',').map(|word| name(key, word)).collect()
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

impl SiteCpusets {
    fn add_set(&mut self, set: StaticSet) -> Result<(), String> {
        let same = |known: &&StaticSet| known.is_here && known.name == set.name;
        match self.sets.iter().find(same).filter(|_| set.is_here) {
            Some(known) => Err(format!(
                "line {} has a cpuset {} for this node already",
                known.line, known.name
            )),
            None => {
                self.sets.push(set);
                Ok(())
            }
        }
    }

    fn add_partition(&mut self, words: PartitionWords) -> Result<(), String> {
        match self.words_of(&words.partition) {
            Some(known) => Err(format!(
                "line {} has the words of partition {} already",
                known.line, known.partition
            )),
            None => {
                self.partitions.push(words);
                Ok(())
            }
        }
    }
}

/// A line has fewer words than this.
const MOST_WORDS: usize = 32;

/// A word of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    pub key: String,
    /// The value without its quotes.
    pub value: String,
}

/// The words of a line. Quotes of both kinds keep blanks, `#` and each other; a `#` at the beginning of a
/// word begins a comment.
///
/// # Errors
/// The reason, if a quote does not end on the line, a word has no `=`, or there are too many words.
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
            berth_placement::sets::text::shown(SHOWN, &text)
        )),
        (None, Some(key)) => Ok(Word { key, value: text }),
    }
}

/// Characters of a word that a reason repeats.
pub(crate) const SHOWN: usize = 60;
