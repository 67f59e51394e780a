//! The node's public counts for monitoring, in a file beside the ledger.

use berth_host::StateDir;
use berth_host::counters::{self, Counters, Facts, State};

use crate::site::settings::{self, Settings};
use crate::site::standing;

/// slurmd starts: the public file shows that before any step has run. With `counters=off` the old
/// file is removed.
pub(crate) fn begin(node_name: &str) {
    let settings = settings::current();
    let Ok(dir) = StateDir::new(&settings.state_dir, node_name) else {
        return;
    };
    if !settings.counters {
        return counters::remove(&dir);
    }
    let facts = facts(&settings, &dir, node_name);
    if let Err(why) = counters::publish(&dir, &facts) {
        log::debug!("{} is not written: {why}", counters::NAME);
    }
}

/// Counts, and returns whether that succeeded; with `counters=off` it always does.
pub(crate) fn add(node_name: &str, counts: &Counters) -> bool {
    let settings = settings::current();
    if !settings.counters {
        return true;
    }
    let state = StateDir::new(&settings.state_dir, node_name);
    let done = state.map_err(|why| why.to_string()).and_then(|dir| {
        let facts = facts(&settings, &dir, node_name);
        counters::add(&dir, &facts, counts).map_err(|why| why.to_string())
    });
    if let Err(why) = &done {
        log::debug!("{} does not have everything: {why}", counters::NAME);
    }
    done.is_ok()
}

fn facts(settings: &Settings, dir: &StateDir, node_name: &str) -> Facts {
    let works = standing::working().is_some() || standing::serves_binding_only();
    Facts {
        node: node_name.into(),
        compat: settings::behaviour(settings.fixes),
        state: match works {
            _ if dir.is_off() => State::Off,
            true => State::Working,
            false => State::Inert,
        },
    }
}
