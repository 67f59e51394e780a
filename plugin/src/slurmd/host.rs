//! This node for a launch: its shape by slurmd's record, with the machine that was discovered.

use std::sync::{Arc, Mutex, PoisonError};

use berth_placement::{Fixes, Host, PuTable};
use slurm_sys::SlurmdConf;

use crate::site::node;
use crate::site::standing::Abi;
use crate::slurmd::{discovery, worker};

/// The host as it is now, for planning. Only a compare of the online CPUs is read from outside. A
/// machine that changed is discovered elsewhere: this launch goes on with the one known before.
pub(crate) fn now(slurm: Abi, conf: &SlurmdConf) -> Host {
    if !worker::is_ours_to_start() {
        // A host program that stands for slurmd has no time to lose, and nobody else discovers.
        if !discovery::was_tried() || discovery::is_outdated() {
            discovery::at_start(&conf.node_name().unwrap_or_default());
        }
    } else if !discovery::was_tried() {
        worker::discover(&conf.node_name().unwrap_or_default());
    } else {
        if discovery::is_outdated() {
            worker::discover(&conf.node_name().unwrap_or_default());
        }
        worker::start();
    }
    node::host_of(slurm, conf, discovery::machine())
}

/// The host's table of hardware threads: made again only where the host or the fixes are others
/// than at the last launch.
pub(crate) fn table(host: &Host, fixes: Fixes) -> Arc<PuTable> {
    static LAST: Mutex<Option<(Host, Fixes, Arc<PuTable>)>> = Mutex::new(None);
    let same = |last: &Host| {
        let machines = (last.machine.as_ref(), host.machine.as_ref());
        let machine = match machines {
            (Some(last), Some(now)) => Arc::ptr_eq(last, now),
            (last, now) => last.is_none() && now.is_none(),
        };
        machine && last.socket == host.socket && last.shape == host.shape
    };
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((known, with, table)) = last.as_ref()
        && *with == fixes
        && same(known)
    {
        return table.clone();
    }
    let table = Arc::new(PuTable::new(host, fixes));
    *last = Some((host.clone(), fixes, table.clone()));
    table
}
