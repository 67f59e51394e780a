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
    /// Whether a slurmstepd held a place at the last look.
    pub(super) fn has_holders(&self) -> bool {
        self.known.values().any(|(_, held)| !held.is_empty())
    }

    /// Gives the running jobs the weights of the pools in force: once for each file and each set of pool jobs, and again and
    /// again for a while after a change, as steps begin that were planned before it. While a job is in a pool the weights are
    /// compared each time: no step has weighed a job that has its extern step alone, or that began while the switch-off file
    /// was there. Without pools all get the kernel's usual one. Returns whether a change is over.
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
        let is_fitted = self.fitted.as_ref() == Some(&of(&entries));
        let differ = || {
            let wanted = self.wanted(&entries, (&pools, &mounts));
            wanted.is_some_and(|wanted| differ(node_name, &mounts, &wanted))
        };
        if is_done((is_over, is_fitted), !entries.is_empty(), differ) {
            return Ok(true);
        }
        let mut ledger = Ledger::open(&dir).map_err(|why| why.to_string())?;
        // While nobody else writes, no job comes into a pool or leaves it.
        let mut session = ledger.session(MOMENT).map_err(|why| why.to_string())?;
        let seats = session.pools();
        let now = of(&seats);
        let Some(wanted) = self.wanted(&seats, (&now.pools, &mounts)) else {
            return Ok(false);
        };
        weigh(node_name, &mounts, &wanted)?;
        self.fitted = Some(now);
        Ok(is_over)
    }

    /// The weights that jobs should have; nothing as long as it is unknown which process a slurmstepd is: its job's folder is
    /// not known then.
    fn wanted(&self, seats: &[Entry], (pools, mounts): (&SitePools, &Mounts)) -> Option<Wanted> {
        // A job whose place stands in a lost ledger keeps what it has.
        let known = self.known.values().filter(|(_, held)| !held.is_empty());
        let mut members: HashMap<_, _> = known.map(|(job, _)| (job.path(), None)).collect();
        for entry in seats {
            match holder(entry, mounts) {
                Holder::At(job, _) => members.insert(job.path(), of_member(pools, entry)),
                Holder::Nowhere => None,
                Holder::Unknown => return None,
            };
        }
        let weights = pools.weights();
        Some(Wanted {
            others: weights.map_or(USUAL_WEIGHT, |weights| weights.others),
            members,
        })
    }
}

/// The weights that the jobs of a node should have.
struct Wanted {
    /// That of a job that has no place.
    others: u32,
    /// By the folder of a job that has one: its weight, or nothing if it keeps what it has.
    members: HashMap<String, Option<u32>>,
}

impl Wanted {
    fn of(&self, job: &Place) -> Option<u32> {
        let of_member = self.members.get(&job.path()).copied();
        of_member.unwrap_or(Some(self.others))
    }
}

/// Whether nothing need be written: a change is over, it was written, and no job of another weight runs beside a pool's.
fn is_done(
    (is_over, is_fitted): (bool, bool),
    has_seats: bool,
    differ: impl FnOnce() -> bool,
) -> bool {
    is_over && is_fitted && !(has_seats && differ())
}

/// Writes the weights of all jobs of a node, where they have others.
fn weigh(node_name: &str, mounts: &Mounts, wanted: &Wanted) -> Result<(), String> {
    for scope in own_scopes(node_name, mounts) {
        let count = cgroup::weigh_jobs(&scope, &|job| wanted.of(job));
        let count = count.map_err(|why| why.to_string())?;
        if count > 0 {
            let jobs = counted(count, "running job");
            log::info!("{scope}: {jobs} had other weights than the pools give now");
        }
    }
    Ok(())
}

/// Whether one of them has another.
fn differ(node_name: &str, mounts: &Mounts, wanted: &Wanted) -> bool {
    let mut scopes = own_scopes(node_name, mounts).into_iter();
    scopes.any(|scope| cgroup::has_other_weights(&scope, &|job| wanted.of(job)).unwrap_or(false))
}

/// The cgroups below which Slurm keeps this node's jobs.
fn own_scopes(node_name: &str, mounts: &Mounts) -> Vec<Place> {
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
    scopes
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
    /// Nobody has said so yet, or one whose number is another PID namespace's.
    Unknown,
}

fn holder(entry: &Entry, mounts: &Mounts) -> Holder {
    let Some(stepd) = entry.stepd.filter(|stepd| stepd.is_alive()) else {
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
    fn while_a_job_is_in_a_pool_all_weights_are_compared() {
        let (yes, no) = (true, false);
        for (is_over, is_fitted, has_seats, differ, expected) in [
            (yes, yes, no, no, yes),
            (yes, yes, yes, no, yes),
            // A job with its extern step alone has begun, or the switch-off file is gone.
            (yes, yes, yes, yes, no),
            // Beside no pool's job weights are not looked at.
            (yes, yes, no, yes, yes),
            // A change is written, and for a while what was planned before it comes.
            (no, yes, no, no, no),
            (yes, no, yes, no, no),
        ] {
            let done = is_done((is_over, is_fitted), has_seats, || differ);
            let told = format!("{is_over} {is_fitted} {has_seats} {differ}");
            assert_eq!(done, expected, "{told}");
        }
    }

    #[test]
    fn a_job_without_a_place_has_the_weight_of_others() {
        let mounts = Mounts::read().unwrap_or_default();
        let Ok(place) = Place::of(0, &mounts) else {
            eprintln!("skipped: this process is in no cgroup that is mounted");
            return;
        };
        let job = |name: &str| place.below(name);
        let of = |name: &str, weight| (job(name).path(), weight);
        let wanted = Wanted {
            others: 38,
            members: [of("job_1", Some(5000)), of("job_2", None)].into(),
        };
        let found = ["job_1", "job_2", "job_3"].map(|name| wanted.of(&job(name)));
        assert_eq!(found, [Some(5000), None, Some(38)]);
    }

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
