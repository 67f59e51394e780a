//! The jobs that have a place in a pool, as slurmd sees them from look to look: the weight of one whose place ended with
//! a killed slurmstepd, while another step of the job runs as a normal one's, is lowered. A place that began and ended between
//! two looks is not seen: the job's next step gives it its weight. When the site's file has changed, all running jobs get the
//! weights that new ones would get.
//! In: the node's ledger and processes. Out: `cpu.weight` written.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use berth_host::cgroup::{self, Mounts, Place, USUAL_WEIGHT, scopes};
use berth_host::ledger::{self, Entry, Process, StepKey};
use berth_host::pools_file::SitePools;
use berth_host::{Ledger, StateDir};
use berth_placement::sets::count::counted;

use crate::site::settings;
use crate::slurmd::pools;

/// The time to wait for others who write the ledger.
const MOMENT: Duration = Duration::from_millis(200);
/// A step begins so late after it was planned, at the most: a site's prolog comes in between.
const LATE: Duration = Duration::from_secs(600);

/// What the last look has seen.
#[derive(Default)]
pub(super) struct Seats {
    /// By the job: its folder, and the slurmstepds that held its places.
    known: HashMap<u32, (Place, Vec<Process>)>,
    /// What the running jobs' weights were last made for.
    fitted: Option<Fitted>,
    /// When other pools came into force.
    changed: Option<Instant>,
}

/// What weights depend on.
#[derive(PartialEq, Eq)]
struct Fitted {
    /// Empty where there are none.
    pools: SitePools,
    /// The hardware threads of what Slurm calls a CPU.
    threads: u32,
    /// The steps that have places.
    steps: Vec<StepKey>,
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
            let Holder::At(folder, stepd) = holder(entry, &mounts) else {
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
    /// Gives the running jobs the weights of the pools in force: once for each file and each set of pool jobs, and again and
    /// again for a while after a change, as steps begin that were planned before it. Without pools all get the kernel's usual
    /// one. Returns whether that is over.
    ///
    /// # Errors
    /// A ledger that cannot be read or that others write; the next look comes.
    pub(super) fn fit(
        &mut self,
        node_name: &str,
        pools: Option<&SitePools>,
    ) -> Result<bool, String> {
        let dir = StateDir::new(&settings::current().state_dir, node_name);
        let dir = dir.map_err(|why| why.to_string())?;
        let mounts = Mounts::read().map_err(|why| why.to_string())?;
        let pools = pools.cloned().unwrap_or_default();
        let of = |entries: &[Entry]| Fitted {
            threads: pools::threads_here(),
            steps: entries.iter().map(|entry| entry.step).collect(),
            pools: pools.clone(),
        };
        let mut entries = ledger::look(&dir).map_err(|why| why.to_string())?;
        entries.retain(|entry| entry.pool);
        if self.fitted.as_ref().map(|then| &then.pools) != Some(&pools) {
            self.changed = Some(Instant::now());
        }
        let is_over = self.changed.is_none_or(|then| then.elapsed() > LATE);
        if is_over && self.fitted.as_ref() == Some(&of(&entries)) {
            return Ok(true);
        }
        let mut ledger = Ledger::open(&dir).map_err(|why| why.to_string())?;
        // While nobody else writes, no job comes into a pool or leaves it.
        let mut session = ledger.session(MOMENT).map_err(|why| why.to_string())?;
        let seats = session.pools();
        let now = of(&seats);
        // A job whose place stands in a lost ledger keeps what it has.
        let known = self.known.values().filter(|(_, held)| !held.is_empty());
        let mut members: HashMap<_, _> = known.map(|(job, _)| (job.path(), None)).collect();
        for entry in &seats {
            match holder(entry, &mounts) {
                Holder::At(job, _) => members.insert(job.path(), of_member(&now.pools, entry)),
                Holder::Nowhere => None,
                // The slurmstepd has not said who it is: its job's folder is not known.
                Holder::Unknown => return Ok(false),
            };
        }
        weigh(node_name, &mounts, (&now.pools, &members))?;
        self.fitted = Some(now);
        Ok(is_over)
    }
}

/// Writes the weights of all jobs of a node, where they have others: those of members, or nothing for a member that keeps
/// its own, and that of other jobs for all others.
fn weigh(
    node_name: &str,
    mounts: &Mounts,
    (pools, members): (&SitePools, &HashMap<String, Option<u32>>),
) -> Result<(), String> {
    let others = pools.weights();
    let others = others.map_or(USUAL_WEIGHT, |weights| weights.others);
    let weight = |job: &Place| match members.get(&job.path()) {
        Some(of_member) => *of_member,
        None => Some(others),
    };
    let mut scopes = scopes::usual_scopes(mounts, node_name);
    // Beside slurmds that each have a scope of their own, the one without a name is another cluster's.
    let is_own = |scope: &Place| {
        scope
            .path()
            .ends_with(&format!("{node_name}_slurmstepd.scope"))
    };
    if scopes.iter().any(is_own) {
        scopes.retain(is_own);
    }
    for scope in scopes {
        let count = cgroup::weigh_jobs(&scope, &weight).map_err(|why| why.to_string())?;
        if count > 0 {
            let jobs = counted(count, "running job");
            log::info!("{scope}: {jobs} had other weights than the pools give now");
        }
    }
    Ok(())
}

/// The weight of a job that has a place; nothing if its pool is gone, and others are there: it keeps what it has.
fn of_member(pools: &SitePools, entry: &Entry) -> Option<u32> {
    let Some(weights) = pools.weights() else {
        return Some(USUAL_WEIGHT);
    };
    let pool = pools
        .here()
        .find(|pool| ledger::mark(&pool.name) == entry.mark)?;
    Some(weights.of_job(pool.weight, pools::slurms_count(&entry.cpus)))
}

/// Who holds a place.
enum Holder {
    /// A slurmstepd, in this folder of a job.
    At(Place, Process),
    /// One for which Slurm keeps no such folder, or that has ended.
    Nowhere,
    /// Nobody has said so yet.
    Unknown,
}

fn holder(entry: &Entry, mounts: &Mounts) -> Holder {
    let Some(stepd) = entry.stepd else {
        return Holder::Unknown;
    };
    let place = Place::of(stepd.pid, mounts).ok();
    let job = place.and_then(|place| place.job_of_slurmstepd());
    job.map_or(Holder::Nowhere, |job| Holder::At(job, stepd))
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

#[cfg(test)]
mod tests {
    use berth_host::pools_file::{Site, read};
    use berth_placement::CpuSet;

    use super::*;

    #[test]
    fn a_member_has_the_weight_of_its_pool_as_it_is_now() {
        let pools = |text: &str| {
            let site = Site {
                is_here: &|list| Ok(list == "here"),
                cpus: None,
            };
            read(text.as_bytes(), &site).unwrap()
        };
        let entry = Entry {
            mark: ledger::mark("a"),
            cpus: CpuSet::from_list("0-3").unwrap(),
            ..Entry::default()
        };
        for (text, expected) in [
            ("name=a cpus=8 partition=p", Some(5000)),
            ("name=a cpus=16 partition=p weight=2000", Some(500)),
            // The widest pool has all of its weight.
            (
                "name=a cpus=4 partition=p\nname=b cpus=40 partition=q",
                Some(1000),
            ),
            // Beside others it keeps what it has.
            ("name=b cpus=8 partition=p", None),
            (
                "name=a cpus=8 partition=p nodes=there\nname=b cpus=8 partition=q",
                None,
            ),
            // Without pools it is a job like any other.
            ("name=a cpus=8 partition=p nodes=there", Some(USUAL_WEIGHT)),
            ("", Some(USUAL_WEIGHT)),
        ] {
            assert_eq!(of_member(&pools(text), &entry), expected, "{text}");
        }
    }
}
