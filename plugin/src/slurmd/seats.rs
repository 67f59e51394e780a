//! The jobs that have a place in a pool, as slurmd sees them from look to look: the weight of one whose place ended with
//! a killed slurmstepd, while another step of the job runs as a normal one's, is lowered. A place that began and ended between
//! two looks is not seen: the job's next step gives it its weight. When the site's file has changed, all running jobs get the
//! weights that new ones would get.
//! In: the node's ledger and processes. Out: `cpu.weight` written.

use std::collections::HashMap;
use std::time::Duration;

use berth_host::cgroup::{self, Mounts, Place, jobs};
use berth_host::ledger::{self, Entry, Process};
use berth_host::pools_file::SitePools;
use berth_host::{Ledger, StateDir};
use berth_placement::sets::count::counted;

use crate::site::settings;
use crate::slurmd::pools;

/// The weight that the kernel gives every job.
pub(super) const USUAL: u32 = 100;
/// The time to wait for others who write the ledger.
const MOMENT: Duration = Duration::from_millis(200);
/// From a slurmstepd's own folder so many up is its job's, whatever this Slurm calls it: `JOB/step_X/slurm`.
const UP: usize = 2;

/// What the last look has seen.
#[derive(Default)]
pub(super) struct Seats {
    /// By the job: its folder, and the slurmstepds that held its places.
    known: HashMap<u32, (Place, Vec<Process>)>,
    /// The pools whose weights the running jobs have; empty where there were none.
    fitted: Option<SitePools>,
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

impl Seats {
    /// Gives the running jobs the weights of the pools in force, unless that has been done. Without pools all get the
    /// kernel's usual one. Returns whether they have them: a place whose holder is not known yet makes it wait.
    ///
    /// # Errors
    /// A ledger that cannot be read or that others write; the next look comes.
    pub(super) fn fit(
        &mut self,
        node_name: &str,
        pools: Option<&SitePools>,
    ) -> Result<bool, String> {
        let now = pools.cloned().unwrap_or_default();
        if self.fitted.as_ref() == Some(&now) {
            return Ok(true);
        }
        let dir = StateDir::new(&settings::current().state_dir, node_name);
        let dir = dir.map_err(|why| why.to_string())?;
        let mounts = Mounts::read().map_err(|why| why.to_string())?;
        let mut ledger = Ledger::open(&dir).map_err(|why| why.to_string())?;
        // While nobody else writes, no job comes into a pool or leaves it.
        let mut session = ledger.session(MOMENT).map_err(|why| why.to_string())?;
        let mut members = HashMap::new();
        for entry in session.pools() {
            let known = self.known.get(&entry.step.job);
            let folder = known.map(|(folder, _)| folder.clone());
            let Some(folder) = folder.or_else(|| Some(holder(&entry, &mounts)?.0)) else {
                return Ok(false);
            };
            members.insert(folder.to_string(), of_member(&now, &entry));
        }
        let others = now.weights().map_or(USUAL, |weights| weights.others);
        let weight = |job: &Place| match members.get(&job.to_string()) {
            Some(of_member) => *of_member,
            None => Some(others),
        };
        for scope in jobs::usual_scopes(&mounts, node_name) {
            let count = cgroup::weigh_jobs(&scope, &weight).map_err(|why| why.to_string())?;
            if count > 0 {
                let jobs = counted(count, "running job");
                log::info!("{scope}: {jobs} had other weights than the pools give now");
            }
        }
        self.fitted = Some(now);
        Ok(true)
    }
}

/// The weight of a job that has a place; nothing if its pool is gone, and others are there: it keeps what it has.
fn of_member(pools: &SitePools, entry: &Entry) -> Option<u32> {
    let Some(weights) = pools.weights() else {
        return Some(USUAL);
    };
    let pool = pools
        .here()
        .find(|pool| ledger::mark(&pool.name) == entry.mark)?;
    Some(weights.of_job(pool.weight, pools::slurms_count(&entry.cpus)))
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
