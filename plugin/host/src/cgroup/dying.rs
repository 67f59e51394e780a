//! Threads of a step's tasks that were killed and still have to end: below real-time tasks they wait for a CPU like
//! everybody else, and the job's end waits for them. They never run a user's instruction again, so they go first too
//! while their slurmstepd is at work and their job has credit.
//! In: the slurmstepds at work. Out: threads that go first until the next look.

use std::collections::{HashMap, HashSet};

use super::credit::Credits;
use super::job::TASKS;
use super::members::{Thread, processes_within, threads_within};
use super::risen::Risen;
use super::stat::Stat;
use super::stepds::{Key, Stepd};
use super::{Folder, load};

/// Folders, processes and threads that one look looks at, however many steps there are.
const MOST: usize = 1024;

/// What a look may still look at.
struct Budget {
    folders: usize,
    processes: usize,
    threads: usize,
}

impl Budget {
    fn new() -> Self {
        Self {
            folders: MOST,
            processes: MOST,
            threads: MOST,
        }
    }

    fn is_spent(&self) -> bool {
        self.folders == 0 || self.processes == 0 || self.threads == 0
    }
}

/// The killed threads that go first.
#[derive(Debug)]
pub(super) struct Dying {
    credits: Credits,
    /// By the slurmstepd of their step.
    first: HashMap<Key, First>,
    /// That of the step at which the last look ended. The next one goes on behind it.
    last: Key,
}

/// Those of a step.
#[derive(Debug, Default)]
struct First {
    threads: Vec<Risen>,
    /// What all tasks of the step had used of a CPU at the last look.
    used: Option<u64>,
}

impl Default for Dying {
    fn default() -> Self {
        Self {
            credits: Credits::of_killed(),
            first: HashMap::new(),
            last: Key::default(),
        }
    }
}

impl Dying {
    /// Looks at the tasks of slurmstepds at work. Returns those of which a killed task still waits for a CPU: they are
    /// at work until it has ended, although they only wait for that.
    pub(super) fn look(
        &mut self,
        scope: &Folder,
        mut at_work: Vec<&Stepd>,
        passed: i64,
    ) -> HashSet<Key> {
        let mut budget = Budget::new();
        self.credits.earn(passed);
        let mut busy = self.look_again(scope, &at_work, passed);
        let count: usize = self.first.values().map(|one| one.threads.len()).sum();
        budget.threads = budget.threads.saturating_sub(count);
        at_work.sort_by_key(|stepd| stepd.key());
        let next = at_work.partition_point(|stepd| stepd.key() <= self.last);
        at_work.rotate_left(next);
        for stepd in at_work {
            if budget.is_spent() {
                break;
            }
            self.last = stepd.key();
            let found = waiting(scope, stepd, &mut budget);
            if !found.is_empty() {
                busy.insert(stepd.key());
            }
            if !found.is_empty() && self.credits.has(&stepd.job) {
                self.raise(scope, stepd, &found);
            }
        }
        busy
    }

    /// Looks at those that went first since the last look. Their jobs pay for them, and without credit they are ordinary
    /// threads.
    fn look_again(&mut self, scope: &Folder, at_work: &[&Stepd], passed: i64) -> HashSet<Key> {
        let mut busy = HashSet::new();
        let mut before = std::mem::take(&mut self.first);
        for stepd in at_work {
            let Some(mut first) = before.remove(&stepd.key()) else {
                continue;
            };
            let used = load::used(scope, &path(stepd));
            self.credits.pay(&stepd.job, first.pays(used, passed));
            first.used = used;
            first.threads.retain(|one| goes_on(*one));
            if first.threads.is_empty() {
                continue;
            }
            busy.insert(stepd.key());
            match self.credits.has(&stepd.job) {
                true => drop(self.first.insert(stepd.key(), first)),
                false => first.lower(),
            }
        }
        before.into_values().for_each(First::lower);
        busy
    }

    /// None of them goes first any more.
    pub(super) fn rest(&mut self) {
        self.first.drain().for_each(|(_, first)| first.lower());
    }

    fn raise(&mut self, scope: &Folder, stepd: &Stepd, found: &[Thread]) {
        let first = self.first.entry(stepd.key()).or_insert_with(|| First {
            used: load::used(scope, &path(stepd)),
            ..First::default()
        });
        for thread in found {
            if !first.threads.iter().any(|one| one.thread == *thread) {
                first.threads.extend(Risen::new(*thread, waits));
            }
        }
    }
}

impl First {
    /// What they have used of a CPU since the last look: at the most all the time for each, and at the most what the
    /// step's tasks have used together.
    fn pays(&self, used: Option<u64>, passed: i64) -> i64 {
        let each = i64::try_from(self.threads.len()).unwrap_or(i64::MAX);
        let most = each.saturating_mul(passed);
        self.used.zip(used).map_or(most, |(before, now)| {
            most.min(i64::try_from(now.saturating_sub(before)).unwrap_or(i64::MAX))
        })
    }

    /// They are ordinary threads again.
    fn lower(self) {
        for one in self.threads {
            one.lower();
        }
    }
}

fn path(stepd: &Stepd) -> String {
    format!("{}/{}/{TASKS}", stepd.job, stepd.step)
}

/// Whether one still has to go first. It is made an ordinary thread otherwise.
fn goes_on(one: Risen) -> bool {
    let goes_on = one.stat().as_ref().is_some_and(waits);
    if !goes_on {
        one.lower();
    }
    goes_on
}

/// The killed threads of a step that wait for a CPU.
fn waiting(scope: &Folder, stepd: &Stepd, budget: &mut Budget) -> Vec<Thread> {
    budget.folders = budget.folders.saturating_sub(1);
    let child = |folder: &Folder, name: &str| folder.child(name).ok();
    let step = child(scope, &stepd.job).and_then(|job| child(&job, &stepd.step));
    let Some(tasks) = step.and_then(|step| child(&step, TASKS)) else {
        return Vec::new();
    };
    let mut all = processes_within(&tasks, &mut budget.folders);
    all.truncate(budget.processes);
    budget.processes -= all.len();
    let mut found = Vec::new();
    for process in all.into_iter().filter(|process| is_dying(*process)) {
        let threads = threads_within(process, budget.threads);
        budget.threads -= threads.len();
        let waiting = |thread: &Thread| Stat::of(*thread).as_ref().is_some_and(waits);
        found.extend(threads.into_iter().filter(waiting));
    }
    found
}

/// Whether a thread was killed and waits for a CPU.
fn waits(stat: &Stat) -> bool {
    stat.is_dying && stat.is_ready()
}

/// The first thread of a process is killed with the others, and may have ended before them.
fn is_dying(process: libc::pid_t) -> bool {
    let first = Thread {
        process,
        number: process,
    };
    Stat::of(first).is_some_and(|stat| stat.is_dying)
}

#[cfg(test)]
#[path = "dying_tests.rs"]
mod tests;
