//! What a job's extern step has adopted goes where the job's cpuset goes. Its slurmstepd has a thread for that from the
//! first adopted process on: while the job is suspended or waits for its CPUs the processes stay frozen, and before
//! they go on they get the CPUs that another slurmstepd of the job has chosen. Their memory stays where it is.
//! In: the ledger, the freezer of the step. Out: masks, and with `confine=` fences.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use berth_host::bell::{Bell, Woken};
use berth_host::cgroup::freezer::Events;
use berth_host::cgroup::{Mounts, Place, Version};
use berth_host::ledger::StepKey;
use berth_host::{Ledger, StateDir};
use berth_placement::{CpuSet, SiteConfine};

use crate::site::{node, settings};
use crate::stepd::leaf::{Leaf, Ours};
use crate::stepd::session::Adopts;
use crate::stepd::state::STATE;
use crate::stepd::watch::ending::Tasks;

/// A cpuset that gets other CPUs while its job runs is seen within this time.
const BETWEEN_LOOKS: u16 = 4000;
/// While the job waits.
const BETWEEN_TRIES: u16 = 500;
/// How long the ledger is tried to be read.
const LEARNING: Duration = Duration::from_secs(30);
/// The most cgroups of adopted processes. Slurm makes one.
const MOST: usize = 64;
/// Where the processes of a step live, beside its slurmstepd.
const USER: &str = "user";

static HAS_BEGUN: AtomicBool = AtomicBool::new(false);

/// A process was adopted, whose job has this cpuset now.
pub(crate) fn begin(cpuset: Option<CpuSet>) {
    if HAS_BEGUN.swap(true, Ordering::Relaxed) {
        return;
    }
    let begun = Followers::new(cpuset).and_then(|followers| {
        let watch = move |bell: &Bell| followers.run(bell);
        super::spawn("extern step".into(), watch).map_err(|why| why.to_string())
    });
    if let Err(why) = begun {
        log::debug!("adopted processes stay on their CPUs: {why}");
    }
}

/// The adopted processes of a job.
struct Followers {
    adopts: &'static Adopts,
    dir: StateDir,
    /// The folder of their cgroups.
    user: Place,
    /// The job's cpuset by which they were bound.
    has: Option<CpuSet>,
    /// Those that are frozen by berth, since when, and what was to be seen of their end then.
    held: Option<(Instant, Vec<Leaf>, Tasks)>,
}

/// The cpuset of the job.
struct Now {
    cpus: CpuSet,
    /// Whether its tasks may run.
    runs: bool,
}

/// What is to be done now.
#[derive(Debug, PartialEq, Eq)]
enum Turn {
    Hold,
    /// They run, on their part of this cpuset, or where they are.
    Go(Option<CpuSet>),
}

impl Turn {
    fn of(is_frozen: bool, now: Option<Now>, is_ended: impl FnOnce() -> bool) -> Self {
        match now {
            Some(_) if is_frozen => Self::Hold,
            Some(now) if now.runs => Self::Go(Some(now.cpus)),
            Some(_) if !is_ended() => Self::Hold,
            _ => Self::Go(None),
        }
    }
}

impl Followers {
    fn new(has: Option<CpuSet>) -> Result<Self, String> {
        let adopts = STATE.adopts.get().ok_or("this is no extern step")?;
        let name = node::name_in_stepd().ok_or("the node has no name")?;
        let dir = StateDir::new(&settings::current().state_dir, &name);
        let mounts = Mounts::read().map_err(|why| why.to_string())?;
        let own = Place::of(0, &mounts).map_err(|why| why.to_string())?;
        if own.version != Version::V2 {
            return Err("this needs cgroup v2".into());
        }
        Ok(Self {
            adopts,
            dir: dir.map_err(|why| why.to_string())?,
            user: own.above(1).below(USER),
            has,
            held: None,
        })
    }

    fn run(mut self, bell: &Bell) {
        let events = self.user.open().and_then(|user| Events::open(&user));
        let events = match events {
            Ok(events) => events,
            Err(why) => return log::debug!("adopted processes stay on their CPUs: {why}"),
        };
        while let Ok(state) = events.read() {
            match self.look() {
                Ok(now) => self.turn(state.is_frozen, now),
                Err(why) => {
                    log::debug!("job={} its cpuset is unknown: {why}", self.adopts.job);
                    let since = self.held.as_ref().map(|(since, ..)| since.elapsed());
                    if since.is_some_and(|since| since > LEARNING) {
                        self.thaw();
                    }
                }
            }
            let pause = match self.held.is_some() && !state.is_frozen {
                true => BETWEEN_TRIES,
                false => BETWEEN_LOOKS,
            };
            match bell.wait(&events, pause) {
                Ok(Woken::Rung) => break,
                Ok(_) => {}
                Err(_) => std::thread::sleep(Duration::from_millis(BETWEEN_TRIES.into())),
            }
        }
        self.thaw();
    }

    fn look(&self) -> Result<Option<Now>, String> {
        let ledger = Ledger::open(&self.dir).map_err(|why| why.to_string())?;
        let session = ledger.read().map_err(|why| why.to_string())?;
        let own = StepKey {
            job: self.adopts.job,
            step: u32::MAX,
            component: u32::MAX,
        };
        let beside = session.beside(own);
        let entry = session.cpuset_of(own.job);
        Ok(entry.map(|entry| Now {
            cpus: entry.cpus,
            runs: beside.is_none_or(|beside| beside.runs),
        }))
    }

    fn turn(&mut self, is_frozen: bool, now: Option<Now>) {
        let tasks = self.held.as_ref().map(|(_, _, tasks)| tasks);
        let is_ended = || tasks.is_some_and(Tasks::are_being_ended);
        match Turn::of(is_frozen, now, is_ended) {
            Turn::Hold => self.hold(),
            Turn::Go(cpuset) => {
                let moved = cpuset.filter(|cpuset| self.has.as_ref() != Some(cpuset));
                moved.into_iter().for_each(|cpuset| self.follow(cpuset));
                self.thaw();
            }
        }
    }

    /// Its cgroups as they are now.
    fn leaves(&self) -> Vec<Leaf> {
        let cpus = self.adopts.cpus(self.has.as_ref());
        let leaf = |place| Leaf {
            pid: 0,
            place,
            fence: cpus.clone(),
            mask: cpus.clone(),
            has_own_memory: false,
            is_frozen: false,
        };
        self.user.children(MOST).into_iter().map(leaf).collect()
    }

    fn hold(&mut self) {
        if self.held.is_some() {
            return;
        }
        let mut leaves = self.leaves();
        for leaf in &mut leaves {
            if let Err(why) = leaf.freeze(true, "extern step") {
                log::debug!("job={} adopted processes run: {why}", self.adopts.job);
            }
        }
        let tasks = Tasks::of(leaves.iter().flat_map(Leaf::processes));
        self.held = Some((Instant::now(), leaves, tasks));
    }

    fn follow(&mut self, to: CpuSet) {
        let before = self.adopts.cpus(self.has.as_ref());
        let mut leaves = self.leaves();
        let cpus = self.adopts.cpus(Some(&to));
        self.has = Some(to);
        if cpus == before {
            return;
        }
        for leaf in &mut leaves {
            let done = match settings::current().confine {
                SiteConfine::Off => leaf.rebind(cpus.clone(), "extern step"),
                _ => leaf.put((cpus.clone(), cpus.clone()), Ours::Given, "extern step"),
            };
            if let Err(why) = done {
                log::debug!("job={} adopted processes: {why}", self.adopts.job);
            }
        }
        log::info!(
            "job={} adopted processes follow its cpuset: cpus={cpus}",
            self.adopts.job
        );
    }

    fn thaw(&mut self) {
        let Some((since, mut leaves, tasks)) = self.held.take() else {
            return;
        };
        leaves.retain_mut(|leaf| {
            let failed = leaf.is_frozen && leaf.freeze(false, "extern step").is_err();
            failed && leaf.place.exists()
        });
        // Tried again.
        if !leaves.is_empty() {
            self.held = Some((since, leaves, tasks));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_go_on_when_their_job_does() {
        let cpus = CpuSet::from_list("4-7").unwrap();
        let now = |runs| {
            let cpus = cpus.clone();
            Some(Now { cpus, runs })
        };
        let there = || Turn::Go(Some(cpus.clone()));
        for (is_frozen, now, is_ended, expected) in [
            (false, now(true), false, there()),
            (true, now(true), false, Turn::Hold),
            (true, now(false), true, Turn::Hold),
            // Slurm has thawed them, and their job waits.
            (false, now(false), false, Turn::Hold),
            (false, now(false), true, Turn::Go(None)),
            // Without a cpuset Slurm alone suspends them.
            (true, None, false, Turn::Go(None)),
            (false, None, false, Turn::Go(None)),
        ] {
            let found = Turn::of(is_frozen, now, || is_ended);
            assert_eq!(found, expected, "{is_frozen} {is_ended}");
        }
    }
}
