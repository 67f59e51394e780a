//! slurmstepd's ledger entry lives as long as this process. It names the task that shows whether the
//! step is suspended; at the end it frees the cores and updates the public file.

use berth_host::ledger::{OwnEntry, TaskCgroup, cpuset_of, queries};
use berth_host::{Ledger, StateDir, machine_file};

use crate::site::node;
use crate::site::standing::Abi;

/// The step's entry and its place.
pub(crate) struct LedgerEntry {
    held: OwnEntry,
    dir: StateDir,
    /// The line of its cpuset, for the log.
    cpuset: Option<String>,
}

impl LedgerEntry {
    /// `cpuset` is the line of a cpuset's entry.
    pub(crate) fn new(held: OwnEntry, dir: StateDir, cpuset: Option<String>) -> Self {
        Self { held, dir, cpuset }
    }

    #[cfg(test)]
    pub(super) fn into_held(self) -> OwnEntry {
        self.held
    }

    /// The step is decided otherwise.
    pub(crate) fn take_back(self) {
        if let Err(why) = self.held.release() {
            log::debug!("{why}");
        }
    }

    /// The last task was forked; this is the first one. The cgroups of tasks are noted for a cpuset.
    pub(crate) fn started(&mut self, pid: i32, leaves: &[TaskCgroup]) {
        let leaves = match self.held.entry().cpuset {
            Some(_) => leaves.to_vec(),
            None => Vec::new(),
        };
        if let Err(why) = self.held.started(pid, leaves) {
            log::error!("{why}");
        }
    }

    /// Whether it names cgroups of tasks, which a service can move.
    pub(crate) fn has_leaves(&self) -> bool {
        !self.held.entry().leaves.is_empty()
    }

    /// Whether a service moves the cpusets of this node.
    pub(crate) fn has_service(&self) -> bool {
        berth_host::ledger::has_service(&self.dir)
    }

    /// The step has ended: its cores are free before anybody learns of it.
    pub(crate) fn release(self, slurm: Option<Abi>) {
        let (dir, cpuset) = (self.dir.clone(), self.cpuset.clone());
        let job = self.held.entry().step.job;
        if let Err(why) = self.held.release() {
            log::error!("{why}; its cores are free when this slurmstepd ends");
        }
        if let Some(line) = cpuset.filter(|_| cpuset_of(&dir, job).is_none()) {
            log::info!("job={job} its cpuset ends: {line:?}");
        }
        publish(slurm, &dir);
    }

    /// The step is bound.
    pub(crate) fn publish(&self, slurm: Option<Abi>) {
        publish(slurm, &self.dir);
    }
}

fn publish(slurm: Option<Abi>, dir: &StateDir) {
    let kind = slurm.map(node::socket_kind).unwrap_or_default();
    let published = machine_file::read(dir.machine_path())
        .map_err(|why| why.to_string())
        .and_then(|file| {
            let ledger = Ledger::open(dir).map_err(|why| why.to_string())?;
            queries::write_topology(&ledger, dir, &file.machine, kind)
                .map_err(|why| why.to_string())
        });
    if let Err(why) = published {
        log::debug!(
            "{}/{} could not be updated: {why}",
            dir.path().display(),
            queries::TOPOLOGY_FILE
        );
    }
}
