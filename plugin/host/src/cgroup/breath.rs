//! Lets slurmstepds breathe below real-time tasks: the threads of those that wait for a CPU go before such tasks
//! for a while, so that a job can be cancelled whatever runs on its CPUs. Each job has a credit for that, which it earns
//! slowly: slurmstepds that work all the time, for a job that writes much, take a twentieth of a CPU. While one is at
//! work, those of its tasks that were killed go first too, on a credit of their own, for they only have to end.
//! In: the cgroup below which Slurm keeps the jobs of a node, in the unified hierarchy. Out: threads that are real-time
//! ones until the next look. Their children never are.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use super::credit::Credits;
use super::dying::Dying;
use super::known::{Known, Load};
use super::members::{Thread, threads};
use super::risen::{Risen, rise};
use super::stepds::{Key, Stepd, Stepds};
use super::{FenceError, Folder, Place, Version};
use crate::priority::is_before_realtime;

/// The most threads that are looked at.
const MOST_THREADS: usize = 4096;
/// So often all slurmstepds are looked at, and in between those that were at work.
const ALL: Duration = Duration::from_millis(450);

/// The slurmstepds of a node, and threads that go before real-time tasks until the next look.
#[derive(Debug)]
pub struct Breaths {
    stepds: Stepds,
    known: HashMap<Key, Known>,
    credits: Credits,
    risen: Vec<Risen>,
    dying: Dying,
    looked: Option<Instant>,
    looked_at_all: Option<Instant>,
    is_refused: bool,
}

impl Default for Breaths {
    fn default() -> Self {
        Self {
            stepds: Stepds::default(),
            known: HashMap::new(),
            credits: Credits::of_stepds(),
            risen: Vec::new(),
            dying: Dying::default(),
            looked: None,
            looked_at_all: None,
            is_refused: false,
        }
    }
}

impl Breaths {
    /// Looks again: threads that wait for a CPU go first, as long as their slurmstepd is at work; others are ordinary
    /// ones. Returns how many slurmstepds are at work: the next look is due soon then, and looks at these alone.
    ///
    /// # Errors
    /// [`FenceError`]: the folder cannot be read.
    pub fn look(&mut self, scope: &Place) -> Result<usize, FenceError> {
        let folder = scope.open()?;
        match folder.is_roots() && scope.version == Version::V2 {
            true => Ok(self.look_below(&folder, Instant::now())),
            false => Ok(0),
        }
    }

    /// Whether the kernel has refused to let a slurmstepd go first that waited.
    #[must_use]
    pub fn is_refused(&self) -> bool {
        self.is_refused
    }

    /// Nobody goes first any more. What jobs owe is not forgotten.
    pub fn rest(&mut self) {
        for one in self.risen.drain(..) {
            one.lower();
        }
        self.dying.rest();
        self.known.clear();
        self.looked_at_all = None;
    }

    fn look_below(&mut self, scope: &Folder, now: Instant) -> usize {
        let since = self.looked.replace(now);
        let passed = since.map_or(Duration::ZERO, |since| now.duration_since(since));
        let passed = i64::try_from(passed.as_micros()).unwrap_or(i64::MAX);
        self.credits.earn(passed);
        self.pay(scope, passed);
        let (looked, is_all) = self.looked_at(scope, now);
        self.forget_ended();
        let mut first = Vec::new();
        for stepd in &looked {
            first.extend(self.first_of(scope, stepd, now));
            if first.len() >= MOST_THREADS {
                break;
            }
        }
        let known = &self.known;
        let at_work = self.stepds.all().filter(|one| is_at_work(known, one));
        for busy in self.dying.look(scope, at_work.collect(), passed) {
            if let Some(known) = self.known.get_mut(&busy) {
                known.at_work = Some((now, 0));
            }
        }
        self.known.values_mut().for_each(|one| one.rests(now));
        let gone = self.risen.iter().filter(|one| !first.contains(one));
        for one in gone {
            one.lower();
        }
        if is_all {
            lower_others(&self.stepds, &first);
        }
        self.risen = first;
        let at_work = self.known.values().filter(|one| one.at_work.is_some());
        at_work.count()
    }

    /// Slurmstepds that went first pay for what they have used, before anybody is looked at again. One that has ended
    /// meanwhile pays for the time that passed, for what the kernel counted has gone with its step.
    fn pay(&mut self, scope: &Folder, passed: i64) {
        let went_first: HashSet<_> = self.risen.iter().map(|one| one.thread.process).collect();
        let all = self.stepds.all();
        let all = all.filter(|stepd| went_first.contains(&stepd.process));
        for stepd in all.cloned().collect::<Vec<_>>() {
            let lives = stepd.lives();
            let known = self.known.get(&stepd.key()).filter(|_| lives);
            let used = known.map_or(passed, |known| known.used(stepd.used(scope), passed));
            self.credits.pay(&stepd.job, used);
            if !lives {
                self.stepds.ended(&stepd);
            }
        }
    }

    /// The slurmstepds that are looked at now: all, or in between those at work. And whether all were looked for.
    fn looked_at(&mut self, scope: &Folder, now: Instant) -> (Vec<Stepd>, bool) {
        let is_new = |then: Instant| now.duration_since(then) < ALL;
        let is_due = !self.stepds.all().any(|one| is_at_work(&self.known, one))
            || !self.looked_at_all.is_some_and(is_new);
        let mut is_all = false;
        if is_due {
            is_all = self.stepds.refresh(scope, now);
            self.looked_at_all = Some(now);
        }
        let is = |one: &&Stepd| is_due || is_at_work(&self.known, one);
        (self.stepds.all().filter(is).cloned().collect(), is_all)
    }

    /// The threads of a slurmstepd that go first from now on: all, if one has waited for a CPU since the last look. Its
    /// next thread that waits may be another one.
    fn first_of(&mut self, scope: &Folder, stepd: &Stepd, now: Instant) -> Vec<Risen> {
        let mut known = self.known.get(&stepd.key()).copied().unwrap_or_default();
        let risen = self.risen.iter().copied();
        let first: Vec<_> = risen
            .filter(|one| one.thread.process == stepd.process)
            .collect();
        let waited = stepd.waited(scope);
        // Another step may have come in its place, without a change of the job's folder.
        if waited.is_none() && !stepd.lives() {
            self.stepds.ended(stepd);
            return Vec::new();
        }
        let waits = known.has_waited(waited).unwrap_or_else(|| stepd.waits());
        if waits {
            known.at_work = Some((now, 0));
        }
        let used = known.at_work.and_then(|_| stepd.used(scope));
        known.load = Some(Load { waited, used });
        let goes_first = known.at_work.is_some() && self.credits.has(&stepd.job);
        self.known.insert(stepd.key(), known);
        match (goes_first, waits) {
            (true, false) => first,
            (false, _) => Vec::new(),
            (true, true) => {
                let (risen, is_refused) = rise(stepd, first);
                self.is_refused |= is_refused;
                if risen.is_empty() && !stepd.lives() {
                    self.stepds.ended(stepd);
                }
                risen
            }
        }
    }

    fn forget_ended(&mut self) {
        let living: HashSet<_> = self.stepds.all().map(Stepd::key).collect();
        self.known.retain(|key, _| living.contains(key));
    }
}

fn is_at_work(known: &HashMap<Key, Known>, stepd: &Stepd) -> bool {
    let known = known.get(&stepd.key());
    known.is_some_and(|known| known.at_work.is_some())
}

impl Drop for Breaths {
    fn drop(&mut self) {
        self.rest();
    }
}

/// Nobody goes first any more, whoever has raised them: a slurmd may have left some that was killed, or that has started
/// another one in its place. Returns how many threads did.
///
/// # Errors
/// [`FenceError`]: the folder cannot be read.
pub fn all_ordinary(scope: &Place) -> Result<usize, FenceError> {
    let folder = scope.open()?;
    if !folder.is_roots() || scope.version != Version::V2 {
        return Ok(0);
    }
    let mut stepds = Stepds::default();
    stepds.refresh(&folder, Instant::now());
    Ok(lower_others(&stepds, &[]))
}

/// Makes ordinary ones of all threads of slurmstepds that go first, but for those that should. Returns how many.
fn lower_others(stepds: &Stepds, first: &[Risen]) -> usize {
    let should = |one: &Thread| first.iter().any(|risen| risen.thread == *one);
    let others = stepds
        .all()
        .flat_map(|stepd| threads(&[stepd.process]))
        .filter(|one| is_before_realtime(one.number) && !should(one));
    let lowered = others.filter_map(Risen::found).filter(|one| one.lower());
    lowered.take(MOST_THREADS).count()
}

#[cfg(test)]
#[path = "breath_tests.rs"]
mod tests;
