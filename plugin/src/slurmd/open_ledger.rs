//! The node's ledger, which slurmd keeps open between launches.

use std::sync::{Mutex, PoisonError};

use berth_host::ledger::StepKey;
use berth_host::{Ledger, StateDir};

use crate::planning::ledger::open;
use crate::slurmd::key;

/// Kept open between launches, with descriptors of the slurmstepds it names.
static LEDGER: Mutex<Option<(StateDir, Ledger)>> = Mutex::new(None);

/// Does some work with the node's ledger, which is opened if it is not open yet.
///
/// # Errors
/// The reason why it cannot be opened, or the error of the work.
pub(crate) fn with<T>(
    dir: &StateDir,
    node_name: &str,
    work: impl FnOnce(&mut Ledger) -> Result<T, String>,
) -> Result<T, String> {
    let mut kept = LEDGER.lock().unwrap_or_else(PoisonError::into_inner);
    let current = kept
        .as_ref()
        .is_some_and(|(of, ledger)| of == dir && ledger.is_current());
    if !current {
        *kept = None;
        let opened = open(dir);
        key::put_back(node_name, dir);
        *kept = Some((dir.clone(), opened?));
    }
    match kept.as_mut() {
        Some((_, ledger)) => work(ledger),
        None => Err("the ledger is not open".into()),
    }
}

/// slurmd has finished the launch of a step.
pub(crate) fn let_go(step: StepKey) {
    let mut kept = LEDGER.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, ledger)) = kept.as_mut() {
        ledger.let_go(step);
    }
}
