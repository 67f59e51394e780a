//! berth's line in a plugstack.conf.

use std::path::PathBuf;

/// berth's line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlugstackLine {
    /// The file in which it stands.
    pub path: PathBuf,
    /// The words behind the object.
    pub words: Vec<String>,
}
