//! Reads the words of the plugstack.conf line into settings.
//! In: `key=value` words, and a reader of host lists. Out: `Settings`, and a complaint for each word
//! that cannot be read. Such a word leaves the cautious behaviour, and its complaint says which one.

use std::path::PathBuf;

use berth_placement::Fixes;
use berth_placement::sets::text::{MOST_TYPOS, nearest};

use crate::settings::{KEYS, Settings, Unread};

/// berth's line in a plugstack.conf.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlugstackLine {
    /// The file in which it stands.
    pub path: PathBuf,
    /// The words behind the object.
    pub words: Vec<String>,
}

/// Whether a list of nodes, here or in a file of the site's, names every node, in letters of either size as in slurm.conf.
pub(crate) fn is_all(list: &str) -> bool {
    list.eq_ignore_ascii_case("all")
}

/// Something in the line that the administrator must see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Complaint {
    /// The word, what is allowed, and what is in force now.
    pub text: String,
    /// Whether it is only a key that this release does not know. One file serves nodes of different
    /// age, so that is no fault of this node.
    pub is_unknown_key: bool,
}

/// The words between two `nodes=`.
enum Scope<'a> {
    /// They hold on this node.
    Here,
    /// They hold on other nodes.
    Elsewhere,
    /// Nobody can tell where they hold, for this reason; these words were left out so far.
    Unknown(&'a str, String, Vec<&'a str>),
}

/// A word that holds on this node and cannot be read.
struct Wrong<'a> {
    word: &'a str,
    key: &'a str,
    why: String,
    is_unknown_key: bool,
}

/// The line as it is read so far.
struct Reading<'a> {
    settings: Settings,
    /// Fixes are applied last, because they change the set that `compat=` names, wherever it stands.
    fixes: Vec<&'a str>,
    wrong: Vec<Wrong<'a>>,
    complaints: Vec<Complaint>,
    /// A `compat=` that cannot be read counts more than one that can, wherever they stand.
    is_compat_lost: bool,
}

/// Reads the words. `is_here` says whether a host list has this node, or why the list cannot be
/// read.
pub fn read(
    words: &[&str],
    is_here: impl Fn(&str) -> Result<bool, String>,
) -> (Settings, Vec<Complaint>) {
    let mut reading = Reading {
        settings: Settings::default(),
        fixes: Vec::new(),
        wrong: Vec::new(),
        complaints: Vec::new(),
        is_compat_lost: false,
    };
    let mut scope = Scope::Here;
    for word in words {
        let (key, value) = word.split_once('=').unwrap_or((word, ""));
        if key == "nodes" {
            reading.close(scope);
            scope = Scope::of(word, value, &is_here);
            continue;
        }
        match &mut scope {
            Scope::Here => reading.take(word, key, value),
            Scope::Elsewhere => {}
            Scope::Unknown(.., left_out) => {
                left_out.push(word);
                reading.is_compat_lost |= key == "compat" || may_mean_compat(key, value);
            }
        }
    }
    reading.close(scope);
    reading.end()
}

impl<'a> Scope<'a> {
    fn of(word: &'a str, list: &str, is_here: impl Fn(&str) -> Result<bool, String>) -> Self {
        if is_all(list) {
            return Self::Here;
        }
        match is_here(list) {
            Ok(true) => Self::Here,
            Ok(false) => Self::Elsewhere,
            Err(why) => Self::Unknown(word, why, Vec::new()),
        }
    }
}

impl<'a> Reading<'a> {
    fn take(&mut self, word: &'a str, key: &'a str, value: &'a str) {
        if key == "fixes" {
            // A name that this release does not have leaves the others in force.
            for part in value.split(',') {
                match Fixes::ALL.apply(part) {
                    Ok(_) => self.fixes.push(part),
                    Err(why) => self.wrong(word, key, why.to_string(), false),
                }
            }
            return;
        }
        match self.settings.take(key, value) {
            Ok(()) => {}
            Err(Unread::Value(why)) => {
                self.is_compat_lost |= key == "compat";
                self.settings.be_cautious(key);
                self.wrong(word, key, why, false);
            }
            Err(Unread::Key) if may_mean_compat(key, value) => {
                self.is_compat_lost = true;
                self.wrong(word, "compat", unknown_key(key), false);
            }
            Err(Unread::Key) => self.wrong(word, key, unknown_key(key), true),
        }
    }

    fn wrong(&mut self, word: &'a str, key: &'a str, why: String, is_unknown_key: bool) {
        self.wrong.push(Wrong {
            word,
            key,
            why,
            is_unknown_key,
        });
    }

    /// The words behind a `nodes=` have ended. Where that list cannot be read, none of them holds,
    /// and the complaint names each.
    fn close(&mut self, scope: Scope<'a>) {
        if let Scope::Unknown(word, why, left_out) = scope {
            let words = match left_out.is_empty() {
                true => "no word follows it".into(),
                false => format!(
                    "the words that follow it apply on no node: {}",
                    left_out.join(" ")
                ),
            };
            self.wrong(word, "nodes", format!("{why}; {words}"), false);
        }
    }

    fn end(mut self) -> (Settings, Vec<Complaint>) {
        if self.is_compat_lost {
            self.settings.be_cautious("compat");
        }
        for part in self.fixes {
            let fixes = &mut self.settings.fixes;
            *fixes = fixes.apply(part).unwrap_or(*fixes);
        }
        let settings = self.settings;
        let complaint = |wrong: Wrong<'_>| {
            let Wrong { word, key, why, .. } = wrong;
            let force = match key {
                "nodes" => settings.in_force("compat"),
                key => settings.in_force(key),
            };
            let text = match wrong.is_unknown_key {
                true => format!("plugstack.conf: {word}: {why}; berth ignores this word"),
                false if key == "nodes" && !self.is_compat_lost => {
                    format!("plugstack.conf: {word}: {why}; correct the list")
                }
                false => format!("plugstack.conf: {word}: {why}; {force} is in force"),
            };
            Complaint {
                text,
                is_unknown_key: wrong.is_unknown_key,
            }
        };
        self.complaints
            .extend(self.wrong.into_iter().map(complaint));
        (settings, self.complaints)
    }
}

/// Whether an unknown word is probably a misspelt `compat=`, on which every mask depends.
fn may_mean_compat(key: &str, value: &str) -> bool {
    let small = key.to_ascii_lowercase();
    let is_near = nearest(&small, ["compat"], 2).is_some() || small.starts_with("compat");
    !KEYS.contains(&key) && (is_near || [&*small, value].contains(&"affinity"))
}

fn unknown_key(key: &str) -> String {
    match nearest(&key.to_ascii_lowercase(), KEYS, MOST_TYPOS) {
        Some(known) => format!("there is no such key; the nearest is {known}"),
        None => format!("there is no such key; the keys are {}", KEYS.join(", ")),
    }
}
