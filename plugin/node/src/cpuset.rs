//! The life of one cpuset: Slurm suspends its job and resumes it, CPUs go offline, a step of its job begins. Its
//! entries in the ledger say where it is; this moves it, and lets its tasks wait for CPUs.
//!
//! ```text
//! Runs ── frozen ──► Suspended ── thawed ──► Resumed ── CPUs are chosen ──► Runs
//!                                               └ ORIG_CPUS without room: the tasks are frozen until there is some
//! ```

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use berth_host::LedgerError;
use berth_host::cgroup::freezer::Events;
use berth_host::ledger::{Entry, GRACE, Session};
use berth_placement::CpuSet;
use berth_placement::strategy::cpuset::Resumed;

use crate::choice;
use crate::ending::Tasks;
use crate::group::Group;
use crate::memory::Move;
use crate::node_state::{Cgroups, NodeState};
use crate::turn::Turn;

/// The time between two looks at a job that has its CPUs, and may just be stopping.
const WHILE_STOPPING: Duration = Duration::from_millis(200);
/// The time between two looks at a job that waits: `WAITING` while it has waited less than `LONG`, then `WAITING_LONG`.
const WAITING: Duration = Duration::from_secs(1);
const WAITING_LONG: Duration = Duration::from_secs(5);
const LONG: Duration = Duration::from_secs(60);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Runs,
    Suspended,
    /// Its CPUs are not chosen yet.
    Resumed(Instant),
}

/// The facts of a cpuset beside its entries.
#[derive(Debug)]
pub(crate) struct Tracked {
    phase: Phase,
    /// Those of the folders that Slurm freezes.
    pub events: HashMap<PathBuf, Events>,
    /// The tasks that were frozen here, and what /proc said of them then.
    held: Vec<Tasks>,
    /// Whether the log says that it waits.
    is_said: bool,
    /// The CPUs that were online when it was last made to fit them; none if that was on another machine.
    fits: Option<CpuSet>,
}

/// Work on a cpuset, while the ledger is locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// Slurm has frozen it, or it runs.
    LetGo,
    /// Its job was resumed.
    GoOn(Instant),
    /// A step of it began before the others had other CPUs, or had to wait.
    Gather,
    /// CPUs went offline, or are back.
    Online,
}

impl Tracked {
    /// One that is seen for the first time, while these CPUs are online.
    pub(crate) fn new(online: &CpuSet) -> Self {
        Self {
            phase: Phase::Runs,
            events: HashMap::new(),
            held: Vec::new(),
            is_said: false,
            fits: Some(online.clone()),
        }
    }

    /// Whether CPUs went offline or came back since it was made to fit them.
    pub(crate) fn is_outdated(&self, online: &CpuSet) -> bool {
        self.fits.as_ref() != Some(online)
    }

    /// The machine has other CPUs than before.
    pub(crate) fn is_on_another_machine(&mut self) {
        self.fits = None;
    }

    /// Looks at its cgroups, and says what is to be done.
    pub(crate) fn look(&mut self, cgroups: &Cgroups, group: &Group) -> Option<Work> {
        self.follow_events(cgroups, group);
        let is_frozen = |events: &Events| events.read().is_ok_and(|state| state.is_frozen);
        let is_frozen = !self.events.is_empty() && self.events.values().all(is_frozen);
        // Those of a cgroup that is gone would always have news.
        self.events.retain(|_, events| events.read().is_ok());
        match (self.phase, is_frozen) {
            (_, true) => {
                self.phase = Phase::Suspended;
                group.waits().then_some(Work::LetGo)
            }
            (Phase::Suspended, false) => {
                let now = Instant::now();
                (self.phase, self.is_said) = (Phase::Resumed(now), false);
                Some(Work::GoOn(now))
            }
            (Phase::Resumed(since), false) => Some(Work::GoOn(since)),
            // A cgroup that could not be thawed is tried again.
            (Phase::Runs, false) if group.waits() => Some(Work::LetGo),
            (Phase::Runs, false) => {
                let latest = group.cpusets.last()?;
                let is_elsewhere = |entry: &Entry| entry.cpus != latest.cpus;
                group.started().any(is_elsewhere).then_some(Work::Gather)
            }
        }
    }

    fn follow_events(&mut self, cgroups: &Cgroups, group: &Group) {
        let files: Vec<_> = group
            .started()
            .filter_map(|entry| entry.file.clone())
            .collect();
        self.events.retain(|file, _| files.contains(file));
        for (entry, file) in group.started().zip(&files) {
            if !self.events.contains_key(file)
                && let Some(tasks) = cgroups.tasks(entry)
                && let Ok(events) = tasks.open().and_then(|folder| Events::open(&folder))
            {
                self.events.insert(file.clone(), events);
            }
        }
    }

    /// After this time it is to be looked at again, whatever happens.
    pub(crate) fn pause(&self) -> Option<Duration> {
        match self.phase {
            Phase::Runs | Phase::Suspended => None,
            Phase::Resumed(since) if since.elapsed() < GRACE => Some(WHILE_STOPPING),
            Phase::Resumed(since) if since.elapsed() < LONG => Some(WAITING),
            Phase::Resumed(_) => Some(WAITING_LONG),
        }
    }

    /// Does it.
    ///
    /// # Errors
    /// Those of the ledger. It is tried again at the next look.
    pub(crate) fn work(
        &mut self,
        here: NodeState<'_>,
        session: &mut Session<'_>,
        (group, work): (&Group, Work),
        moves: &mut Vec<Move>,
    ) -> Result<(), LedgerError> {
        let mut turn = Turn {
            here,
            session,
            group,
            is_reset: work == Work::Online,
            moves,
        };
        match work {
            Work::LetGo => {
                self.held.clear();
                turn.let_go()
            }
            Work::GoOn(since) => self.go_on(&mut turn, since),
            Work::Gather => turn.gather(),
            Work::Online => {
                match self.phase {
                    Phase::Runs => turn.online()?,
                    Phase::Suspended | Phase::Resumed(_) => turn.put_again()?,
                }
                self.fits = Some(here.online.clone());
                Ok(())
            }
        }
    }

    /// Its job was resumed. As long as the jobs that have its CPUs may be stopping only these count; its tasks run
    /// there meanwhile, except where it wants no others.
    fn go_on(&mut self, turn: &mut Turn<'_, '_>, since: Instant) -> Result<(), LedgerError> {
        let Some(latest) = turn.group.cpusets.last().cloned() else {
            return Ok(());
        };
        let wanted = latest.home.as_ref().unwrap_or(&latest.cpus);
        let may_stop = since.elapsed() < GRACE;
        let found = turn.choose(&latest, wanted);
        let cpus = match found {
            Resumed::Same => wanted.clone(),
            Resumed::Changed(cpus) if !may_stop => cpus,
            Resumed::Shared if !may_stop => {
                log::info!(
                    "job={}: others use CPUs of its cpuset {wanted}, and it has no others that are free: they share",
                    latest.step.job
                );
                wanted.clone()
            }
            _ if !choice::request(&latest).orig_cpus => return Ok(()),
            _ => return self.wait(turn, (wanted, may_stop)),
        };
        turn.move_all(&cpus, None)?;
        self.done(turn)
    }

    /// There is no room, and the job wants none elsewhere.
    fn wait(
        &mut self,
        turn: &mut Turn<'_, '_>,
        (wanted, may_stop): (&CpuSet, bool),
    ) -> Result<(), LedgerError> {
        let job = turn.group.cpusets.first().map_or(0, |entry| entry.step.job);
        if self.held.iter().any(Tasks::are_being_ended) {
            log::warn!(
                "job={job}: one of its tasks ends or has got SIGTERM while they wait for CPUs of its cpuset ({wanted}); \
                 they run, and share these with others until they end"
            );
            return self.done(turn);
        }
        if !may_stop && !self.is_said {
            self.is_said = true;
            log::warn!(
                "job={job}: it was resumed, but others use CPUs of its cpuset ({wanted}), and too few others that it may \
                 have are free; its tasks stay frozen until there are enough (scancel ends it)"
            );
        }
        match turn.hold()? {
            Some(held) => self.held.extend(held),
            None => return self.done(turn),
        }
        Ok(())
    }

    /// Its tasks run.
    fn done(&mut self, turn: &mut Turn<'_, '_>) -> Result<(), LedgerError> {
        turn.let_go()?;
        self.phase = Phase::Runs;
        self.held.clear();
        Ok(())
    }
}
