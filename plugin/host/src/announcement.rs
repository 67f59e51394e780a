//! What slurmd says of berth when it starts, for `berth doctor`: which release serves which
//! Slurm, in which role, by which settings, and what it found wrong.
//! In: the words. Out: `slurmd.json` in the node's state directory.

use std::fs;
use std::io;

use serde::{Deserialize, Serialize};

use crate::atomic_file;
use crate::state::StateDir;

/// Its name in the state directory.
pub const NAME: &str = "slurmd.json";
const MODE: u32 = 0o644;

/// slurmd's words.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Announcement {
    /// berth's release.
    pub berth: String,
    /// slurmd's command line, by which it is found: it forks once more when it is ready.
    pub command_line: Vec<String>,
    /// Slurm's release, as it says itself.
    pub slurm: String,
    /// The table of its records' layout; empty where there is none.
    #[serde(default)]
    pub layout: String,
    /// Whether berth is the task plugin; if not, [`Self::aside`] says why.
    pub is_task_plugin: bool,
    /// Why it stands aside.
    #[serde(default)]
    pub aside: String,
    /// Whether it stands aside because TaskPlugin does not list it: it serves --binding alone.
    #[serde(default)]
    pub serves_binding_only: bool,
    /// Whether plugstack.conf names it.
    pub is_spank_plugin: bool,
    /// Sockets, cores and threads by slurmd.
    #[serde(default)]
    pub shape: String,
    /// The topology string.
    #[serde(default)]
    pub topology: String,
    /// `compat=…` and the like.
    #[serde(default)]
    pub settings: String,
    /// What is wrong: unknown settings, a machine that slurm.conf knows otherwise, …
    #[serde(default)]
    pub complaints: Vec<String>,
    /// What may be right: a release of Slurm newer than those that were checked.
    #[serde(default)]
    pub warnings: Vec<String>,
}

/// Writes it.
///
/// # Errors
/// A directory that cannot be written.
pub fn write(dir: &StateDir, words: &Announcement) -> io::Result<()> {
    let text = serde_json::to_string_pretty(words)? + "\n";
    atomic_file::replace(&dir.path().join(NAME), text.as_bytes(), MODE).map_err(|failed| failed.why)
}

/// Reads it.
///
/// # Errors
/// No such file, or one that another release wrote otherwise.
pub fn read(dir: &StateDir) -> io::Result<Announcement> {
    let text = fs::read_to_string(dir.path().join(NAME))?;
    Ok(serde_json::from_str(&text)?)
}
