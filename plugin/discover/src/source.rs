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

    #[test]
    fn the_three_forms() {
        assert_eq!(Source::parse("live").unwrap(), Source::Live);
        assert_eq!(Source::parse(" live ").unwrap(), Source::Live);
        assert_eq!(
            Source::parse("Cargo.toml").unwrap(),
            Source::XmlFile("Cargo.toml".into())
        );
        assert_eq!(
            Source::parse("pack:2 core:4 pu:2").unwrap(),
            Source::Synthetic("pack:2 core:4 pu:2".into())
        );
    }

    #[test]
    fn what_cannot_be_meant_is_told_with_the_three_forms() {
        for (text, found) in [
            ("", "an empty text"),
            ("  ", "an empty text"),
            ("/no/such/file", "no such file is there"),
            ("machine.XML", "no such file is there"),
            ("./pack:2", "no such file is there"),
        ] {
            let error = Source::parse(text).unwrap_err().to_string();
            assert!(error.contains(found), "{text:?}: {error}");
            for form in ["\"live\"", "XML file", "pack:2 core:4 pu:2"] {
                assert!(error.contains(form), "{text:?}: {error}");
            }
        }
    }

    #[test]
    fn counts_of_all_levels_multiply() {
        for (text, count) in [
            ("pack:2 core:4 pu:2", 16),
            ("2 3 4", 24),
            ("pack:2 [numa(memory=1GB)] core:4(indexes=3,2,1,0) pu:2", 16),
            ("pack:4(memory=8) pu:3", 12),
            ("garbage", 1),
            ("pack:4294967295 core:4294967295 pu:4294967295", u64::MAX),
        ] {
            assert_eq!(pu_count(text), count, "{text}");
        }
    }

    #[test]
    fn cores_have_a_thread_each() {
        for (text, whole) in [
            ("pack:2 core:4", "pack:2 core:4 pu:1"),
            (
                "pack:2 Core:4(indexes=1,0) [numa]",
                "pack:2 Core:4(indexes=1,0) [numa] pu:1",
            ),
            ("pack:2 core:4 pu:2", "pack:2 core:4 pu:2"),
            ("2 4", "2 4"),
            ("", ""),
        ] {
            assert_eq!(with_threads(text), whole);
        }
    }

    #[test]
    fn the_limit_is_the_kernels() {
        assert!(check_size("pack:65536 pu:1").is_ok());
        let error = check_size("pack:65536 pu:2").unwrap_err().to_string();
        assert!(error.contains("65536 hardware threads"), "{error}");
        assert!(check_size(&"1 ".repeat(1 << 20)).is_err());
    }
}
