//! A step that is watched: what happened to it, and what is done.
//!
//! While Slurm has the step frozen, its tasks' own cgroups are frozen too, so that after Slurm's thaw nothing
//! runs before its CPUs are chosen. They are thawed in the end whatever fails.

use std::time::{Duration, Instant};

use berth_host::OnlineCpus;
use berth_host::bell::{Bell, Woken};
use berth_host::cgroup::FenceError;
use berth_host::cgroup::freezer::Events;
use berth_placement::strategy::cpuset::{memory_nodes, moved};
use berth_placement::{CpuSet, SetMemory};

use crate::step::cpuset::GRACE;
use crate::stepd::leaf::{Leaf, Ours};
use crate::stepd::watch::beside::Begins;
use crate::stepd::watch::choice::{Accepts, Cpuset, Found, Glance};
use crate::stepd::watch::ending::Tasks;
use crate::stepd::watch::memory::{Follow, Move};
use crate::stepd::watch::step_is_suspended;

/// A CPU that goes offline or comes back is seen within this time.
const BETWEEN_LOOKS: u16 = 4000;
/// While the job waits for CPUs.
const BETWEEN_TRIES: u16 = 1000;
/// The same as long as a job that has them may just be stopping.
const BETWEEN_HOPES: u16 = 200;
/// Errors of poll(2) in a row that are borne, and the pause after each.
const MOST_ERRORS: u32 = 100;
const AFTER_ERROR: Duration = Duration::from_millis(100);
/// How long it is tried to find out which CPUs are free.
const LEARNING: Duration = Duration::from_secs(30);
/// A job that waits for longer is looked at less often.
const SOON: Duration = Duration::from_secs(60);
const LATER: u16 = 5000;
/// How often a frozen task is tried to be thawed when the step ends.
const LAST_TRIES: u32 = 5;

/// A step that is watched.
pub(crate) struct Watched {
    pub(super) name: String,
    pub(super) leaves: Vec<Leaf>,
    pub(super) cpuset: Option<(Cpuset, SetMemory)>,
    /// Whether each task is confined to its own CPUs.
    to_own: bool,
    /// Whether the tasks' own cgroups are frozen.
    is_frozen: bool,
    /// Whether that holds for all of them, so that they can wait for CPUs.
    can_wait: bool,
    /// Whether one of them could not be thawed.
    is_stuck: bool,
    /// The tasks that lived then.
    tasks: Tasks,
    /// Their masks.
    held_masks: Vec<Option<CpuSet>>,
    /// Since when Slurm has thawed them, and whether that the job waits was said.
    waits: Option<(Instant, bool)>,
    /// What stood against it when the job was last looked at.
    glance: Option<Glance>,
    /// The CPUs that the cpuset had before some of them went offline.
    pub(super) home: Option<CpuSet>,
    /// Memory that is on its way to the cpuset's CPUs.
    follow: Option<Follow>,
}

impl Watched {
    pub(super) fn new(
        name: String,
        leaves: Vec<Leaf>,
        cpuset: Option<(Cpuset, SetMemory)>,
        to_own: bool,
    ) -> Self {
        Self {
            name,
            leaves,
            cpuset,
            to_own,
            is_frozen: false,
            can_wait: true,
            is_stuck: false,
            tasks: Tasks::default(),
            held_masks: Vec::new(),
            waits: None,
            glance: None,
            home: None,
            follow: None,
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// When its tasks begin, which have an entry of this generation.
    pub(super) fn begins(&self, generation: u32) -> Begins {
        let cpuset = self.cpuset.as_ref();
        cpuset.map_or(Begins::Now, |(cpuset, _)| Begins::of(cpuset, generation))
    }

    pub(super) fn leaves(&self) -> &[Leaf] {
        &self.leaves
    }

    /// Watches until the bell rings or the step's cgroup is gone.
    pub(super) fn run(&mut self, bell: &Bell) {
        let above = self.leaves.first().map(|leaf| leaf.place.above(1).open());
        let Some(Ok(Ok(events))) = above.map(|folder| folder.map(|folder| Events::open(&folder)))
        else {
            log::debug!("{}: its cgroup has no events", self.name);
            return;
        };
        let online = OnlineCpus::open().ok();
        let read = || online.as_ref().and_then(|online| online.read().ok());
        let mut known = read();
        let mut errors = 0;
        loop {
            let Ok(state) = events.read() else {
                return;
            };
            if state.is_frozen {
                self.suspended();
            } else if self.is_frozen {
                self.resumed();
            } else if let (Some(online), Some(text)) = (&online, &mut known)
                && !online.unchanged(text)
                && let Some(now) = read()
            {
                *text = now;
                self.cpus_changed(text);
            }
            self.move_memory();
            match bell.wait(&events, self.pause()) {
                Ok(Woken::Rung) => return,
                Ok(_) => errors = 0,
                Err(_) if errors < MOST_ERRORS => {
                    errors += 1;
                    std::thread::sleep(AFTER_ERROR);
                }
                Err(why) => {
                    log::debug!("{}: poll: {why}", self.name);
                    return;
                }
            }
        }
    }

    /// Nothing stays frozen.
    pub(super) fn end(&mut self) {
        for _ in 0..LAST_TRIES {
            if !self.is_frozen {
                return;
            }
            self.thaw();
            if self.is_frozen {
                std::thread::sleep(AFTER_ERROR);
            }
        }
    }

    fn pause(&self) -> u16 {
        match self.waits {
            None if self.follow.is_some() && !self.is_frozen => 0,
            None if self.is_stuck => BETWEEN_TRIES,
            None => BETWEEN_LOOKS,
            Some((since, _)) if since.elapsed() < GRACE => BETWEEN_HOPES,
            Some((since, _)) if since.elapsed() < SOON => BETWEEN_TRIES,
            Some(_) => LATER,
        }
    }

    /// Slurm has frozen the step.
    fn suspended(&mut self) {
        self.waits = None;
        if self.is_frozen && !self.is_stuck {
            return;
        }
        step_is_suspended(true);
        self.hold();
    }

    /// The tasks stay where they are until their CPUs are chosen.
    pub(super) fn hold(&mut self) {
        (self.is_frozen, self.is_stuck, self.can_wait) = (true, false, true);
        let alive = self.leaves.iter();
        let alive = alive.filter(|leaf| leaf.processes().contains(&leaf.pid));
        self.tasks = Tasks::of(alive.map(|leaf| leaf.pid));
        self.held_masks = self.masks();
        if self.cpuset.is_some()
            && let Err(why) = self.freeze().or_else(|_| self.freeze())
        {
            log::warn!(
                "{}: its tasks cannot be kept frozen: {why}; after the job's resume they run before their CPUs \
                 are chosen",
                self.name
            );
            self.can_wait = false;
            let leaves = self.leaves.iter_mut();
            leaves.for_each(|leaf| drop(leaf.freeze(false, &self.name)));
        }
    }

    fn freeze(&mut self) -> Result<(), FenceError> {
        let mut leaves = self.leaves.iter_mut();
        leaves.try_for_each(|leaf| match leaf.freeze(true, &self.name) {
            Err(why) if leaf.place.exists() => Err(why),
            _ => Ok(()),
        })
    }

    /// Slurm has thawed it.
    fn resumed(&mut self) {
        let Some((cpuset, _)) = &self.cpuset else {
            return self.thaw();
        };
        let (since, was_said) = self.waits.unwrap_or((Instant::now(), false));
        let hopes = since.elapsed() < GRACE;
        let wanted = self.home.clone().unwrap_or_else(|| cpuset.cpus.clone());
        let Some(first) = self.leaves.first() else {
            return self.thaw();
        };
        let before = self.glance.take().filter(|glance| glance.holds(hopes));
        let found = match before {
            Some(glance) => Ok(Err(glance)),
            None => {
                let accepts = if hopes {
                    Accepts::Original
                } else {
                    Accepts::Shared
                };
                cpuset.choose(&first.place, (&wanted, accepts))
            }
        };
        match found {
            Ok(Ok(found)) => {
                self.go_on(found, Ours::Given);
                self.home = None;
                self.thaw();
            }
            Ok(Err(_)) if !self.can_wait || self.are_being_ended(&wanted) => self.thaw(),
            Ok(Err(glance)) => {
                self.glance = Some(glance);
                let says = !hopes && !was_said;
                if says {
                    log::warn!(
                        "{}: its job was resumed, but others use CPUs of its cpuset ({wanted}), and too few others \
                         that it may have are free; its tasks stay frozen until there are enough (scancel ends it)",
                        self.name
                    );
                }
                self.waits = Some((since, was_said || says));
            }
            // The ledger may be busy for a moment.
            Err(_) if since.elapsed() < LEARNING => self.waits = Some((since, was_said)),
            Err(why) => {
                log::error!(
                    "{}: which CPUs are free could not be found out: {why}; the job goes on with CPUs {}",
                    self.name,
                    cpuset.cpus
                );
                self.thaw();
            }
        }
    }

    /// Whether somebody ends the tasks, which then do not wait for these CPUs.
    fn are_being_ended(&self, wanted: &CpuSet) -> bool {
        let are_being_ended = self.tasks.are_being_ended();
        if are_being_ended {
            log::warn!(
                "{}: one of its tasks ends or has got SIGTERM while they wait for CPUs of its cpuset ({wanted}); \
                 they run, and share these with others until they end",
                self.name
            );
        }
        are_being_ended
    }

    /// The tasks run. What cannot be thawed is tried again.
    fn thaw(&mut self) {
        step_is_suspended(false);
        self.waits = None;
        let mut failed = None;
        for leaf in self.leaves.iter_mut().filter(|leaf| leaf.is_frozen) {
            if let Err(why) = leaf.freeze(false, &self.name) {
                // Without its cgroup there is nobody to thaw.
                leaf.is_frozen = leaf.place.exists();
                failed = Some(why).filter(|_| leaf.is_frozen).or(failed);
            }
        }
        self.is_frozen = failed.is_some();
        match failed {
            Some(why) if !self.is_stuck => {
                log::error!(
                    "{}: a task that should run is still frozen: {why}; tried again",
                    self.name
                );
                self.is_stuck = true;
            }
            Some(_) => {}
            None => self.is_stuck = false,
        }
    }

    /// The cpuset has these CPUs from now on, with its tasks and their memory.
    pub(super) fn go_on(&mut self, found: Found, ours: Ours) {
        let Some((cpuset, memory)) = &mut self.cpuset else {
            return;
        };
        let (from, to, node) = (cpuset.cpus.clone(), found.cpus, found.node);
        if found.is_shared {
            log::info!(
                "{}: others use CPUs of its cpuset {to}, and its job has no others that are free: they share",
                self.name
            );
        }
        if from == to {
            // A CPU may have been away meanwhile, and kernels before 6.2 forget masks then.
            if self.masks() != self.held_masks {
                self.put_again();
            }
            return;
        }
        let way = Move {
            from: node.numa_nodes_of(&from),
            to: node.numa_nodes_of(&to),
            mems: memory_nodes(&node, &to, &cpuset.asked),
            memory: *memory,
        };
        for leaf in &mut self.leaves {
            let fence = to.intersection(&found.reach);
            let mask = moved(&node, (&from, &to), &leaf.mask).intersection(&fence);
            // A task whose place its step does not reach has all of the step's.
            let mask = if mask.is_empty() { fence.clone() } else { mask };
            let fence = if self.to_own { mask.clone() } else { fence };
            if let Err(why) = leaf.put((fence, mask), ours, &self.name) {
                log::warn!("{}: {why}; its tasks have the step's CPUs", self.name);
            }
        }
        log::info!(
            "{}: its cpuset had CPUs {from} and has CPUs {to} now",
            self.name
        );
        self.follow = Follow::begin(way, &self.leaves, self.follow.take(), &self.name);
        cpuset.cpus = to;
    }

    /// A slice of the memory that follows its tasks. A suspended job's memory waits, because the next resume may
    /// send it elsewhere.
    fn move_memory(&mut self) {
        let Some(follow) = self.follow.as_mut().filter(|_| !self.is_frozen) else {
            return;
        };
        if follow.go_on(&self.name) {
            return;
        }
        let moved = &follow.moved;
        let why = moved.why.as_ref();
        let why = why.map(|why| format!("; {why}")).unwrap_or_default();
        log::info!(
            "{}: memory of its cpuset: {} pages followed their tasks, {} pages stayed where they were{why}",
            self.name,
            moved.gone,
            moved.left
        );
        self.follow = None;
    }
}
