//! The jobs that have a place in a pool, as slurmd sees them from look to look: the weight of one whose place ended with
//! a killed slurmstepd, while another step of the job runs as a normal one's, is lowered. A place that began and ended between
//! two looks is not seen: the job's next step gives it its weight.
//! In: the node's ledger and processes. Out: `cpu.weight` written.

use std::collections::HashMap;
use std::time::Duration;

use berth_host::cgroup::{self, Mounts, Place};
use berth_host::ledger::{self, Entry, Process};
use berth_host::{Ledger, StateDir};

use crate::site::settings;

/// The time to wait for others who write the ledger.
const MOMENT: Duration = Duration::from_millis(200);
/// From a slurmstepd's own folder so many up is its job's, whatever this Slurm calls it: `JOB/step_X/slurm`.
const UP: usize = 2;

/// What the last look has seen.
#[derive(Default)]
pub(super) struct Seats {
    /// By the job: its folder, and the slurmstepds that held its places.
    known: HashMap<u32, (Place, Vec<Process>)>,
}

impl Seats {
    /// Looks at the ledger, and lowers the jobs all of whose places have ended. A slurmstepd that lives holds its place
    /// whatever became of the ledger.
    ///
    /// # Errors
    /// A ledger that cannot be read; the next look comes.
    pub(super) fn look(&mut self, node_name: &str, others: u32) -> Result<(), String> {
        let dir = StateDir::new(&settings::current().state_dir, node_name);
        let dir = dir.map_err(|why| why.to_string())?;
        let mounts = Mounts::read().map_err(|why| why.to_string())?;
        let all = ledger::look(&dir).map_err(|why| why.to_string())?;
        for entry in all.iter().filter(|entry| entry.pool) {
            let Some((folder, stepd)) = holder(entry, &mounts) else {
                continue;
            };
            let known = self.known.entry(entry.step.job);
            let (_, held) = known.or_insert_with(|| (folder, Vec::new()));
            if !held.contains(&stepd) {
                held.push(stepd);
            }
        }
        self.known.retain(|_, (folder, held)| {
            held.retain(|one| one.is_alive());
            folder.exists()
        });
        if self.known.values().all(|(_, held)| !held.is_empty()) {
            return Ok(());
        }
        // Another step may come in meanwhile: it writes its entry and its weight while nobody else writes, and only then
        // who holds the place.
        let mut ledger = Ledger::open(&dir).map_err(|why| why.to_string())?;
        let mut session = ledger.session(MOMENT).map_err(|why| why.to_string())?;
        let seats = session.pools();
        self.known.retain(|job, (folder, held)| {
            if !held.is_empty() {
                return true;
            }
            if !seats.iter().any(|entry| entry.step.job == *job) {
                lower(folder, others);
            }
            false
        });
        Ok(())
    }
}

/// The folder of an entry's job, and the slurmstepd that holds its place.
fn holder(entry: &Entry, mounts: &Mounts) -> Option<(Place, Process)> {
    let stepd = entry.stepd?;
    Some((Place::of(stepd.pid, mounts).ok()?.above(UP), stepd))
}

fn lower(job: &Place, others: u32) {
    match cgroup::lower_job(job, others) {
        Ok(Some(done)) => log::info!(
            "{}: the slurmstepd that held the job's place in a pool has ended; it has the weight of other jobs ({})",
            done.file,
            done.now
        ),
        Ok(None) => {}
        Err(why) => log::debug!("{why}"),
    }
}
