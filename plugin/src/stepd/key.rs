//! slurmd's key, which slurmstepd reads to check slurmd's marks ([`crate::step::seal`]).

use std::io::ErrorKind;

use berth_host::StateDir;
use berth_host::key::Key;

use crate::site::settings;

/// The key that slurmd made.
///
/// # Errors
/// The reason why there is none, for the log.
pub(crate) fn read(node_name: &str) -> Result<Key, String> {
    let dir = StateDir::new(&settings::current().state_dir, node_name);
    let dir = dir.map_err(|why| why.to_string())?;
    Key::read(&dir).map_err(|why| {
        if why.kind() == ErrorKind::NotFound {
            // Somebody has removed it: with the next launch slurmd puts it back.
            let _ = dir.ask_to_reload();
        }
        format!("slurmd's key: {why}")
    })
}
