//! slurmstepd writes the entry of its step's cpuset itself, where slurmd could not: because another process had the
//! ledger, or because others have CPUs of the cpuset and the step waits for these.

use std::time::Duration;

use berth_placement::CpuSet;

use super::{Entry, Held, Ledger, LedgerError, Session};
use crate::state::StateDir;

/// The time that slurmstepd waits for others who write.
const PATIENCE: Duration = Duration::from_secs(2);

/// The result for a step that wants its CPUs.
#[derive(Debug)]
pub enum Claimed {
    /// Its entry, which ends with this process.
    Held(Box<Held>),
    /// Others have these of its CPUs. Nothing was written.
    Taken(CpuSet),
    /// Another step of its job was faster, and the job's cpuset has these CPUs. Nothing was written.
    Elsewhere(CpuSet),
}

/// Writes the entry of a step's cpuset, unless others have some of its CPUs. Jobs that are suspended have none, and
/// for a job in a pool only exclusive cpusets count. A cpuset that is its whole job's is the one that the job has, if
/// another step is in it. Most looks of a step that waits find others there, and these lock nothing.
///
/// # Errors
/// [`LedgerError`]; then nothing stays written.
pub fn claim(dir: &StateDir, entry: &Entry, is_in_pool: bool) -> Result<Claimed, LedgerError> {
    let mut ledger = Ledger::open(dir)?;
    let mut look = ledger.unlocked()?;
    look.ask_for_pool(is_in_pool);
    if let Err(not_yet) = ready(&mut look, entry) {
        return Ok(not_yet);
    }
    drop(look);
    let own = Ledger::open(dir)?;
    let mut session = ledger.session(PATIENCE)?;
    session.ask_for_pool(is_in_pool);
    let entry = match ready(&mut session, entry) {
        Ok(entry) => entry,
        Err(not_yet) => return Ok(not_yet),
    };
    let slot = session.add(entry.clone())?;
    match own.hold(slot, entry) {
        Ok(held) => Ok(Claimed::Held(Box::new(held))),
        Err(why) => {
            session.remove(slot)?;
            Err(why)
        }
    }
}

/// The entry as it is to be written, or why it is not.
fn ready(session: &mut Session<'_>, entry: &Entry) -> Result<Entry, Claimed> {
    let of_job = entry.cpuset.filter(|cpuset| cpuset.of_job);
    let living = of_job.and_then(|_| session.cpuset_of(entry.step.job));
    let generation = match living {
        Some(living) if living.cpus != entry.cpus => return Err(Claimed::Elsewhere(living.cpus)),
        Some(living) => living.generation,
        None => {
            let taken = taken(session, entry);
            if !taken.is_empty() {
                return Err(Claimed::Taken(taken));
            }
            entry.generation
        }
    };
    Ok(Entry {
        generation,
        ..entry.clone()
    })
}

/// Those of an entry's CPUs that others have now. What its own job has inside the job's cpuset does not count.
pub(super) fn taken(session: &mut Session<'_>, entry: &Entry) -> CpuSet {
    let others = session.others(entry.step, &entry.cpus);
    let others = match entry.cpuset {
        Some(cpuset) if cpuset.of_job => others.for_cpuset_of_job(),
        _ => others,
    };
    let mut claims = others.now();
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

    fn text(found: &Claimed) -> String {
        match found {
            Claimed::Held(_) => "held".into(),
            Claimed::Taken(cpus) => format!("taken {cpus}"),
            Claimed::Elsewhere(cpus) => format!("elsewhere {cpus}"),
        }
    }

    #[test]
    fn who_keeps_a_cpuset_off() {
        let base = tempfile::tempdir().unwrap();
        let dir = StateDir::new(base.path(), "n1").unwrap();
        dir.prepare().unwrap();
        let asks = |entry: &Entry| text(&claim(&dir, entry, false).unwrap());
        let first = claim(&dir, &entry(1, 0, "0-3", false), false).unwrap();
        let Claimed::Held(mut first) = first else {
            panic!("{first:?}");
        };
        // One that is not exclusive shares, and an exclusive one does not.
        assert_eq!(asks(&entry(2, 0, "0-1", true)), "taken 0-1");
        assert_eq!(asks(&entry(2, 0, "1-2,8", false)), "held");
        // Bindings keep off everybody but pools.
        let binding = Entry {
            cpuset: None,
            ..entry(3, 0, "6", false)
        };
        let mut ledger = Ledger::open(&dir).unwrap();
        let mut session = ledger.session(PATIENCE).unwrap();
        session.add(binding).unwrap();
        drop(session);
        assert_eq!(asks(&entry(4, 0, "5-6", false)), "taken 6");
        let in_pool = claim(&dir, &entry(4, 0, "5-6", true), true).unwrap();
        assert_eq!(text(&in_pool), "held");
        assert_eq!(asks(&entry(5, 0, "5", false)), "taken 5");
        // Another step of the job is in the job's cpuset.
        assert_eq!(asks(&entry(1, 1, "0-3", false)), "held");
        assert_eq!(asks(&entry(1, 2, "4-7", false)), "elsewhere 0-3");
        // A suspended job has nothing: what one of its steps says counts for all.
        first.set_task(std::process::id() as i32).unwrap();
        first.set_suspended(true).unwrap();
        assert!(first.entry().task.is_some_and(Task::is_stopped));
        assert_eq!(asks(&entry(6, 0, "0", true)), "held");
        assert_eq!(look(&dir).unwrap().len(), 6);
    }
}
