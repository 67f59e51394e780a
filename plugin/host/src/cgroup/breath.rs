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
/// A slurmstepd that has been quiet, or is new, may go first for so long, in microseconds.
const CREDIT: i64 = 5_000_000;
/// It earns a second in so many.
const EARNS: i64 = 10;
/// The name of its program.
const NAME: &str = "slurmstepd";

/// The slurmstepds of a node, and those of their threads that go before real-time tasks until the next look.
#[derive(Debug, Default)]
pub struct Breaths {
    /// Microseconds; less than nothing for one that went first for longer than it might.
    credit: HashMap<pid_t, i64>,
    risen: Vec<Thread>,
    looked: Option<Instant>,
}

impl Breaths {
    /// Looks again: threads that wait for a CPU go first, others are ordinary ones. Returns how many go first.
    ///
    /// # Errors
    /// [`FenceError`]: the folder cannot be read.
    pub fn look(&mut self, scope: &Place) -> Result<usize, FenceError> {
        let all = threads_below(scope)?;
        let now = Instant::now();
        let since = self.looked.replace(now);
        let passed = since.map_or(Duration::ZERO, |since| now.duration_since(since));
        let passed = i64::try_from(passed.as_micros()).unwrap_or(i64::MAX);
        // One that a slurmd has left that was killed is found by what it is.
        let (risen, others): (Vec<_>, Vec<_>) = all
            .into_iter()
            .partition(|thread| is_realtime(thread.number));
        let living = risen.iter().chain(&others).map(|thread| thread.process);
        self.earn(living.collect(), passed);
        self.pay(risen.iter().map(|thread| thread.process), passed);
        let goes_first = |thread: &Thread| {
            let credit = self.credit.get(&thread.process);
            credit.is_some_and(|credit| *credit > 0) && state(*thread) == Some('R')
        };
        let (stay, lower): (Vec<_>, Vec<_>) = risen.into_iter().partition(goes_first);
        let rise = others.iter().filter(|thread| goes_first(thread));
        let rise = rise.filter(|thread| rises(**thread)).copied();
        let first: Vec<_> = stay.into_iter().chain(rise).collect();
        // What is no longer found among slurmstepds was one of theirs.
        let gone = self.risen.iter().filter(|thread| !first.contains(thread));
        for thread in gone.chain(&lower).filter(|thread| thread.lives()) {
            // One that has just ended needs nothing.
            let _ = set_ordinary(thread.number);
        }
        self.risen = first;
        Ok(self.risen.len())
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
    let all = threads_below(scope)?.into_iter();
    let risen = all.filter(|thread| is_realtime(thread.number));
    Ok(risen
        .filter(|thread| set_ordinary(thread.number).is_ok())
        .count())
}

/// Lets a thread go first. Its number may have passed to another one meanwhile, so it is looked at once more.
fn rises(thread: Thread) -> bool {
    if set_before_realtime(thread.number).is_err() {
        return false;
    }
    let is_its = thread.lives() && is_slurmstepd(thread.process, &[]);
    if !is_its {
        let _ = set_ordinary(thread.number);
    }
    is_its
}

fn threads_below(scope: &Place) -> Result<Vec<Thread>, FenceError> {
    let folder = scope.open()?;
    Ok(match folder.is_roots() && scope.version == Version::V2 {
        true => slurmstepds(&folder),
        false => Vec::new(),
    })
}

/// Whether a process is a slurmstepd. Beside it in its cgroup are what it forks, until that is moved, and a user's own
/// task epilog with all of its children: these are not root's, or another program, or a child of one in the cgroup.
fn is_slurmstepd(process: pid_t, beside: &[pid_t]) -> bool {
    let Ok(status) = fs::read(format!("/proc/{process}/status")) else {
        return false;
    };
    let status = String::from_utf8_lossy(&status);
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name));
    let parent = field("PPid:").and_then(|text| text.trim().parse::<pid_t>().ok());
    // The real uid and the saved one: the effective one is the user's while a slurmstepd forks tasks.
    let mut uids = field("Uid:").unwrap_or_default().split_whitespace();
    let is_roots = (uids.next(), uids.nth(1)) == (Some("0"), Some("0"));
    is_roots && parent.is_some_and(|parent| !beside.contains(&parent)) && is_its_program(process)
}

fn is_its_program(process: pid_t) -> bool {
    let exe = fs::read_link(format!("/proc/{process}/exe"));
    let name = exe.as_ref().ok().and_then(|exe| exe.file_name()?.to_str());
    // The kernel's word behind a program that was replaced by an upgrade.
    name.is_some_and(|name| name.trim_end_matches(" (deleted)") == NAME)
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
            let mut beside = processes(&own);
            let every = beside.clone();
            beside.retain(|process| is_slurmstepd(*process, &every));
            all.extend(threads(&beside));
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
        assert_eq!(slurmstepds(&folder), []);
        let me = Thread {
            process: own as libc::pid_t,
            // SAFETY: it only returns the thread's number.
            number: unsafe { libc::gettid() },
        };
        assert_eq!(state(me), Some('R'));
        assert!(!rises(me) && !is_realtime(me.number));
        assert!(Breaths::default().look(&place).is_err(), "it is no cgroup");
    }

    /// A copy of a program with the name of slurmstepd, as root, alone and beside its parent.
    #[test]
    fn a_slurmstepd_is_known_by_its_program_its_uids_and_its_parent() {
        if !nix::unistd::Uid::effective().is_root() {
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let program = dir.path().join(NAME);
        fs::copy("/bin/sleep", &program).unwrap();
        let mut child = std::process::Command::new(&program)
            .arg("60")
            .spawn()
            .unwrap();
        let pid = child.id() as pid_t;
        assert!(is_slurmstepd(pid, &[pid]));
        fs::remove_file(&program).unwrap();
        assert!(is_slurmstepd(pid, &[pid]), "it was replaced");
        let own = std::process::id() as pid_t;
        assert!(!is_slurmstepd(pid, &[pid, own]), "its parent is there");
        assert!(!is_slurmstepd(own, &[]), "another program");
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!is_slurmstepd(pid, &[]));
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
