//! A step that begins while its job waits for its CPUs, or that slurmd planned before its job went on with others.
//! In: the ledger. Out: whether its tasks must not run yet.

use berth_host::ledger::Beside;
use berth_host::{Ledger, StateDir};

use crate::site::settings;
use crate::stepd::watch::choice::Cpuset;

/// When the tasks of a step may begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Begins {
    Now,
    /// Their job has other CPUs since they were planned.
    Elsewhere,
    /// Their job is suspended, or waits for its CPUs.
    Later,
}

impl Begins {
    /// For a step whose entry has this generation. Without the ledger the step begins, as it was planned.
    pub(super) fn of(cpuset: &Cpuset, generation: u32) -> Self {
        // Slurm waits for the first stop of a debugger's tasks, and could not cancel frozen ones.
        if !cpuset.of_job || cpuset.is_debugged {
            return Self::Now;
        }
        match look(cpuset, generation) {
            Ok(beside) => Self::beside(beside, generation),
            Err(why) => {
                log::debug!("whether job {} waits is unknown: {why}", cpuset.step.job);
                Self::Now
            }
        }
    }

    fn beside(beside: Option<Beside>, generation: u32) -> Self {
        match beside {
            Some(beside) if beside.generation > generation => Self::Elsewhere,
            Some(beside) if !beside.runs => Self::Later,
            _ => Self::Now,
        }
    }
}

/// A job whose CPUs others have got meanwhile, and none of whose steps has tasks, waits too.
fn look(cpuset: &Cpuset, generation: u32) -> Result<Option<Beside>, String> {
    let dir = StateDir::new(&settings::current().state_dir, &cpuset.node_name);
    let dir = dir.map_err(|why| why.to_string())?;
    let ledger = Ledger::open(&dir).map_err(|why| why.to_string())?;
    let session = ledger.read().map_err(|why| why.to_string())?;
    let beside = session.beside(cpuset.step);
    if beside.is_none() && session.is_taken(cpuset.step.job) {
        let runs = false;
        return Ok(Some(Beside { generation, runs }));
    }
    Ok(beside)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_begins_where_its_job_is_and_not_before_it() {
        let beside = |generation, runs| Some(Beside { generation, runs });
        for (others, own, expected) in [
            (None, 0, Begins::Now),
            (beside(0, true), 0, Begins::Now),
            (beside(3, true), 3, Begins::Now),
            (beside(0, false), 0, Begins::Later),
            (beside(3, true), 2, Begins::Elsewhere),
            (beside(3, false), 2, Begins::Elsewhere),
        ] {
            assert_eq!(Begins::beside(others, own), expected, "{others:?} {own}");
        }
    }
}
