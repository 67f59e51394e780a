//! The meaning of the values of srun's options. This file has `-B SOCKETS[:CORES[:THREADS]]`, as
//! `verify_socket_core_thread_count` reads it, and `--hint`, each of whose words sets other options (`verify_hint`);
//! the files below it have the longer ones. In: the option's text. Out: the least numbers and how many fields were
//! written; the options that the words set.

mod bind;
mod distribution;
mod list;

use berth_placement::{Level, TextError};

use crate::number;

pub use bind::{LevelBits, TypedBind, cpu_bind, mem_bind, mem_bind_into};
pub use distribution::distribution;

/// The words of a value, at `;`, and at `,` unless a list goes on behind it.
fn words(text: &str, goes_on: impl Fn(&str) -> bool) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let here = rest?;
        let is_end = |(at, letter): &(usize, char)| {
            let after = here.get(at + 1..).unwrap_or_default();
            *letter == ';' || (*letter == ',' && !goes_on(after))
        };
        let end = here.char_indices().find(is_end).map(|(at, _)| at);
        let word = here.get(..end.unwrap_or(here.len()))?;
        rest = end.and_then(|end| here.get(end + 1..));
        Some(word)
    })
}

/// The level of a word in small letters, one or several of its objects.
pub(crate) fn level(word: &str) -> Option<Level> {
    match word.strip_suffix('s').unwrap_or(word) {
        "socket" => Some(Level::Sockets),
        "core" => Some(Level::Cores),
        "thread" => Some(Level::Threads),
        "ldom" => Some(Level::Ldoms),
        _ => None,
    }
}

/// The least sockets of a node, cores of a socket, and threads of a core; `None` where any number
/// will do.
pub type Least = [Option<u32>; 3];

/// A whole `-B`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeInfo {
    /// The numbers before a `-`, or alone.
    pub least: Least,
    /// The level that the number of fields chooses. A fourth field is not read, but with it there
    /// is no level.
    pub level: Option<Level>,
}

/// The meaning of a `-B`. A field is a number, a range of which the least counts, `*`, or empty,
/// which is the same as `*`. What follows a third colon is not read.
///
/// # Errors
/// A text that srun refuses.
pub fn node_info(text: &str) -> Result<NodeInfo, TextError> {
    let mut least = [None; 3];
    for (place, field) in least.iter_mut().zip(text.split(':')) {
        *place = least_of(field).ok_or_else(|| wrong(text))?;
    }
    let levels = [Level::Sockets, Level::Cores, Level::Threads];
    let colons = text.matches(':').count();
    Ok(NodeInfo {
        least,
        level: levels.get(colons).copied(),
    })
}

fn wrong(text: &str) -> TextError {
    TextError::new(text, "SOCKETS[:CORES[:THREADS]] with numbers, min-max or *")
}

/// `Some(None)` is any number. Source: `get_resource_arg_range`.
fn least_of(field: &str) -> Option<Option<u32>> {
    if field.is_empty() || field.starts_with('*') {
        return Some(None);
    }
    let in_range = |number: i64| (0..=i64::from(i32::MAX)).contains(&number);
    let (least, rest) = number::scaled(field);
    if !in_range(least) {
        return None;
    }
    if !rest.is_empty() {
        let most = rest.strip_prefix('-')?;
        let (most, rest) = number::scaled(most);
        // A second range is not looked at, nor whether the most is at least the least.
        let ends = rest.is_empty() || rest.starts_with('-');
        if !ends || !in_range(most) || most == 0 {
            return None;
        }
        if least == 1 && most == i64::from(i32::MAX) {
            return Some(None);
        }
    }
    u32::try_from(least).ok().map(Some)
}

/// The options that a `--hint` sets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hints {
    /// Any number of sockets and cores will do, whatever other options say.
    pub any_node: bool,
    /// One core of each socket.
    pub one_core_a_socket: bool,
    /// The number of threads of a core: `Some(None)` is all.
    pub threads_per_core: Option<Option<u32>>,
    /// There is no limit on the tasks of a core.
    pub any_tasks_per_core: bool,
    /// Levels, of which there may be several.
    pub levels: LevelBits,
    /// One thread of each core is used: switched on or off.
    pub one_thread: Option<bool>,
}

/// The meaning of a `--hint`. Case does not count.
///
/// # Errors
/// A word that srun does not know, and `help`, which starts no step.
pub fn hints(text: &str) -> Result<Hints, TextError> {
    let mut found = Hints::default();
    let digit = |text: &str| text.starts_with(|letter: char| letter.is_ascii_digit());
    for word in words(text, digit) {
        found.take(&word.to_ascii_lowercase()).ok_or_else(|| {
            let wanted = match word.eq_ignore_ascii_case("help") {
                true => "a hint for a step: srun prints its help and starts nothing",
                false => {
                    "a hint: compute_bound, memory_bound, multithread, nomultithread, or a list of \
                     them"
                }
            };
            TextError::new(word, wanted)
        })?;
    }
    Ok(found)
}

impl Hints {
    fn take(&mut self, word: &str) -> Option<()> {
        match word {
            "compute_bound" => {
                self.any_node = true;
                self.one_core_a_socket = false;
                self.threads_per_core = Some(Some(1));
                self.levels = self.levels.with(LevelBits::only(Level::Cores));
            }
            "memory_bound" => {
                self.one_core_a_socket = true;
                self.threads_per_core = Some(Some(1));
                self.levels = self.levels.with(LevelBits::only(Level::Cores));
            }
            "multithread" => {
                self.threads_per_core = Some(None);
                self.levels = self.levels.with(LevelBits::only(Level::Threads));
                self.one_thread = Some(false);
                self.any_tasks_per_core = true;
            }
            "nomultithread" => {
                self.threads_per_core = Some(Some(1));
                self.levels = self.levels.with(LevelBits::only(Level::Threads));
                self.one_thread = Some(true);
            }
            _ => return None,
        }
        Some(())
    }
}
