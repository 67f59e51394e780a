//! The source of a machine: this host, a known machine, an XML file, a synthetic string.
//! In: the text of `--machine`. Out: a source, or an error with the forms.
//! It only checks whether a path exists, and reads nothing.

use std::path::{Path, PathBuf};

use berth_placement::topology::presets::Preset;

use crate::error::{DiscoverError, shorten};
use crate::synthetic;

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
        synthetic::check_size(trimmed)?;
        Ok(Self::Synthetic(synthetic::with_threads(trimmed)))
    }
}

/// No synthetic string has a slash, or ends as an XML file's name does.
fn looks_like_path(text: &str) -> bool {
    text.contains('/') || text.to_ascii_lowercase().ends_with(".xml")
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
}
