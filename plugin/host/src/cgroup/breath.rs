//! Lets slurmstepds breathe below real-time tasks: the threads of those that wait for a CPU go before such tasks
//! for a while, so that a job can be cancelled whatever runs on its CPUs. Each job has a credit for that, which it earns
//! slowly: slurmstepds that work all the time, for a job that writes much, take a twentieth of a CPU. While one is at
//! work, those of its tasks that were killed go first too, for they only have to end.
//! In: the cgroup below which Slurm keeps the jobs of a node, in the unified hierarchy. Out: threads that are real-time
//! ones until the next look. Their children never are.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use libc::pid_t;

use super::credit::Credits;
use super::known::Known;
use super::members::{Thread, threads};
use super::stepds::{Stepd, Stepds, is_slurmstepd};
use super::{FenceError, Folder, Place, Version, dying};
use crate::priority::{is_realtime, set_before_realtime, set_ordinary};

/// The most threads that are looked at.
const MOST_THREADS: usize = 4096;
/// So often all slurmstepds are looked at, and in between those that were at work.
const ALL: Duration = Duration::from_millis(450);
/// The slurmstepds of a node, and threads that go before real-time tasks until the next look.
#[derive(Debug, Default)]
pub struct Breaths {
    stepds: Stepds,
    known: HashMap<pid_t, Known>,
    credits: Credits,
    risen: Vec<Thread>,
    looked: Option<Instant>,
    looked_at_all: Option<Instant>,
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

    /// Nobody goes first any more. What jobs owe is not forgotten.
    pub fn rest(&mut self) {
        lower(self.risen.iter());
        self.risen.clear();
        self.known.clear();
        self.looked_at_all = None;
    }

    fn look_below(&mut self, scope: &Folder, now: Instant) -> usize {
        let since = self.looked.replace(now);
        let passed = since.map_or(Duration::ZERO, |since| now.duration_since(since));
        let passed = i64::try_from(passed.as_micros()).unwrap_or(i64::MAX);
        let looked = self.looked_at(scope, now);
        self.forget_ended();
        self.credits.earn(passed);
        let mut first = Vec::new();
        for stepd in &looked {
            first.extend(self.first_of((scope, stepd), (now, passed)));
            if first.len() >= MOST_THREADS {
                break;
            }
        }
        first.extend(self.dying(scope, now));
        self.known.values_mut().for_each(|one| one.rests(now));
        lower(self.risen.iter().filter(|one| !first.contains(one)));
        self.risen = first;
        let at_work = self.known.values().filter(|one| one.at_work.is_some());
        at_work.count()
    }

    /// The slurmstepds that are looked at now: all, or in between those at work.
    fn looked_at(&mut self, scope: &Folder, now: Instant) -> Vec<Stepd> {
        let is_new = |then: Instant| now.duration_since(then) < ALL;
        let is_all = !self.stepds.all().any(|one| self.is_at_work(one))
            || !self.looked_at_all.is_some_and(is_new);
        if is_all {
            self.stepds.refresh(scope, now);
            self.looked_at_all = Some(now);
        }
        let is = |one: &&Stepd| is_all || self.is_at_work(one);
        self.stepds.all().filter(is).cloned().collect()
    }

    fn is_at_work(&self, stepd: &Stepd) -> bool {
        let known = self.known.get(&stepd.process);
        known.is_some_and(|known| known.at_work.is_some())
    }

    /// The threads of a slurmstepd that go first from now on: all, if one has waited for a CPU since the last look. Its
    /// next thread that waits may be another one.
    fn first_of(
        &mut self,
        (scope, stepd): (&Folder, &Stepd),
        (now, passed): (Instant, i64),
    ) -> Vec<Thread> {
        let process = stepd.process;
        let mut known = self.known.get(&process).copied().unwrap_or_default();
        let risen = self.risen.iter().copied();
        let first: Vec<_> = risen.filter(|one| one.process == process).collect();
        let load = stepd.load(scope);
        if !first.is_empty() {
            self.credits.pay(&stepd.job, known.used(load, passed));
        }
        let waits = known.has_waited(load).unwrap_or_else(|| stepd.waits());
        known.load = Some(load);
        if waits {
            known.at_work = Some((now, 0));
        }
        let goes_first = known.at_work.is_some() && self.credits.has(&stepd.job);
        self.known.insert(process, known);
        match (goes_first, waits) {
            (true, false) => first,
            (false, _) => Vec::new(),
            (true, true) => {
                let risen = rise(stepd);
                if risen.is_empty() && !stepd.lives() {
                    self.stepds.ended(stepd);
                }
                risen
            }
        }
    }

    /// Tasks that were killed, of slurmstepds at work: those that go first from now on, and those that still do. While
    /// there are some, their slurmstepd is at work, although it only waits for their end.
    fn dying(&mut self, scope: &Folder, now: Instant) -> Vec<Thread> {
        let at_work = self.stepds.all().filter(|one| self.is_at_work(one));
        let steps = at_work.filter_map(|stepd| {
            let job = scope.child(&stepd.job).ok()?;
            Some((stepd.process, job.child(&stepd.step).ok()?))
        });
        let (mut first, mut busy) = (Vec::new(), Vec::new());
        for (stepd, step) in steps {
            let found = dying::threads_of(&step);
            if !found.is_empty() {
                busy.push(stepd);
            }
            let left = MOST_THREADS - first.len();
            first.extend(
                found
                    .into_iter()
                    .filter(|one| self.goes_on(*one))
                    .take(left),
            );
        }
        for stepd in busy {
            if let Some(known) = self.known.get_mut(&stepd) {
                known.at_work = Some((now, 0));
            }
        }
        first
    }

    /// Whether a dying thread goes first from now on, or still does.
    fn goes_on(&self, thread: Thread) -> bool {
        match is_realtime(thread.number) {
            // A task of a pool is one without us.
            true => self.risen.contains(&thread),
            false => dies_first(thread),
        }
    }

    fn forget_ended(&mut self) {
        let living: HashSet<_> = self.stepds.all().map(|stepd| stepd.process).collect();
        self.known.retain(|process, _| living.contains(process));
    }
}

impl Drop for Breaths {
    fn drop(&mut self) {
        self.rest();
    }
}

/// Makes every slurmstepd's threads ordinary ones, which a slurmd may have left that was killed. Returns how many were
/// not.
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
    let all = stepds.all().filter_map(Stepd::threads).flatten();
    let risen = all
        .take(MOST_THREADS)
        .filter(|(thread, _)| is_realtime(thread.number));
    Ok(risen
        .filter(|(thread, _)| set_ordinary(thread.number).is_ok())
        .count())
}

/// Lets all threads of a slurmstepd go first. Their numbers may have passed to others meanwhile, so they are looked at
/// once more.
fn rise(stepd: &Stepd) -> Vec<Thread> {
    let mut all = threads(&[stepd.process]);
    let is_new = |one: &&Thread| !is_realtime(one.number);
    let new: Vec<_> = all.iter().filter(is_new).copied().collect();
    let risen = new
        .iter()
        .filter(|one| set_before_realtime(one.number).is_ok());
    let risen: Vec<_> = risen.copied().collect();
    let still = match stepd.lives() && is_slurmstepd(stepd.process, &[]) {
        true => threads(&[stepd.process]),
        false => Vec::new(),
    };
    for other in risen.iter().filter(|one| !still.contains(one)) {
        let _ = set_ordinary(other.number);
    }
    all.retain(|one| still.contains(one) && is_realtime(one.number));
    all
}

/// Makes threads ordinary ones, if they still are those of their processes. One that has just ended needs nothing.
fn lower<'a>(gone: impl Iterator<Item = &'a Thread>) {
    let mut living: HashMap<pid_t, Vec<Thread>> = HashMap::new();
    for thread in gone {
        let process = thread.process;
        let living = living.entry(process).or_insert_with(|| threads(&[process]));
        if living.contains(thread) {
            let _ = set_ordinary(thread.number);
        }
    }
}

/// Lets a thread that was killed go first, in the same way.
fn dies_first(thread: Thread) -> bool {
    if set_before_realtime(thread.number).is_err() {
        return false;
    }
    let stays = dying::waits(thread);
    if !stays {
        let _ = set_ordinary(thread.number);
    }
    stays
}

#[cfg(test)]
#[path = "breath_tests.rs"]
mod tests;
