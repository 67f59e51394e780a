//! The site's files as they last held, kept by slurmd for the one after it. In: a node's name. Out: the text; what cannot
//! be kept is a debug line.

use berth_host::StateDir;
use berth_host::kept::Kept;

use crate::site::settings;

fn dir(node_name: &str) -> Result<StateDir, String> {
    let dir = StateDir::new(&settings::current().state_dir, node_name);
    dir.map_err(|why| why.to_string())
}

/// What is found later may not hold.
pub(super) fn keep(which: Kept, node_name: &str, text: &[u8]) {
    if let Err(why) = dir(node_name).and_then(|dir| which.put(&dir, text)) {
        log::debug!("{why}");
    }
}

/// What the slurmd before this one, or this one, has kept.
pub(super) fn text(which: Kept, node_name: &str) -> Option<Vec<u8>> {
    which.text(&dir(node_name).ok()?)
}

/// The site names no such file any more.
pub(super) fn forget(which: Kept, node_name: &str) {
    if let Ok(dir) = dir(node_name) {
        which.forget(&dir);
    }
}
