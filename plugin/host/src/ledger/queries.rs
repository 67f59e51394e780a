//! Queries to the ledger: cpusets, pools, everything at once, and the file that everybody may read: the node's topology,
//! which cores are in use, and counts. The users stay in the ledger; slurmstepd writes the file when a bound step begins
//! and ends.
//! In: a session, the machine. Out: entries that live, or their CPUs; `name=value` lines (Grid Engine's load values of
//! section 3.1).

use std::time::Duration;

use berth_placement::{CpuSet, Machine, SocketKind};

use super::process::Task;
use super::{Entry, Ledger, LedgerError, PUBLIC, Session, step_cgroup};
use crate::atomic_file;
use crate::state::StateDir;

/// Whether Slurm has suspended a job, as far as its steps' tasks show: it suspends all of them.
#[must_use]
pub fn is_suspended(all: &[Entry], job: u32) -> bool {
    let steps = all.iter().filter(|entry| entry.step.job == job);
    let mut started = steps.filter(|entry| entry.task.is_some()).peekable();
    started.peek().is_some() && started.all(Entry::is_suspended)
}

/// The cpuset that the steps of a job have on a node now, if the ledger can be read. Nothing is locked.
#[must_use]
pub fn cpuset_of(dir: &StateDir, job: u32) -> Option<Entry> {
    let ledger = Ledger::open(dir).ok()?;
    let session = ledger.read().ok()?;
    session.latest_cpuset(|entry| entry.is_cpuset_of(job))
}

impl Session<'_> {
    /// The CPUs of other jobs' cpusets that want the memory beside them for themselves, wherever they are:
    /// two jobs can have CPUs of one memory node without having one in common.
    #[must_use]
    pub fn memory_cpus(&self, job: u32) -> CpuSet {
        let mut all = CpuSet::new();
        for entry in self.entries.iter().filter(|entry| entry.wants_memory(job)) {
            all.insert_all(&entry.cpus);
        }
        all
    }

    /// The live cpuset of a job of this user that owns some of these CPUs; none of them if that is not known. Others are of
    /// an earlier job of its number: it was requeued, or slurmctld has begun again.
    #[must_use]
    pub fn cpuset_of(&self, job: u32, uid: u32, own: &CpuSet) -> Option<Entry> {
        let owns = |entry: &Entry| own.is_empty() || own.intersects(&entry.job_cpus);
        self.latest_cpuset(|entry| entry.is_cpuset_of(job) && entry.uid == uid && owns(entry))
    }

    /// Of several, the one of the latest generation that was made last.
    fn latest_cpuset(&self, is_its: impl Fn(&Entry) -> bool) -> Option<Entry> {
        let found = self.entries.iter().filter(|entry| is_its(entry));
        found
            .max_by_key(|entry| (entry.generation, entry.made))
            .cloned()
    }

    /// The CPUs of the other jobs that are not suspended, and do not wait.
    #[must_use]
    pub fn held_by_others(&self, job: u32) -> CpuSet {
        let runs = |entry: &&Entry| entry.step.job != job && !entry.is_stopped();
        let mut held = CpuSet::new();
        for entry in self.entries.iter().filter(runs) {
            held.insert_all(&entry.cpus);
        }
        held
    }

    /// The places of jobs in pools: one entry for each of their steps that lives.
    #[must_use]
    pub fn pools(&self) -> Vec<Entry> {
        let all = self.entries.iter();
        all.filter(|entry| entry.pool).cloned().collect()
    }
}

/// Its name in the state directory.
pub const TOPOLOGY_FILE: &str = "topology";
const TOPOLOGY_MODE: u32 = 0o644;
/// The most rewrites of the file while the ledger keeps changing.
const MOST_TURNS: u32 = 100;

/// The lines for a node whose bound steps use these CPUs.
#[must_use]
pub fn topology_text(machine: &Machine, kind: SocketKind, used: &CpuSet, steps: usize) -> String {
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
pub fn write_topology(
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
        // The CPUs that a pool job owns are not bound.
        let bound = || session.entries().iter().filter(|entry| !entry.pool);
        let mut used = CpuSet::new();
        bound().for_each(|entry| used.insert_all(&entry.cpus));
        let steps = bound().filter(|entry| entry.cpuset.is_none());
        let text = topology_text(machine, kind, &used, steps.count());
        atomic_file::replace(
            &dir.path().join(TOPOLOGY_FILE),
            text.as_bytes(),
            TOPOLOGY_MODE,
        )
        .map_err(|failed| ledger.failed("writing the public file beside it", failed.why))?;
        drop(turn);
        if ledger.read()?.entries() == session.entries() {
            break;
        }
    }
    Ok(())
}

/// Slurm stops the tasks of a step that it suspends, and freezes them two seconds later (`proctrack/cgroup`).
impl Entry {
    /// Whether its tasks do not run: Slurm has suspended them, frozen or stopped, or they wait for CPUs.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.waits || self.is_frozen() == Some(true) || self.has_stopped()
    }

    /// Whether Slurm has suspended it. Where Slurm has a freezer for it a stop alone means nothing, because everybody may
    /// stop his own tasks.
    pub(super) fn is_suspended(&self) -> bool {
        self.waits || self.is_frozen().unwrap_or_else(|| self.has_stopped())
    }

    /// Nothing where Slurm keeps the step in no cgroup.
    fn is_frozen(&self) -> Option<bool> {
        self.cgroup.as_deref().map(step_cgroup::is_frozen)
    }

    fn has_stopped(&self) -> bool {
        self.task.is_some_and(Task::has_stopped)
    }
}
