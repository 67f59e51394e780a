//! slurmd's key as slurmstepd reads it, to know slurmd's marks ([`crate::message::seal`]).

use std::sync::OnceLock;

use berth_host::StateDir;
use berth_host::key::Key;

use crate::site::settings;

/// slurmstepd's: the key that slurmd made.
///
/// # Errors
/// Why there is none, for the log.
pub(crate) fn current(node_name: &str) -> Result<Key, String> {
    static KEY: OnceLock<Result<Key, String>> = OnceLock::new();
    let read = || {
        let dir = StateDir::new(&settings::current().state_dir, node_name);
        let dir = dir.map_err(|why| why.to_string())?;
        Key::read(&dir).map_err(|why| format!("slurmd's key: {why}"))
    };
    KEY.get_or_init(read).clone()
}
