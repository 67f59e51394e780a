//! slurmd's key, which slurmstepd reads to check slurmd's marks ([`crate::step::seal`]).

use std::io::ErrorKind;

use berth_host::key::Key;

use crate::site::node::state_dir;

/// The key that slurmd made.
///
/// # Errors
/// The reason why there is none, for the log.
pub(crate) fn read(node_name: &str) -> Result<Key, String> {
    let dir = state_dir(node_name)?;
    Key::read(&dir).map_err(|why| {
        if why.kind() == ErrorKind::NotFound {
            // Somebody has removed it: with the next launch slurmd puts it back.
            let _ = dir.ask_to_reload();
        }
        format!("slurmd's key: {why}")
    })
}
