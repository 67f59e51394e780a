//! The slurmstepds of a node, remembered from look to look: on a node with hundreds of jobs a look opens little more
//! than what the kernel says of their threads.
//! In: the cgroup below which Slurm keeps the jobs of a node, in the unified hierarchy. Out: processes and their threads.

use std::collections::HashMap;
use std::fs;
use std::time::{Duration, Instant};

use libc::pid_t;

use super::Folder;
use super::folder::Identity;
use super::load;
use super::members::{Thread, processes, threads};
use super::place::OWN;
use super::stat::Stat;

/// The most folders that are looked at.
const MOST: usize = 20_000;
/// What is remembered is found again after this time, whatever the kernel says of the folders.
const AGAIN: Duration = Duration::from_secs(5);
/// The name of its program begins so: Debian's is `slurmstepd-wlm`.
const NAME: &str = "slurmstepd";
/// The name of a step's folder begins so.
const STEP: &str = "step_";

/// A slurmstepd.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stepd {
    /// The names of its job's folder and of its step's.
    pub job: String,
    pub step: String,
    pub process: pid_t,
    /// When it began, as the kernel counts.
    pub start: u64,
}

/// A process's number, and when it began.
pub(super) type Key = (pid_t, u64);

/// A job as it was found.
#[derive(Debug)]
struct Job {
    /// The kernel's numbers of its folder and of the folders in it.
    identity: Identity,
    stepds: Vec<Stepd>,
    /// Whether each of its steps has one.
    is_whole: bool,
}

/// The slurmstepds of a node.
#[derive(Debug, Default)]
pub(super) struct Stepds {
    jobs: HashMap<String, Job>,
    walked: Option<Instant>,
    /// How many jobs were looked for so far.
    opened: usize,
}

impl Stepds {
    /// Finds those that have come, and forgets those that have gone. Returns whether all were looked for, as it is done
    /// from time to time.
    pub(super) fn refresh(&mut self, scope: &Folder, now: Instant) -> bool {
        let is_new = |then: Instant| now.duration_since(then) < AGAIN;
        let is_all = !self.walked.is_some_and(is_new);
        let mut before = std::mem::take(&mut self.jobs);
        if is_all {
            self.walked = Some(now);
            before.clear();
        }
        let mut left = MOST;
        for name in scope.children(left) {
            let Some(identity) = scope.identity(&name) else {
                continue;
            };
            let same = |job: &Job| job.is_whole && job.identity == identity;
            let job = before.remove(&name).filter(same).or_else(|| {
                self.opened += 1;
                walk(scope, (&name, identity), &mut left)
            });
            if let Some(job) = job {
                self.jobs.insert(name, job);
            }
        }
        is_all
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Stepd> {
        self.jobs.values().flat_map(|job| &job.stepds)
    }

    /// One of them has ended: its job is looked for again.
    pub(super) fn ended(&mut self, stepd: &Stepd) {
        if let Some(job) = self.jobs.get_mut(&stepd.job) {
            job.stepds.retain(|one| one != stepd);
            job.is_whole = false;
        }
    }
}

impl Stepd {
    /// What it is known by: its number may pass to another one.
    pub(super) fn key(&self) -> Key {
        (self.process, self.start)
    }

    /// How long one of its threads has waited for a CPU, in microseconds; nothing where the kernel does not say it.
    pub(super) fn waited(&self, scope: &Folder) -> Option<u64> {
        load::waited(scope, &self.own())
    }

    /// What its threads have used of a CPU, in microseconds; nothing where the kernel does not say it.
    pub(super) fn used(&self, scope: &Folder) -> Option<u64> {
        load::used(scope, &self.own())
    }

    fn own(&self) -> String {
        format!("{}/{}/{OWN}", self.job, self.step)
    }

    /// Whether it has not ended. Another process may have its number.
    pub(super) fn lives(&self) -> bool {
        let leader = Thread {
            process: self.process,
            number: self.process,
        };
        Stat::of(leader).is_some_and(|stat| stat.start == self.start)
    }

    /// Whether one of its threads waits for a CPU.
    pub(super) fn waits(&self) -> bool {
        let all = self.threads().unwrap_or_default();
        all.iter().any(|(_, stat)| stat.is_ready())
    }

    /// Its threads, and what each does; nothing if it has ended.
    pub(super) fn threads(&self) -> Option<Vec<(Thread, Stat)>> {
        self.lives().then_some(())?;
        let all = threads(&[self.process]).into_iter();
        Some(
            all.filter_map(|thread| Some((thread, Stat::of(thread)?)))
                .collect(),
        )
    }
}

fn walk(scope: &Folder, (name, identity): (&str, Identity), left: &mut usize) -> Option<Job> {
    let job = scope.child(name).ok()?;
    let mut steps = job.children(*left);
    *left -= steps.len();
    steps.retain(|step| step.starts_with(STEP));
    let mut stepds = Vec::new();
    let mut with_one = 0;
    for step in &steps {
        let own = job.child(step).and_then(|step| step.child(OWN));
        let every = own.map(|own| processes(&own)).unwrap_or_default();
        let found = every.iter().filter(|pid| is_slurmstepd(**pid, &every));
        let before = stepds.len();
        stepds.extend(found.filter_map(|pid| {
            let leader = Thread {
                process: *pid,
                number: *pid,
            };
            Some(Stepd {
                job: name.into(),
                step: step.clone(),
                process: *pid,
                start: Stat::of(leader)?.start,
            })
        }));
        with_one += usize::from(stepds.len() > before);
    }
    Some(Job {
        identity,
        stepds,
        is_whole: with_one == steps.len() && !steps.is_empty(),
    })
}

/// Whether a process is a slurmstepd. Beside it in its cgroup are what it forks, until that is moved, and a user's own
/// task epilog with all of its children: these are not root's, or another program, or a child of one in the cgroup.
#[must_use]
pub fn is_slurmstepd(process: pid_t, beside: &[pid_t]) -> bool {
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
    // Behind it the kernel writes a word if the program was replaced by an upgrade.
    name.is_some_and(|name| name.starts_with(NAME))
}

#[cfg(test)]
mod tests {
    use super::super::fake::{end, open, program, program_named, step};
    use super::*;

    #[test]
    fn a_job_that_has_not_changed_is_not_opened_again() {
        if !nix::unistd::Uid::effective().is_root() {
            return;
        }
        let (programs, dir) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let mut stepds: Vec<_> = (0..4).map(|_| program(programs.path())).collect();
        for (job, stepd) in stepds.iter().take(3).enumerate() {
            step(dir.path(), &format!("job_{job}/step_0"), Some(stepd));
        }
        let scope = open(dir.path());
        let mut found = Stepds::default();
        let now = Instant::now();
        found.refresh(&scope, now);
        assert_eq!((found.all().count(), found.opened), (3, 3));
        found.refresh(&scope, now + AGAIN / 2);
        assert_eq!((found.all().count(), found.opened), (3, 3));
        // Another step: at first without its slurmstepd.
        step(dir.path(), "job_1/step_1", None);
        found.refresh(&scope, now + AGAIN / 2);
        assert_eq!((found.all().count(), found.opened), (3, 4));
        step(dir.path(), "job_1/step_1", Some(&stepds[3]));
        found.refresh(&scope, now + AGAIN / 2);
        assert_eq!((found.all().count(), found.opened), (4, 5));
        found.refresh(&scope, now + AGAIN / 2);
        assert_eq!((found.all().count(), found.opened), (4, 5));
        // One that has ended is no slurmstepd any more.
        let one = found.all().find(|one| one.job == "job_0").unwrap().clone();
        assert_eq!(one.threads().map(|threads| threads.len()), Some(1));
        end(stepds.remove(0));
        assert!(one.threads().is_none());
        found.ended(&one);
        found.refresh(&scope, now + AGAIN / 2);
        assert_eq!((found.all().count(), found.opened), (3, 6));
        // After some time everything is looked for.
        found.refresh(&scope, now + AGAIN);
        assert_eq!((found.all().count(), found.opened), (3, 9));
        stepds.into_iter().for_each(end);
    }

    /// A copy of a program with the name of slurmstepd, as root, alone and beside its parent.
    #[test]
    fn a_slurmstepd_is_known_by_its_program_its_uids_and_its_parent() {
        if !nix::unistd::Uid::effective().is_root() {
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let mut child = program(dir.path());
        let pid = child.id() as pid_t;
        assert!(is_slurmstepd(pid, &[pid]));
        fs::remove_file(dir.path().join(NAME)).unwrap();
        assert!(is_slurmstepd(pid, &[pid]), "it was replaced");
        let own = std::process::id() as pid_t;
        assert!(!is_slurmstepd(pid, &[pid, own]), "its parent is there");
        assert!(!is_slurmstepd(own, &[]), "another program");
        let debians = program_named(dir.path(), "slurmstepd-wlm", 0);
        assert!(is_slurmstepd(debians.id() as pid_t, &[]));
        end(debians);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!is_slurmstepd(pid, &[]));
    }
}
