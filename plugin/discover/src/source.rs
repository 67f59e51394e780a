//! The source of a machine: this host, a known machine, an XML file, a synthetic string, and how large the machine of
//! such a string would be: hwloc itself would allocate terabytes for a typing error.
//! In: the text of `--machine`. Out: a source, or an error with the forms; the number of hardware threads, at least
//! roughly. It only checks whether a path exists, and reads nothing.

use std::path::{Path, PathBuf};

use berth_placement::sets::cpuset::MAX_CPUS;
use berth_placement::topology::presets::Preset;

use crate::error::{DiscoverError, shorten};

/// A machine to discover.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// This host, or the machine that hwloc's own variables put in its place.
    Live,
    /// A node of a public system, or a common server, by its name.
    Known(&'static Preset),
    /// A file that `lstopo --of xml` (hwloc 1 or 2) wrote.
    XmlFile(PathBuf),
    /// hwloc's short description, such as `pack:2 core:4 pu:2`.
    Synthetic(String),
}

impl Source {
    /// Reads `live`, the name of a known machine, the path of an existing file, or else a synthetic string.
    ///
    /// A synthetic string is checked by hwloc only when it is discovered. One that ends in cores
    /// gets `pu:1`.
    ///
    /// # Errors
    /// [`DiscoverError`] for an empty text, for a path that does not exist,
    /// and for a synthetic string with too many hardware threads.
    pub fn parse(text: &str) -> Result<Self, DiscoverError> {
        let trimmed = text.trim();
        if trimmed.is_empty() {
            return Err(DiscoverError::Empty);
        }
        if trimmed == "live" {
            return Ok(Self::Live);
        }
        if let Some(preset) = Preset::named(trimmed) {
            return Ok(Self::Known(preset));
        }
        if Path::new(text).exists() {
            return Ok(Self::XmlFile(text.into()));
        }
        if looks_like_path(trimmed) {
            return Err(DiscoverError::NoSuchFile(shorten(trimmed)));
        }
        check_size(trimmed)?;
        Ok(Self::Synthetic(with_threads(trimmed)))
    }
}

/// No synthetic string has a slash, or ends as an XML file's name does.
fn looks_like_path(text: &str) -> bool {
    text.contains('/') || text.to_ascii_lowercase().ends_with(".xml")
}

/// Longest string taken, in bytes: room for the index list of a large machine.
const MAX_TEXT: usize = 1 << 20;

/// Refuses a machine with more hardware threads than any kernel can have.
pub(crate) fn check_size(text: &str) -> Result<(), DiscoverError> {
    if text.len() > MAX_TEXT || pu_count(text) > u64::from(MAX_CPUS) {
        return Err(DiscoverError::TooManyCpus(shorten(text)));
    }
    Ok(())
}

/// The string as hwloc takes it: one that ends in cores gets a hardware thread for each core.
fn with_threads(text: &str) -> String {
    let plain = without_attributes(text).to_ascii_lowercase();
    let last = plain.split_whitespace().last().unwrap_or_default();
    match last.split_once(':') {
        Some(("core", _)) => format!("{text} pu:1"),
        _ => text.into(),
    }
}

/// Product of the counts of all levels; attributes in parentheses and memory
/// in brackets do not count. A word that is no count is left for hwloc to refuse.
fn pu_count(text: &str) -> u64 {
    without_attributes(text)
        .split_whitespace()
        .map(|level| {
            let count = level.rsplit(':').next().unwrap_or(level);
            count.parse().unwrap_or(1)
        })
        .fold(1, u64::saturating_mul)
}

fn without_attributes(text: &str) -> String {
    let mut depth = 0u32;
    text.chars()
        .filter(|&letter| {
            match letter {
                '(' | '[' => depth = depth.saturating_add(1),
                ')' | ']' => depth = depth.saturating_sub(1),
                _ => return depth == 0,
            }
            false
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts_text::hold;

    #[test]
    fn facts() {
        hold(include_str!("source.txt"), |about, text| match about {
            "count" => pu_count(text).to_string(),
            "threads" => with_threads(text),
            "size" => check_size(text).map_or_else(|why| why.to_string(), |()| "taken".into()),
            _ => match Source::parse(text) {
                Ok(source) => format!("{source:?}"),
                Err(why) => why.to_string(),
            },
        });
        assert!(check_size(&"1 ".repeat(1 << 20)).is_err());
    }
}
