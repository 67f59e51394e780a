//! slurmstepd's ledger entry lives as long as this process. It names the task that shows whether the
//! step is suspended; at the end it frees the cores and updates the public file.

use std::time::Duration;

use berth_host::ledger::{Confirmed, Cpuset, Entry, Held, Session, public};
use berth_host::{Ledger, LedgerError, StateDir, machine_file};
use berth_placement::CpuSet;
use berth_placement::sets::count::either;
use slurm_sys::StepRecord;

use crate::message::handover::InCpuset;
use crate::planning::ledger;
use crate::site::standing::Abi;
use crate::site::{node, settings};

/// The time to wait for others who write the ledger.
const PATIENCE: Duration = Duration::from_secs(2);

/// Which of the step's entries.
#[derive(Clone, Copy)]
pub(crate) enum What<'a> {
    /// The cores that its `--binding` chose.
    Binding(&'a CpuSet),
    /// The cpuset that it runs in.
    Cpuset(&'a InCpuset),
}

/// The step's entry and its place.
pub(crate) struct Account {
    held: Held,
    dir: StateDir,
    /// The line of its cpuset, for the log.
    cpuset: Option<String>,
}

impl Account {
    pub(crate) fn new(held: Held, dir: StateDir) -> Self {
        Self {
            held,
            dir,
            cpuset: None,
        }
    }

    /// The same for a cpuset's entry.
    fn of_cpuset(held: Held, dir: StateDir, cpuset: &InCpuset) -> Self {
        Self {
            held,
            dir,
            cpuset: Some(cpuset.line.clone()),
        }
    }

    /// Takes over slurmd's entry for a step that is about to be bound to these CPUs. Returns the
    /// account and a note to the user. If slurmd wrote no entry, it has reported that itself.
    pub(crate) fn confirm(
        record: &StepRecord<'_>,
        what: What<'_>,
        node_name: &str,
    ) -> (Option<Self>, Option<String>) {
        let id = record.step_id();
        let Ok(dir) = StateDir::new(&settings::current().state_dir, node_name) else {
            return (None, None);
        };
        let (step, uid) = (ledger::step(id), record.uid());
        let confirmed = Ledger::open(&dir).and_then(|ledger| match what {
            What::Binding(cpus) => ledger.confirm(step, uid, cpus),
            What::Cpuset(cpuset) => ledger.confirm_cpuset(step, uid, &cpuset.cpus),
        });
        match confirmed {
            Ok(Confirmed::Held(held)) => match what {
                What::Binding(_) => (Some(Self::new(*held, dir)), None),
                What::Cpuset(cpuset) => (Some(Self::of_cpuset(*held, dir, cpuset)), None),
            },
            Ok(Confirmed::Nothing) => match what {
                What::Binding(_) => (None, None),
                What::Cpuset(cpuset) => Self::written(record, cpuset, dir),
            },
            Ok(Confirmed::Late(taken)) => {
                let note = late(&taken);
                log::warn!("job {}: {note}", id.job_id);
                (None, Some(note))
            }
            Err(why) => {
                log::error!("{why}; this step's cores count as free as soon as it has started");
                (None, None)
            }
        }
    }

    /// slurmd could not write a cpuset's entry at once, because another process had the ledger. Others may
    /// have got its CPUs meanwhile.
    fn written(
        record: &StepRecord<'_>,
        cpuset: &InCpuset,
        dir: StateDir,
    ) -> (Option<Self>, Option<String>) {
        let Some(held) = cpuset.held else {
            return (None, None);
        };
        let entry = Entry {
            step: ledger::step(record.step_id()),
            cpuset: Some(Cpuset {
                exclusive: held.exclusive,
                of_job: held.of_job,
                memory: held.memory,
            }),
            tasks: record.node_tasks(),
            uid: record.uid(),
            mark: held.mark,
            cpus: cpuset.cpus.clone(),
            ..Entry::default()
        };
        let written = Ledger::open(&dir).and_then(|mut ledger| {
            let mut session = ledger.session(PATIENCE)?;
            let living = session.cpuset_of(entry.step.job);
            let living = living.filter(|_| held.of_job);
            let others = session.others(entry.step, &entry.cpus).now();
            let taken = others.taken.intersection(&entry.cpus);
            // A job that waits for its CPUs keeps its cpuset, and this step waits with it.
            if !taken.is_empty() && living.is_none() {
                return Ok(Err(taken));
            }
            let entry = Entry {
                generation: living.map_or(0, |living| living.generation),
                ..entry
            };
            let slot = session.add(entry.clone())?;
            drop(session);
            Ok(Ok(ledger.hold(slot, entry)?))
        });
        match written {
            Ok(Ok(held)) => (Some(Self::of_cpuset(held, dir, cpuset)), None),
            Ok(Err(taken)) => (None, Some(late(&taken))),
            Err(why) => {
                log::error!("{why}; other jobs do not know of this step's cpuset");
                (None, None)
            }
        }
    }

    /// The first task was forked.
    pub(crate) fn first_task(&mut self, pid: i32) {
        if let Err(why) = self.held.set_task(pid) {
            log::error!("{why}");
        }
    }

    /// The entry as it stands.
    pub(crate) fn entry(&self) -> &Entry {
        self.held.entry()
    }

    /// Whether the job is suspended.
    pub(crate) fn set_suspended(&mut self, suspended: bool) {
        if let Err(why) = self.held.set_suspended(suspended) {
            log::error!("{why}");
        }
    }

    /// Its job goes on with these CPUs.
    ///
    /// # Errors
    /// Those of the ledger.
    pub(crate) fn set_cpus(
        &mut self,
        session: &Session<'_>,
        cpus: CpuSet,
        generation: u32,
    ) -> Result<(), LedgerError> {
        self.held.set_cpus(session, cpus, generation)
    }

    /// The step has ended: its cores are free before anybody learns of it.
    pub(crate) fn release(self, slurm: Option<Abi>) {
        let (dir, cpuset) = (self.dir.clone(), self.cpuset.clone());
        let job = self.held.entry().step.job;
        if let Err(why) = self.held.release() {
            log::error!("{why}; its cores are free when this slurmstepd ends");
        }
        if let Some(line) = cpuset.filter(|_| !has_cpuset(&dir, job)) {
            log::info!("job={job} its cpuset ends: {line:?}");
        }
        publish(slurm, &dir);
    }

    /// The step is bound.
    pub(crate) fn publish(&self, slurm: Option<Abi>) {
        publish(slurm, &self.dir);
    }
}

/// Whether another step of the job is in its cpuset.
fn has_cpuset(dir: &StateDir, job: u32) -> bool {
    let looked = Ledger::open(dir).and_then(|mut ledger| {
        let mut session = ledger.session_now()?;
        Ok(session.cpuset_of(job).is_some())
    });
    looked.unwrap_or(false)
}

/// The note if a step started so long after its planning that others have its cores.
fn late(taken: &CpuSet) -> String {
    format!(
        "this step started long after its cores were chosen; meanwhile other steps were bound to \
         {} {taken} of them, which are now shared: start the step again if that matters",
        either(&taken.count(), "CPU", "CPUs")
    )
}

fn publish(slurm: Option<Abi>, dir: &StateDir) {
    let kind = slurm.map(node::socket_kind).unwrap_or_default();
    let told = machine_file::read(dir.machine_path())
        .map_err(|why| why.to_string())
        .and_then(|file| {
            let mut ledger = Ledger::open(dir).map_err(|why| why.to_string())?;
            public::publish(&mut ledger, dir, &file.machine, kind).map_err(|why| why.to_string())
        });
    if let Err(why) = told {
        log::debug!(
            "{}/{} could not be updated: {why}",
            dir.path().display(),
            public::NAME
        );
    }
}
