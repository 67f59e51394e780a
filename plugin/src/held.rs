//! slurmstepd at the ledger: it makes its step's entry end with itself, says which task shows
//! whether the step is suspended, gives the cores back, and tells everybody how full the node is.

use berth_host::ledger::{Held, public};
use berth_host::{Ledger, StateDir, machine_file};
use slurm_sys::{StepId, StepRecord};

use crate::standing::Slurmish;
use crate::{accounting, node, settings};

/// The step's entry, and where it stands.
pub(crate) struct Account {
    held: Held,
    dir: StateDir,
}

impl Account {
    pub(crate) fn new(held: Held, dir: StateDir) -> Self {
        Self { held, dir }
    }

    /// Takes over what slurmd wrote. Nothing where it wrote none, which it said itself.
    pub(crate) fn confirm(record: &StepRecord<'_>, id: StepId, node_name: &str) -> Option<Self> {
        let dir = StateDir::new(&settings::current().state_dir, node_name).ok()?;
        let confirmed = Ledger::open(&dir)
            .and_then(|ledger| ledger.confirm(accounting::step(id), record.uid()));
        match confirmed {
            Ok(held) => Some(Self::new(held?, dir)),
            Err(why) => {
                log::error!("{why}; this step's cores count as free as soon as it has started");
                None
            }
        }
    }

    /// The first task was forked.
    pub(crate) fn first_task(&mut self, pid: i32) {
        if let Err(why) = self.held.set_task(pid) {
            log::error!("{why}");
        }
    }

    /// The step has ended: its cores are free before anybody hears of it.
    pub(crate) fn release(self, slurm: Option<Slurmish>) {
        let dir = self.dir.clone();
        if let Err(why) = self.held.release() {
            log::error!("{why}; its cores are free when this slurmstepd ends");
        }
        publish(slurm, &dir);
    }

    /// The step is bound.
    pub(crate) fn publish(&self, slurm: Option<Slurmish>) {
        publish(slurm, &self.dir);
    }
}

fn publish(slurm: Option<Slurmish>, dir: &StateDir) {
    let kind = slurm.map(node::socket_kind).unwrap_or_default();
    let told = machine_file::read(dir.machine_path())
        .map_err(|why| why.to_string())
        .and_then(|file| {
            let mut ledger = Ledger::open(dir).map_err(|why| why.to_string())?;
            public::publish(&mut ledger, dir, &file.machine, kind).map_err(|why| why.to_string())
        });
    if let Err(why) = told {
        log::debug!("{}/{} is old: {why}", dir.path().display(), public::NAME);
    }
}
