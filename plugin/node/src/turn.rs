//! The work on a cpuset while the ledger is locked: its steps go elsewhere, are frozen, and go on.

use berth_host::LedgerError;
use berth_host::cgroup::Place;
use berth_host::ledger::{Entry, Session, TaskCgroup};
use berth_placement::CpuSet;
use berth_placement::strategy::cpuset::Resumed;

use crate::choice;
use crate::ending::Tasks;
use crate::group::Group;
use crate::memory::Move;
use crate::node_state::{Cgroups, NodeState};
use crate::task_cgroup::{self, Change, Way, follow};

/// Where Slurm keeps what a job's extern step has adopted.
const ADOPTED: [&str; 2] = ["step_extern", "user"];
/// The most cgroups of adopted processes. Slurm makes one.
const MOST_ADOPTED: usize = 64;

/// A cpuset's entries while the ledger is locked.
pub(crate) struct Turn<'a, 's> {
    pub here: NodeState<'a>,
    pub session: &'a mut Session<'s>,
    pub group: &'a Group,
    /// Whether the kernel may have forgotten masks.
    pub is_reset: bool,
    /// The memory that is to follow when the ledger is free: the kernel lets whoever writes a cgroup wait for such moves.
    pub moves: &'a mut Vec<Move>,
}

impl Turn<'_, '_> {
    pub(crate) fn choose(&self, entry: &Entry, wanted: &CpuSet) -> Resumed {
        choice::choose(self.session, self.here, (entry, wanted))
    }

    /// The steps go where the latest choice is.
    pub(crate) fn gather(&mut self) -> Result<(), LedgerError> {
        let Some(latest) = self.group.cpusets.last() else {
            return Ok(());
        };
        let (cpus, home) = (latest.cpus.clone(), latest.home.clone());
        let elsewhere: Vec<_> = self.group.started().collect();
        for entry in elsewhere.into_iter().filter(|entry| entry.cpus != cpus) {
            self.move_step(entry, (&cpus, home.clone()), latest.generation)?;
        }
        Ok(())
    }

    /// It is where its entries say, also where the kernel has forgotten masks.
    pub(crate) fn put_again(&mut self) -> Result<(), LedgerError> {
        match self.group.cpusets.last().cloned() {
            Some(latest) => self.move_all(&latest.cpus, latest.home),
            None => Ok(()),
        }
    }

    /// CPUs went offline, or are back: it has others for them meanwhile. Masks that the kernel forgot are given again.
    pub(crate) fn online(&mut self) -> Result<(), LedgerError> {
        let Some(latest) = self.group.cpusets.last().cloned() else {
            return Ok(());
        };
        let home = latest.home.clone().unwrap_or_else(|| latest.cpus.clone());
        // Without the core of a CPU nobody knows which tasks had it.
        let usable = self.here.usable();
        let is_back = home.is_subset(&usable);
        if is_back == latest.home.is_none() && latest.cpus.is_subset(&usable) {
            return self.put_again();
        }
        match self.choose(&latest, &home) {
            Resumed::Same if is_back => self.move_all(&home, None),
            Resumed::Changed(cpus) => self.move_all(&cpus, Some(home).filter(|_| !is_back)),
            _ => self.put_again(),
        }
    }

    /// All steps have these CPUs from now on. A step that cannot be moved keeps no other one where it was.
    pub(crate) fn move_all(
        &mut self,
        to: &CpuSet,
        home: Option<CpuSet>,
    ) -> Result<(), LedgerError> {
        let Some(latest) = self.group.cpusets.last() else {
            return Ok(());
        };
        let is_new = latest.cpus != *to || latest.home != home;
        let generation = latest.generation + u32::from(is_new);
        if latest.cpus != *to {
            let (job, from) = (latest.step.job, &latest.cpus);
            log::info!("job={job}: its cpuset had CPUs {from} and has CPUs {to} now");
        }
        let steps: Vec<_> = self.group.started().collect();
        let mut done = Ok(());
        for entry in steps {
            let moved = self.move_step(entry, (to, home.clone()), generation);
            done = done.and(moved);
        }
        self.move_adopted(latest, to);
        done
    }

    /// One step: its entries first, then the kernel's files and masks. The ledger is locked meanwhile. The cpuset's entry
    /// is written after those of the bindings: as long as it has the old CPUs, the next look tries all of it again.
    fn move_step(
        &mut self,
        entry: &Entry,
        (to, home): (&CpuSet, Option<CpuSet>),
        generation: u32,
    ) -> Result<(), LedgerError> {
        let way = Way {
            node: self.here.node,
            from: &entry.cpus,
            to,
        };
        let reach = self.reach(entry);
        let moved = Entry {
            cpus: to.clone(),
            home,
            generation,
            leaves: entry
                .leaves
                .iter()
                .map(|leaf| way.leaf(leaf, &reach))
                .collect(),
            ..entry.clone()
        };
        for binding in self.group.bindings.iter().filter(|_| way.from != way.to) {
            if binding.step == entry.step {
                let cpus = way.of(&binding.cpus);
                let after = Entry {
                    cpus,
                    ..binding.clone()
                };
                self.session.change(binding, &after)?;
            }
        }
        if moved != *entry {
            self.session.change(entry, &moved)?;
        }
        if way.from != way.to || self.is_reset {
            put(self.here.cgroups, (entry, &moved), way, self.is_reset);
        }
        if way.from != way.to {
            self.moves.push(Move::of(entry, &moved, self.here));
        }
        Ok(())
    }

    /// The CPUs that a step reaches: its own cgroup may have less than its job.
    fn reach(&self, entry: &Entry) -> CpuSet {
        let tasks = self.here.cgroups.tasks(entry);
        let folder = tasks.and_then(|tasks| tasks.open().ok());
        let has = folder.map(|folder| folder.cpus("cpuset.cpus.effective"));
        let own = &entry.job_cpus;
        has.map_or_else(|| own.clone(), |has| has.intersection(own))
    }

    /// Moves the processes that the job's extern step has adopted.
    fn move_adopted(&self, latest: &Entry, to: &CpuSet) {
        let is_of_job = latest.cpuset.is_some_and(|cpuset| cpuset.of_job);
        let step = self.here.cgroups.step(latest);
        let Some(step) = step.filter(|_| is_of_job && latest.cpus != *to) else {
            return;
        };
        let adopted = ADOPTED
            .iter()
            .fold(step.above(1), |at, name| at.below(name));
        let way = Way {
            node: self.here.node,
            from: &latest.cpus,
            to,
        };
        for place in adopted.children(MOST_ADOPTED) {
            match follow(&place, way) {
                Ok(()) => log::info!(
                    "job={} adopted processes follow its cpuset",
                    latest.step.job
                ),
                Err(why) => log::debug!("job={} adopted processes: {why}", latest.step.job),
            }
        }
    }

    /// Writes into the ledger that the running tasks wait, and then freezes them. None if that cannot be done.
    pub(crate) fn hold(&mut self) -> Result<Option<Vec<Tasks>>, LedgerError> {
        let mut held = Vec::new();
        let running: Vec<_> = self.group.started().filter(|entry| !entry.waits).collect();
        for entry in running {
            let waits = Entry {
                waits: true,
                ..entry.clone()
            };
            self.session.change(entry, &waits)?;
            held.push(Tasks::of(self.here.cgroups.processes(entry)));
            for (place, _) in self.here.cgroups.leaves(entry) {
                if let Err(why) = task_cgroup::freeze(&place, true)
                    && place.exists()
                {
                    log::warn!(
                        "job={}: its tasks cannot be kept frozen: {why}",
                        entry.step.job
                    );
                    return Ok(None);
                }
            }
        }
        Ok(Some(held))
    }

    /// Thaws the tasks that wait, and then writes into the ledger that they run.
    pub(crate) fn let_go(&mut self) -> Result<(), LedgerError> {
        let entries: Vec<_> = self.session.entries().to_vec();
        let is_its = |entry: &&Entry| self.group.cpusets.iter().any(|one| one.file == entry.file);
        for entry in entries.iter().filter(|entry| entry.waits).filter(is_its) {
            let_go(self.session, self.here.cgroups, entry)?;
        }
        Ok(())
    }
}

/// Thaws the tasks of an entry that waits. Those that cannot be thawed keep it as it is, for the next try.
pub(crate) fn let_go(
    session: &mut Session<'_>,
    cgroups: &Cgroups,
    entry: &Entry,
) -> Result<(), LedgerError> {
    let mut are_thawed = true;
    for (place, _) in cgroups.leaves(entry) {
        if let Err(why) = task_cgroup::freeze(&place, false)
            && place.exists()
        {
            log::error!("{place}: a task that should run is still frozen: {why}");
            are_thawed = false;
        }
    }
    let runs = Entry {
        waits: !are_thawed,
        ..entry.clone()
    };
    session.change(entry, &runs)
}

/// Each task's cgroup has what an entry says.
pub(crate) fn put(
    cgroups: &Cgroups,
    (before, after): (&Entry, &Entry),
    way: Way<'_>,
    is_reset: bool,
) {
    for ((place, before), after) in cgroups.leaves(before).zip(&after.leaves) {
        let change = Change {
            before,
            after,
            way,
            is_reset,
        };
        if let Err(why) = change.apply(&place)
            && place.exists()
        {
            log::warn!("{why}; its tasks have the step's CPUs");
        }
    }
}

/// Whether a task's cgroup has other CPUs than its entry says.
pub(crate) fn is_elsewhere(cgroups: &Cgroups, entry: &Entry) -> bool {
    let differs = |(place, leaf): (Place, &TaskCgroup)| {
        let folder = place.open();
        folder.is_ok_and(|folder| folder.cpus("cpuset.cpus") != leaf.fence)
    };
    cgroups.leaves(entry).any(differs)
}
