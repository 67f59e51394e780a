//! slurmstepd writes its step's entries itself, where slurmd could not: because another process had the ledger, or
//! because others have the CPUs of its cpuset and it waits for these.

use std::time::Duration;

use berth_placement::CpuSet;

use super::{Entry, Held, Ledger, LedgerError, Session};
use crate::state::StateDir;

/// The time that slurmstepd waits for others who write.
const PATIENCE: Duration = Duration::from_secs(2);

/// The result for a step that wants its CPUs.
#[derive(Debug)]
pub enum Claimed {
    /// Its entries, which end with this process.
    Held(Vec<Held>),
    /// Others have these of its CPUs. Nothing was written.
    Taken(CpuSet),
    /// Another step of its job was faster, and the job's cpuset has these CPUs. Nothing was written.
    Elsewhere(CpuSet),
}

/// Writes all of a step's entries at once, unless others have some of their CPUs. Jobs that are suspended have
/// none. A cpuset that is its whole job's is the one that the job has, if another step is in it. Most looks of a step
/// that waits find others there, and these lock nothing.
///
/// # Errors
/// [`LedgerError`]
pub fn claim(dir: &StateDir, entries: &[Entry]) -> Result<Claimed, LedgerError> {
    let mut ledger = Ledger::open(dir)?;
    if let Err(not_yet) = ready(&mut ledger.unlocked()?, entries) {
        return Ok(not_yet);
    }
    let mut session = ledger.session(PATIENCE)?;
    let ready = match ready(&mut session, entries) {
        Ok(ready) => ready,
        Err(not_yet) => return Ok(not_yet),
    };
    let mut written = Vec::new();
    for entry in ready {
        written.push((session.add(entry.clone())?, entry));
    }
    drop(session);
    let held = written
        .into_iter()
        .map(|(slot, entry)| Ledger::open(dir)?.hold(slot, entry));
    held.collect::<Result<_, _>>().map(Claimed::Held)
}

/// The entries as they are to be written, or why they are not.
fn ready(session: &mut Session<'_>, entries: &[Entry]) -> Result<Vec<Entry>, Claimed> {
    let mut ready = Vec::new();
    for entry in entries {
        let of_job = entry.cpuset.filter(|cpuset| cpuset.of_job);
        let living = of_job.and_then(|_| session.cpuset_of(entry.step.job));
        let generation = match living {
            Some(living) if living.cpus != entry.cpus => {
                return Err(Claimed::Elsewhere(living.cpus));
            }
            Some(living) => living.generation,
            None => {
                let taken = taken(session, entry);
                if !taken.is_empty() {
                    return Err(Claimed::Taken(taken));
                }
                entry.generation
            }
        };
        ready.push(Entry {
            generation,
            ..entry.clone()
        });
    }
    Ok(ready)
}

/// Those of an entry's CPUs that others have now.
fn taken(session: &mut Session<'_>, entry: &Entry) -> CpuSet {
    let mut claims = session.others(entry.step, &entry.cpus).now();
    if entry.cpuset.is_some_and(|cpuset| cpuset.exclusive) {
        claims.taken.insert_all(&claims.cpusets);
    }
    claims.taken.intersection(&entry.cpus)
}

#[cfg(test)]
mod tests {
    use super::super::{Cpuset, StepKey, Task, look};
    use super::*;

    fn entry(job: u32, step: u32, cpus: &str, exclusive: bool) -> Entry {
        Entry {
            step: StepKey {
                job,
                step,
                component: 0,
            },
            cpuset: Some(Cpuset {
                exclusive,
                of_job: true,
                memory: false,
            }),
            cpus: CpuSet::from_list(cpus).unwrap(),
            ..Entry::default()
        }
    }

    fn text(found: Claimed) -> String {
        match found {
            Claimed::Held(held) => format!("held {}", held.len()),
            Claimed::Taken(cpus) => format!("taken {cpus}"),
            Claimed::Elsewhere(cpus) => format!("elsewhere {cpus}"),
        }
    }

    #[test]
    fn all_entries_of_a_step_or_none() {
        let base = tempfile::tempdir().unwrap();
        let dir = StateDir::new(base.path(), "n1").unwrap();
        dir.prepare().unwrap();
        let claim = |entries: &[Entry]| claim(&dir, entries).unwrap();
        let binding = |job, cpus| Entry {
            cpuset: None,
            ..entry(job, 0, cpus, false)
        };
        let first = claim(&[entry(1, 0, "0-3", false), binding(1, "2")]);
        let Claimed::Held(mut held) = first else {
            panic!("{first:?}");
        };
        assert_eq!(held.len(), 2);
        // One that is not exclusive shares; bindings do not, nor do exclusive ones.
        assert_eq!(text(claim(&[entry(2, 0, "0-1", true)])), "taken 0-1");
        assert_eq!(text(claim(&[entry(2, 0, "1-2", false)])), "taken 2");
        assert_eq!(
            text(claim(&[entry(2, 0, "4-5", true), binding(2, "2")])),
            "taken 2"
        );
        assert_eq!(look(&dir).unwrap().len(), 2, "nothing was written");
        // Another step of the job is in the job's cpuset.
        assert_eq!(text(claim(&[entry(1, 1, "0-3", false)])), "held 1");
        assert_eq!(text(claim(&[entry(1, 1, "4-7", false)])), "elsewhere 0-3");
        // A suspended job has nothing.
        for one in &mut held {
            one.set_task(std::process::id() as i32).unwrap();
            one.set_suspended(true).unwrap();
            assert!(one.entry().task.is_some_and(Task::is_stopped));
        }
        let mut all = look(&dir).unwrap();
        all.retain(|entry| entry.step.step == 1);
        assert_eq!(all.len(), 1);
        assert_eq!(text(claim(&[entry(3, 0, "2", false)])), "held 1");
    }
}
