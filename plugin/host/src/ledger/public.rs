//! The file that everybody may read: the node's topology, which cores are in use, and counts.
//! The users stay in the ledger. slurmstepd writes the file when a bound step begins and ends.
//! In: ledger, machine. Out: `name=value` lines (Grid Engine's load values of section 3.1).

use std::time::Duration;

use berth_placement::{CpuSet, Machine, SocketKind};

use super::{Ledger, LedgerError, PUBLIC};
use crate::atomic_file;
use crate::state::StateDir;

/// Its name in the state directory.
pub const NAME: &str = "topology";
const MODE: u32 = 0o644;
/// The most rewrites of the file while the ledger keeps changing.
const MOST_TURNS: u32 = 100;

/// The lines for a node whose bound steps use these CPUs.
#[must_use]
pub fn text(machine: &Machine, kind: SocketKind, used: &CpuSet, steps: usize) -> String {
    let topology = machine.topology_string(kind);
    let in_use = machine.topology_in_use(kind, used);
    let sockets = machine.sockets(kind).len();
    let (cores, threads) = (machine.core_count(), machine.cpus().count());
    format!(
        "m_topology={topology}\nm_topology_inuse={in_use}\nm_socket={sockets}\nm_core={cores}\n\
         m_thread={threads}\nsteps={steps}\n"
    )
}

/// The lines if the machine is unknown (section 3.1).
pub const UNKNOWN: &str = "m_topology=NONE\nm_topology_inuse=NONE\n";

/// Writes the file again from the ledger as it is now. A process that finds another one writing
/// leaves the work to it. The other one checks afterwards whether the ledger has changed, so nobody
/// waits.
///
/// # Errors
/// [`LedgerError`]; the file then is older than the ledger.
pub fn publish(
    ledger: &Ledger,
    dir: &StateDir,
    machine: &Machine,
    kind: SocketKind,
) -> Result<(), LedgerError> {
    for _ in 0..MOST_TURNS {
        let Some(turn) = ledger.lock_byte(PUBLIC, Duration::ZERO)? else {
            return Ok(());
        };
        // The ledger itself is not locked, so entries that end meanwhile may be missing.
        let session = ledger.read()?;
        // What a pool job owns is not bound.
        let bound = || session.entries().iter().filter(|entry| !entry.pool);
        let mut used = CpuSet::new();
        bound().for_each(|entry| used.insert_all(&entry.cpus));
        let steps = bound().filter(|entry| entry.cpuset.is_none());
        let text = text(machine, kind, &used, steps.count());
        atomic_file::replace(&dir.path().join(NAME), text.as_bytes(), MODE)
            .map_err(|failed| ledger.failed("writing the public file beside it", failed.why))?;
        drop(turn);
        if ledger.read()?.entries() == session.entries() {
            break;
        }
    }
    Ok(())
}
