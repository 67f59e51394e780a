//! Lets slurmstepds breathe below real-time tasks: those of their threads that wait for a CPU go before such tasks
//! for a while, so that a job can be cancelled whatever runs on its CPUs. Each slurmstepd has a credit for that, which it
//! earns slowly: one that works all the time, for a job that writes much, takes a tenth of a CPU.
//! In: the cgroup below which Slurm keeps the jobs of a node, in the unified hierarchy. Out: threads that are real-time
//! ones until the next look. Their children never are.

use std::collections::HashMap;
use std::fs;
use std::time::{Duration, Instant};

use libc::pid_t;

use super::job::OWN;
use super::members::{Thread, processes, threads};
use super::{FenceError, Folder, Place, Version};
use crate::priority::{is_realtime, set_before_realtime, set_ordinary};

/// The most folders that are looked at.
const MOST: usize = 20_000;
/// The most threads that are looked at.
const MOST_THREADS: usize = 4096;
/// A slurmstepd that has been quiet, or is new, may go first for so long.
const CREDIT: Duration = Duration::from_secs(5);
/// It earns a second in so many.
const EARNS: u32 = 10;

/// The slurmstepds of a node, and those of their threads that go before real-time tasks until the next look.
#[derive(Debug, Default)]
pub struct Breaths {
    credit: HashMap<pid_t, Duration>,
    risen: Vec<Thread>,
    looked: Option<Instant>,
}

impl Breaths {
    /// Looks again: threads that wait for a CPU go first, others are ordinary ones. Returns how many go first.
    ///
    /// # Errors
    /// [`FenceError`]: the folder cannot be read.
    pub fn look(&mut self, scope: &Place) -> Result<usize, FenceError> {
        let folder = scope.open()?;
        let all = match folder.is_roots() && scope.version == Version::V2 {
            true => slurmstepds(&folder),
            false => Vec::new(),
        };
        let now = Instant::now();
        let since = self.looked.replace(now);
        let passed = since.map_or(Duration::ZERO, |since| now.duration_since(since));
        // One that a slurmd has left that was killed is found by what it is.
        let (risen, others): (Vec<_>, Vec<_>) = all
            .into_iter()
            .partition(|thread| is_realtime(thread.number));
        let waits = |thread: &Thread| state(*thread) == Some('R');
        let [stays, rises] = [&risen, &others].map(|some| {
            let waiting = some.iter().copied().filter(waits);
            waiting.collect::<Vec<_>>()
        });
        let living = risen.iter().chain(&others).map(|thread| thread.process);
        self.earn(living.collect(), passed);
        self.pay(risen.iter().map(|thread| thread.process).collect(), passed);
        let has_credit = |thread: &Thread| {
            let credit = self.credit.get(&thread.process);
            credit.is_some_and(|credit| !credit.is_zero())
        };
        for thread in risen
            .iter()
            .filter(|thread| !(stays.contains(thread) && has_credit(thread)))
        {
            // One that has just ended needs nothing.
            let _ = set_ordinary(thread.number);
        }
        let rise = rises.iter().filter(|thread| has_credit(thread));
        let rise = rise.filter(|thread| set_before_realtime(thread.number).is_ok());
        let stay = stays.iter().filter(|thread| has_credit(thread));
        self.risen = rise.chain(stay).copied().collect();
        Ok(self.risen.len())
    }

    /// Slurmstepds that live earn credit; those that have ended are forgotten.
    fn earn(&mut self, living: Vec<pid_t>, passed: Duration) {
        let before = std::mem::take(&mut self.credit);
        let now = living.into_iter().map(|pid| {
            let has = before.get(&pid).copied().unwrap_or(CREDIT);
            (pid, CREDIT.min(has + passed / EARNS))
        });
        self.credit = now.collect();
    }

    /// Those that went first pay for that.
    fn pay(&mut self, mut went: Vec<pid_t>, passed: Duration) {
        went.sort_unstable();
        went.dedup();
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

/// The threads of all slurmstepds.
fn slurmstepds(scope: &Folder) -> Vec<Thread> {
    let mut left = MOST;
    let mut all = Vec::new();
    let mut below = |folder: &Folder| {
        let names = folder.children(left);
        left -= names.len();
        let open = |name: &String| folder.child(name).ok();
        names.iter().filter_map(open).collect::<Vec<_>>()
    };
    for job in below(scope) {
        for own in below(&job).iter().filter_map(|step| step.child(OWN).ok()) {
            all.extend(threads(&processes(&own)));
        }
        if all.len() >= MOST_THREADS {
            break;
        }
    }
    all.truncate(MOST_THREADS);
    all
}

/// The kernel's letter for what a thread does: R runs, or waits for a CPU.
fn state(thread: Thread) -> Option<char> {
    let Thread { process, number } = thread;
    let text = fs::read_to_string(format!("/proc/{process}/task/{number}/stat")).ok()?;
    text.rsplit(')').next()?.trim_start().chars().next()
}

#[cfg(test)]
mod tests {
    use super::super::folder::Kind;
    use super::*;

    #[test]
    fn only_slurmstepds_are_found() {
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
        let found = slurmstepds(&folder);
        assert!(!found.is_empty());
        assert!(
            found
                .iter()
                .all(|thread| thread.process == own as libc::pid_t)
        );
        let me = Thread {
            process: own as libc::pid_t,
            // SAFETY: it only returns the thread's number.
            number: unsafe { libc::gettid() },
        };
        assert_eq!(state(me), Some('R'));
        let mut breaths = Breaths::default();
        assert!(breaths.look(&place).is_err(), "it is no cgroup");
        breaths.risen.push(me);
        drop(breaths);
        assert!(!is_realtime(me.number));
    }

    #[test]
    fn credit_is_spent_and_earned_slowly() {
        let seconds = Duration::from_secs;
        let mut breaths = Breaths::default();
        breaths.earn(vec![1, 2], seconds(1));
        assert_eq!(breaths.credit[&1], CREDIT);
        breaths.pay(vec![1, 1], seconds(2));
        assert_eq!(
            (breaths.credit[&1], breaths.credit[&2]),
            (seconds(3), CREDIT)
        );
        breaths.pay(vec![1], seconds(9));
        assert!(breaths.credit[&1].is_zero());
        breaths.earn(vec![1, 3], seconds(10));
        assert_eq!(
            (breaths.credit[&1], breaths.credit.get(&2)),
            (seconds(1), None)
        );
        breaths.earn(vec![1], seconds(1000));
        assert_eq!(breaths.credit[&1], CREDIT);
    }
}
