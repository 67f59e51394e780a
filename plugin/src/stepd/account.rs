//! slurmstepd's ledger entry lives as long as this process. It names the task that shows whether the
//! step is suspended; at the end it frees the cores and updates the public file.

use berth_host::ledger::{
    Claimed, Confirmed, Cpuset, Entry, Held, Session, StepKey, claim, public,
};
use berth_host::{Ledger, LedgerError, StateDir, machine_file};
use berth_placement::CpuSet;
use berth_placement::sets::count::either;
use slurm_sys::StepRecord;

use crate::message::handover::InCpuset;
use crate::planning::ledger;
use crate::planning::words::name;
use crate::site::standing::Abi;
use crate::site::{node, settings};

/// Which of the step's entries.
#[derive(Clone, Copy)]
pub(crate) enum What<'a> {
    /// The cores that its `--binding` chose.
    Binding(&'a CpuSet),
    /// The cpuset that it runs in.
    Cpuset(&'a InCpuset),
}

/// Other steps were faster: the step has no entry.
pub(crate) struct Late {
    /// For the user, if it goes on nevertheless.
    pub note: String,
    /// The CPUs of its own that others have; empty if its job is in another cpuset.
    pub taken: CpuSet,
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
    pub(crate) fn of_cpuset(held: Held, dir: StateDir, cpuset: &InCpuset) -> Self {
        Self {
            held,
            dir,
            cpuset: Some(cpuset.line.clone()),
        }
    }

    /// Takes over slurmd's entry for a step that is about to be bound to these CPUs. slurmd may have written
    /// no entry, or another step may have got its place because this one is late.
    ///
    /// # Errors
    /// [`Late`]
    pub(crate) fn confirm(
        record: &StepRecord<'_>,
        what: What<'_>,
        (node_name, is_in_pool): (&str, bool),
    ) -> Result<Option<Self>, Late> {
        let id = record.step_id();
        let Ok(dir) = StateDir::new(&settings::current().state_dir, node_name) else {
            return Ok(None);
        };
        let (step, uid) = (ledger::step(id), record.uid());
        let confirmed = Ledger::open(&dir).and_then(|ledger| match what {
            What::Binding(cpus) => ledger.for_pool(is_in_pool).confirm(step, uid, cpus),
            What::Cpuset(_) => ledger.for_pool(is_in_pool).confirm_cpuset(step, uid),
        });
        match confirmed {
            Ok(Confirmed::Held(held)) => Ok(Some(match what {
                What::Binding(_) => Self::new(*held, dir),
                What::Cpuset(cpuset) => Self::of_cpuset(*held, dir, cpuset),
            })),
            Ok(Confirmed::Nothing) => match what {
                What::Binding(_) => {
                    log::warn!(
                        "{}: it has no entry in the ledger, so its cores count as free",
                        name(id)
                    );
                    Ok(None)
                }
                What::Cpuset(cpuset) => Self::written(record, (cpuset, is_in_pool), dir),
            },
            Ok(Confirmed::Late(taken)) => Err(late(taken)),
            Err(why) => {
                log::error!("{why}; this step's cores count as free as soon as it has started");
                Ok(None)
            }
        }
    }

    /// slurmd could not write a cpuset's entry at once, because another process had the ledger. Others may
    /// have got its CPUs meanwhile.
    fn written(
        record: &StepRecord<'_>,
        (cpuset, is_in_pool): (&InCpuset, bool),
        dir: StateDir,
    ) -> Result<Option<Self>, Late> {
        let step = (ledger::step(record.step_id()), record.uid());
        let Some(entry) = entry_of_cpuset(step, record.node_tasks(), cpuset) else {
            return Ok(None);
        };
        match claim(&dir, &entry, is_in_pool) {
            Ok(Claimed::Held(held)) => Ok(Some(Self::of_cpuset(*held, dir, cpuset))),
            Ok(Claimed::Taken(taken)) => Err(late(taken)),
            Ok(Claimed::Elsewhere(cpus)) => Err(Late {
                note: elsewhere(&cpus),
                taken: CpuSet::new(),
            }),
            Err(why) => {
                log::error!("{why}; other jobs do not know of this step's cpuset");
                Ok(None)
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

/// The entry of a step's cpuset; none if this node did not choose it.
pub(crate) fn entry_of_cpuset(
    (step, uid): (StepKey, u32),
    tasks: u32,
    cpuset: &InCpuset,
) -> Option<Entry> {
    let held = cpuset.held?;
    Some(Entry {
        step,
        cpuset: Some(Cpuset {
            exclusive: held.exclusive,
            of_job: held.of_job,
            memory: held.memory,
        }),
        tasks,
        uid,
        mark: held.mark,
        cpus: cpuset.cpus.clone(),
        ..Entry::default()
    })
}

/// Whether another step of the job is in its cpuset.
fn has_cpuset(dir: &StateDir, job: u32) -> bool {
    let looked = Ledger::open(dir).and_then(|mut ledger| {
        let mut session = ledger.session_now()?;
        Ok(session.cpuset_of(job).is_some())
    });
    looked.unwrap_or(false)
}

/// A step that started so long after its planning that others have its cores.
fn late(taken: CpuSet) -> Late {
    let note = format!(
        "this step started long after its cores were chosen; meanwhile other steps were bound to \
         {} {taken} of them, which are now shared: start the step again if that matters",
        either(&taken.count(), "CPU", "CPUs")
    );
    Late { note, taken }
}

/// The note if other steps of the job have got another cpuset meanwhile.
fn elsewhere(cpus: &CpuSet) -> String {
    format!(
        "this step started long after its job's cpuset was chosen, and other steps of the job are in another one \
         now, on CPUs {cpus}: start the step again if that matters"
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
