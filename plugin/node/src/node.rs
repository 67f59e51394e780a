//! The state folder of one slurmd: its machine, its ledger, and the cpusets in it.

use std::collections::{BTreeSet, HashMap};
use std::error::Error;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use berth_host::cgroup::Place;
use berth_host::ledger::{Entry, NAME, ServiceLife, Session, queries};
use berth_host::machine_file::MachineFileError;
use berth_host::{Ledger, LedgerError, StateDir, announcement, machine_file};
use berth_placement::{CpuSet, Machine, Node, Rules, SocketKind};

use crate::cpuset::{Tracked, Work};
use crate::faults::Faults;
use crate::group::{Group, Unit};
use crate::memory::Mover;
use crate::node_state::{Cgroups, NodeState};
use crate::task_cgroup::Way;
use crate::turn::{is_elsewhere, let_go, put};

/// The time to wait for others who write the ledger.
const PATIENCE: Duration = Duration::from_secs(2);

/// A node that is served.
pub(crate) struct ServedNode {
    dir: StateDir,
    ledger: Ledger,
    _life: ServiceLife,
    cgroups: Cgroups,
    machine: Option<KnownMachine>,
    cpusets: HashMap<Unit, Tracked>,
    /// The CPUs that were online at the first look, or when slurmd was last asked to discover the machine.
    discovered: Option<CpuSet>,
    faults: Faults,
}

/// The machine, as far as this service has seen it.
struct KnownMachine {
    /// When slurmd's file was written.
    written: SystemTime,
    /// The machine in it, without the CPUs that were offline at its discovery.
    in_file: Machine,
    /// The node with the cores of those CPUs too, if an earlier file has had them.
    node: Node,
}

impl KnownMachine {
    /// After a new file: CPUs that are offline now still belong to the cores that they had.
    fn after(before: Option<Self>, written: SystemTime, in_file: Machine) -> Self {
        let has_more = |known: &Self| !known.cpus().is_subset(in_file.cpus());
        let node = match before.filter(has_more) {
            Some(known) => known.node,
            None => Node::of(in_file.clone(), SocketKind::default(), Rules::default()),
        };
        Self {
            written,
            in_file,
            node,
        }
    }

    fn cpus(&self) -> &CpuSet {
        self.node.machine().unwrap_or(&self.in_file).cpus()
    }
}

/// The means of the service beside its nodes.
#[derive(Clone, Copy)]
pub(crate) struct Around<'a> {
    /// The CPUs that are online.
    pub online: &'a CpuSet,
    pub mover: &'a Mover,
}

impl ServedNode {
    /// Serves a node from now on. Its folder has a ledger from its first launch with a cpuset on. None if another
    /// service serves it.
    ///
    /// # Errors
    /// A ledger that cannot be used.
    pub(crate) fn serve(
        dir: StateDir,
        name: &str,
        tops: Vec<Place>,
    ) -> Result<Option<Self>, LedgerError> {
        let ledger = Ledger::open(&dir)?;
        let Some(life) = Ledger::open(&dir)?.into_service()? else {
            return Ok(None);
        };
        let node = name.to_owned();
        let mut served = Self {
            dir,
            ledger,
            _life: life,
            cgroups: Cgroups { tops, node },
            machine: None,
            cpusets: HashMap::new(),
            discovered: None,
            faults: Faults::default(),
        };
        served.begin()?;
        Ok(Some(served))
    }

    /// A service before may have been killed at any point: nothing stays frozen, and the kernel has what the ledger says.
    fn begin(&mut self) -> Result<(), LedgerError> {
        release(&self.ledger, &self.cgroups)?;
        // A file that is not usable is logged at the first look.
        let _ = self.read_machine();
        let Some(KnownMachine { node, .. }) = &self.machine else {
            return Ok(());
        };
        let session = self.ledger.read()?;
        let is_elsewhere = |entry: &&Entry| is_elsewhere(&self.cgroups, entry);
        for entry in session.entries().iter().filter(is_elsewhere) {
            let way = Way {
                node,
                from: &entry.cpus,
                to: &entry.cpus,
            };
            put(&self.cgroups, (entry, entry), way, true);
        }
        Ok(())
    }

    /// The folder in which slurmstepds write their entries.
    pub(crate) fn steps(&self) -> PathBuf {
        self.dir.path().join(NAME)
    }

    /// Its descriptors that have news when Slurm freezes something or thaws it.
    pub(crate) fn events(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let all = self.cpusets.values().flat_map(|one| one.events.values());
        all.map(AsFd::as_fd)
    }

    /// Looks at everything once, and does what is to be done. What fails is tried again at the next look. Returns after
    /// which time to look again at the latest.
    pub(crate) fn pass(&mut self, around: Around<'_>) -> Option<Duration> {
        let mut faults = BTreeSet::new();
        if let Err(why) = self.read_machine() {
            faults.insert(self.fault(&why));
        }
        match self.look(around.online) {
            Ok(work) if work.is_empty() => {}
            Ok(work) => {
                faults.append(&mut self.work(around, &work));
                self.publish();
            }
            Err(why) => drop(faults.insert(self.fault(&why))),
        }
        if let Err(why) = self.ask_to_reload(around.online) {
            faults.insert(format!(
                "{}: slurmd cannot be asked to discover the machine: {why}",
                self.cgroups.node
            ));
        }
        self.faults.log(faults);
        self.cpusets.values().filter_map(Tracked::pause).min()
    }

    /// The text of an error of this node.
    fn fault(&self, why: &dyn Error) -> String {
        format!("{}: {why}", self.cgroups.node)
    }

    /// Asks slurmd to discover the machine again, once after each change.
    fn ask_to_reload(&mut self, online: &CpuSet) -> io::Result<()> {
        let discovered = self.discovered.get_or_insert_with(|| online.clone());
        if discovered != online {
            self.dir.ask_to_reload()?;
            discovered.clone_from(online);
        }
        Ok(())
    }

    /// Looks at all cpusets; nothing is locked.
    fn look(&mut self, online: &CpuSet) -> Result<Vec<(Unit, Work)>, LedgerError> {
        let session = self.ledger.read()?;
        let groups = Group::all(session.entries());
        self.cpusets.retain(|unit, _| groups.contains_key(unit));
        let mut work = Vec::new();
        for (unit, group) in &groups {
            let tracked = self.cpusets.entry(*unit);
            let tracked = tracked.or_insert_with(|| Tracked::new(online));
            let found = tracked.look(&self.cgroups, group);
            let outdated = tracked.is_outdated(online).then_some(Work::Online);
            work.extend(found.into_iter().chain(outdated).map(|work| (*unit, work)));
        }
        Ok(work)
    }

    /// Does it, while nobody else looks. Returns what has failed: a cpuset keeps no other one from its CPUs.
    fn work(&mut self, around: Around<'_>, work: &[(Unit, Work)]) -> BTreeSet<String> {
        let Some(KnownMachine { node, .. }) = &self.machine else {
            let name = &self.cgroups.node;
            return [format!(
                "{name}: no machine file; cpusets stay where they are"
            )]
            .into();
        };
        let mut session = match self.ledger.session(PATIENCE) {
            Ok(session) => session,
            Err(why) => return [self.fault(&why)].into(),
        };
        let here = NodeState {
            node,
            cgroups: &self.cgroups,
            online: around.online,
        };
        let (mut moves, mut faults) = (Vec::new(), BTreeSet::new());
        for (unit, work) in work {
            // The work before may have changed the entries.
            let group = Group::all(session.entries()).remove(unit);
            if let (Some(tracked), Some(group)) = (self.cpusets.get_mut(unit), group)
                && let Err(why) = tracked.work(here, &mut session, (&group, *work), &mut moves)
            {
                faults.insert(format!("{}: job={}: {why}", self.cgroups.node, unit.job));
            }
        }
        drop(session);
        moves.into_iter().for_each(|one| around.mover.begin(one));
        faults
    }

    /// slurmd's machine file, if it is another than before.
    ///
    /// # Errors
    /// A file that is not usable: the machine that was known before stays.
    fn read_machine(&mut self) -> Result<(), MachineFileError> {
        let path = self.dir.machine_path();
        let written = std::fs::metadata(path).and_then(|found| found.modified());
        let Ok(written) = written else { return Ok(()) };
        let is_known = |known: &KnownMachine| known.written == written;
        if self.machine.as_ref().is_some_and(is_known) {
            return Ok(());
        }
        let file = machine_file::read(path)?;
        let before = self.machine.take();
        let cpus = before.as_ref().map(|known| known.cpus().clone());
        let known = KnownMachine::after(before, written, file.machine);
        if cpus.is_some_and(|cpus| cpus != *known.cpus()) {
            let cpusets = self.cpusets.values_mut();
            cpusets.for_each(Tracked::is_on_another_machine);
        }
        self.machine = Some(known);
        Ok(())
    }

    /// The file that everybody may read has the CPUs that are in use now.
    fn publish(&self) {
        let words = announcement::read(&self.dir).ok();
        let rules = words.and_then(|words| words.site_rules());
        let kind = rules.map(|rules| rules.socket()).unwrap_or_default();
        let Some(KnownMachine { in_file, .. }) = &self.machine else {
            return;
        };
        if let Err(why) = queries::write_topology(&self.ledger, &self.dir, in_file, kind) {
            log::debug!("{why}");
        }
    }

    /// The service ends: nothing stays frozen.
    pub(crate) fn end(&self) {
        if let Err(why) = release(&self.ledger, &self.cgroups) {
            log::error!("{why}; tasks may stay frozen: run berth node --release");
        }
    }
}

/// Thaws all that a service has frozen.
///
/// # Errors
/// A ledger that cannot be used.
pub(crate) fn release(ledger: &Ledger, cgroups: &Cgroups) -> Result<(), LedgerError> {
    let mut session: Session<'_> = ledger.session(PATIENCE)?;
    let waiting = session.entries().iter().filter(|entry| entry.waits);
    let waiting: Vec<Entry> = waiting.cloned().collect();
    for entry in waiting {
        log::info!("job={}: its tasks go on", entry.step.job);
        let_go(&mut session, cgroups, &entry)?;
    }
    Ok(())
}

#[cfg(test)]
#[path = "node_tests.rs"]
mod tests;
