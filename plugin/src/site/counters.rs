//! The node's public counts for monitoring, in a file beside the ledger.

use std::io::{self, ErrorKind};
use std::sync::atomic::{AtomicBool, Ordering};

use berth_host::StateDir;
use berth_host::counters::{self, Counters, Facts, State};
use log::Level;
use slurm_sys::process::{Daemon, daemon};

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
    let done = counters::publish(&dir, &facts);
    let level = FAILURES.level_of(&done, daemon());
    if let Err(why) = done {
        log::log!(level, "{} is not written: {why}", counters::NAME);
    }
}

/// Counts, and returns whether that succeeded; with `counters=off` it always does. What is counted and not published is
/// published with the next event.
pub(crate) fn add(node_name: &str, counts: &Counters) -> bool {
    let settings = settings::current();
    if !settings.counters {
        return true;
    }
    let state = StateDir::new(&settings.state_dir, node_name);
    let counted = state.map_err(io::Error::other).and_then(|dir| {
        let facts = facts(&settings, &dir, node_name);
        counters::add(&dir, &facts, counts)
    });
    let (is_counted, done) = (counted.is_ok(), counted.and_then(|published| published));
    let level = FAILURES.level_of(&done, daemon());
    if let Err(why) = &done {
        log::log!(level, "{} does not have everything: {why}", counters::NAME);
    }
    is_counted
}

/// Whether this process has reported that the file cannot be written.
struct Failures(AtomicBool);

static FAILURES: Failures = Failures(AtomicBool::new(false));

impl Failures {
    /// The level at which a failure is logged. slurmd warns once, until a write succeeds again. There is a slurmstepd for
    /// each step, and each would repeat the line.
    fn level_of(&self, done: &io::Result<()>, daemon: Daemon) -> Level {
        match done {
            // Its counts are kept for the next time.
            Err(why) if why.kind() == ErrorKind::WouldBlock => return Level::Debug,
            _ => {}
        }
        let is_known = self.0.swap(done.is_err(), Ordering::Relaxed);
        match daemon {
            Daemon::Slurmd if !is_known => Level::Warn,
            _ => Level::Debug,
        }
    }
}

fn facts(settings: &Settings, dir: &StateDir, node_name: &str) -> Facts {
    let works = standing::working().is_some() || standing::serves_binding_only();
    Facts {
        node: node_name.into(),
        compat: settings.fixes.to_string(),
        state: match works {
            _ if dir.is_off() => State::Off,
            true => State::Working,
            false => State::Inert,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slurmd_warns_once_until_a_write_succeeds_again() {
        let failed = |kind| Err(io::Error::from(kind));
        for (daemon, first) in [
            (Daemon::Slurmd, Level::Warn),
            (Daemon::Slurmstepd, Level::Debug),
        ] {
            let failures = Failures(AtomicBool::new(false));
            let level = |done| failures.level_of(&done, daemon);
            // Another process that has the counts for a moment is no failure.
            assert_eq!(level(failed(ErrorKind::WouldBlock)), Level::Debug);
            assert_eq!(level(failed(ErrorKind::StorageFull)), first);
            assert_eq!(level(failed(ErrorKind::StorageFull)), Level::Debug);
            level(Ok(()));
            assert_eq!(level(failed(ErrorKind::StorageFull)), first);
        }
    }
}
