//! Lets slurmstepds breathe below real-time tasks: those of their threads that wait for a CPU go before such tasks
//! for a while, so that a job can be cancelled whatever runs on its CPUs. Each slurmstepd has a credit for that, which it
//! earns slowly: one that works all the time, for a job that writes much, takes a tenth of a CPU. While one is at work,
//! those of its tasks that were killed go first too, for they only have to end.
//! In: the cgroup below which Slurm keeps the jobs of a node, in the unified hierarchy. Out: threads that are real-time
//! ones until the next look. Their children never are.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use libc::pid_t;

use super::members::Thread;
use super::stat::Stat;
use super::stepds::{Stepd, Stepds, is_slurmstepd};
use super::{FenceError, Folder, Place, Version, dying};
use crate::priority::{is_realtime, set_before_realtime, set_ordinary};

/// The most threads that are looked at.
const MOST_THREADS: usize = 4096;
/// A slurmstepd that has been quiet, or is new, may go first for so long, in microseconds.
const CREDIT: i64 = 5_000_000;
/// It earns a second in so many.
const EARNS: i64 = 10;
/// So often all slurmstepds are looked at, and in between those that were at work.
const ALL: Duration = Duration::from_millis(450);
/// A slurmstepd that waited for a CPU is at work for so long.
const AT_WORK: Duration = Duration::from_secs(2);

/// The slurmstepds of a node, and threads that go before real-time tasks until the next look.
#[derive(Debug, Default)]
pub struct Breaths {
    stepds: Stepds,
    /// Microseconds; less than nothing for one that went first for longer than it might.
    credit: HashMap<pid_t, i64>,
    risen: Vec<Thread>,
    /// Slurmstepds that were seen at work, and when.
    at_work: HashMap<pid_t, Instant>,
    looked: Option<Instant>,
    looked_at_all: Option<Instant>,
}

impl Breaths {
    /// Looks again: threads that wait for a CPU go first, others are ordinary ones. Returns how many slurmstepds are at
    /// work: the next look is due soon then, and looks at these alone.
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

    fn look_below(&mut self, scope: &Folder, now: Instant) -> usize {
        let since = self.looked.replace(now);
        let passed = since.map_or(Duration::ZERO, |since| now.duration_since(since));
        let passed = i64::try_from(passed.as_micros()).unwrap_or(i64::MAX);
        let all = self.threads(scope, now);
        let living = self.stepds.all().map(|stepd| stepd.process);
        self.earn(living.collect(), passed);
        let (risen, others): (Vec<_>, Vec<_>) = all
            .into_iter()
            // One that a slurmd has left that was killed is found by what it is.
            .partition(|(thread, _)| is_realtime(thread.number));
        self.pay(risen.iter().map(|(thread, _)| thread.process), passed);
        for (thread, _) in risen.iter().chain(&others).filter(|one| one.1.is_ready()) {
            self.at_work.insert(thread.process, now);
        }
        let goes_first = |one: &(Thread, Stat)| {
            let credit = self.credit.get(&one.0.process);
            credit.is_some_and(|credit| *credit > 0) && one.1.is_ready()
        };
        let (stay, lower): (Vec<_>, Vec<_>) = risen.into_iter().partition(goes_first);
        let rise = others.iter().filter(|one| goes_first(one));
        let rise = rise.map(|one| one.0).filter(|thread| rises(*thread));
        let mut first: Vec<_> = stay.iter().map(|one| one.0).chain(rise).collect();
        first.extend(self.dying(scope));
        // What is no longer found among slurmstepds was one of theirs.
        let gone = self.risen.iter().filter(|thread| !first.contains(thread));
        let lower = lower.iter().map(|one| &one.0);
        for thread in gone.chain(lower).filter(|thread| thread.lives()) {
            // One that has just ended needs nothing.
            let _ = set_ordinary(thread.number);
        }
        self.risen = first;
        self.at_work
            .retain(|_, seen| now.duration_since(*seen) < AT_WORK);
        self.at_work.len()
    }

    /// The threads that are looked at now.
    fn threads(&mut self, scope: &Folder, now: Instant) -> Vec<(Thread, Stat)> {
        let is_new = |then: Instant| now.duration_since(then) < ALL;
        let is_all = self.at_work.is_empty() || !self.looked_at_all.is_some_and(is_new);
        if is_all {
            self.stepds.refresh(scope, now);
            self.looked_at_all = Some(now);
        }
        let is = |one: &&Stepd| is_all || self.at_work.contains_key(&one.process);
        let looked: Vec<_> = self.stepds.all().filter(is).cloned().collect();
        let mut all = Vec::new();
        for stepd in looked {
            match stepd.threads() {
                Some(threads) => all.extend(threads),
                None => self.stepds.ended(&stepd),
            }
            if all.len() >= MOST_THREADS {
                break;
            }
        }
        all.truncate(MOST_THREADS);
        all
    }

    /// Tasks that were killed, of slurmstepds at work: those that go first from now on, and those that still do.
    fn dying(&self, scope: &Folder) -> Vec<Thread> {
        let at_work = |one: &&Stepd| self.at_work.contains_key(&one.process);
        let steps = self.stepds.all().filter(at_work).filter_map(|stepd| {
            let job = scope.child(&stepd.job).ok()?;
            job.child(&stepd.step).ok()
        });
        let found = steps.flat_map(|step| dying::threads_of(&step));
        let is = |thread: &Thread| match is_realtime(thread.number) {
            // A task of a pool is one without us.
            true => self.risen.contains(thread),
            false => dies_first(*thread),
        };
        found.take(MOST_THREADS).filter(is).collect()
    }

    /// Slurmstepds that live earn credit; those that have ended are forgotten.
    fn earn(&mut self, living: Vec<pid_t>, passed: i64) {
        let before = std::mem::take(&mut self.credit);
        let now = living.into_iter().map(|pid| {
            let has = before.get(&pid).copied().unwrap_or(CREDIT);
            (pid, CREDIT.min(has + passed / EARNS))
        });
        self.credit = now.collect();
    }

    /// Those that went first pay for that, each for every thread that did.
    fn pay(&mut self, went: impl Iterator<Item = pid_t>, passed: i64) {
        for pid in went {
            if let Some(credit) = self.credit.get_mut(&pid) {
                *credit = credit.saturating_sub(passed);
            }
        }
    }
}

impl Drop for Breaths {
    fn drop(&mut self) {
        for thread in self.risen.iter().filter(|thread| thread.lives()) {
            let _ = set_ordinary(thread.number);
        }
    }
}

/// Makes every slurmstepd's threads ordinary ones, which a slurmd may have left that was killed. Returns how many were
/// not.
///
/// # Errors
/// [`FenceError`]: the folder cannot be read.
pub fn all_ordinary(scope: &Place) -> Result<usize, FenceError> {
    let mut breaths = Breaths::default();
    let folder = scope.open()?;
    if !folder.is_roots() || scope.version != Version::V2 {
        return Ok(0);
    }
    let all = breaths.threads(&folder, Instant::now()).into_iter();
    let risen = all.filter(|(thread, _)| is_realtime(thread.number));
    Ok(risen
        .filter(|(thread, _)| set_ordinary(thread.number).is_ok())
        .count())
}

/// Lets a thread go first. Its number may have passed to another one meanwhile, so it is looked at once more.
fn rises(thread: Thread) -> bool {
    first_if(thread, || {
        thread.lives() && is_slurmstepd(thread.process, &[])
    })
}

/// The same for a thread that was killed.
fn dies_first(thread: Thread) -> bool {
    first_if(thread, || dying::waits(thread))
}

fn first_if(thread: Thread, is_still: impl Fn() -> bool) -> bool {
    if set_before_realtime(thread.number).is_err() {
        return false;
    }
    let stays = is_still();
    if !stays {
        let _ = set_ordinary(thread.number);
    }
    stays
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::folder::Kind;
    use super::*;

    #[test]
    fn nothing_but_slurmstepds_goes_first() {
        let dir = tempfile::tempdir().unwrap();
        let own = std::process::id();
        for (path, pid) in [
            ("job_1/step_0/slurm", own.to_string()),
            ("job_1/step_0/user", "1".into()),
            ("job_2/step_batch/slurm", "4194305".into()),
        ] {
            fs::create_dir_all(dir.path().join(path)).unwrap();
            fs::write(dir.path().join(path).join("cgroup.procs"), pid).unwrap();
        }
        let place = Place {
            version: Version::V2,
            point: dir.path().into(),
            folders: Vec::new(),
        };
        let folder = Folder::open_as(&place, Kind::Any).unwrap();
        // This process is there, and is no slurmstepd.
        let mut breaths = Breaths::default();
        assert_eq!(breaths.look_below(&folder, Instant::now()), 0);
        assert_eq!(breaths.stepds.all().count(), 0);
        let me = Thread {
            process: own as libc::pid_t,
            // SAFETY: it only returns the thread's number.
            number: unsafe { libc::gettid() },
        };
        assert!(!rises(me) && !is_realtime(me.number));
        assert!(Breaths::default().look(&place).is_err(), "it is no cgroup");
    }

    #[test]
    fn credit_is_spent_and_earned_slowly() {
        const SECOND: i64 = 1_000_000;
        let mut breaths = Breaths::default();
        breaths.earn(vec![1, 2], SECOND);
        assert_eq!(breaths.credit[&1], CREDIT);
        // Each of two threads costs.
        breaths.pay([1, 1].into_iter(), SECOND);
        assert_eq!(
            (breaths.credit[&1], breaths.credit[&2]),
            (3 * SECOND, CREDIT)
        );
        // What was taken too long is a debt.
        breaths.pay([1].into_iter(), 9 * SECOND);
        breaths.earn(vec![1, 3], 10 * SECOND);
        assert_eq!(
            (breaths.credit[&1], breaths.credit.get(&2)),
            (-5 * SECOND, None)
        );
        breaths.earn(vec![1], 1000 * SECOND);
        assert_eq!(breaths.credit[&1], CREDIT);
    }
}
