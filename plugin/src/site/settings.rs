//! The administrator's settings that are in force in this process: arguments of the plugstack.conf
//! line. `berth_site` has their values and reads the line.

use std::sync::{Arc, OnceLock, PoisonError, RwLock};

pub(crate) use berth_site::settings::{Notes, Quarantine, Settings, compat};

fn cell() -> &'static RwLock<Arc<Settings>> {
    static CELL: OnceLock<RwLock<Arc<Settings>>> = OnceLock::new();
    CELL.get_or_init(RwLock::default)
}

/// The settings of this process; the defaults until the plugstack line was seen.
pub(crate) fn current() -> Arc<Settings> {
    cell()
        .read()
        .unwrap_or_else(PoisonError::into_inner)
        .clone()
}

/// Puts settings in force.
pub(crate) fn set(settings: Settings) {
    *cell().write().unwrap_or_else(PoisonError::into_inner) = Arc::new(settings);
}
