//! slurmstepd and the node's pools, as root before the first fork: the job gets its weight beside other jobs, and a
//! pool job its place in the ledger, if it still fits into its pool. When a step has ended, this writes a log line with the CPU time that the step
//! got. Nothing here fails a launch.

use std::time::Duration;

use berth_host::cgroup::{self, JobFolders};
use berth_host::ledger::{self, Entry, OwnEntry};
use berth_host::{Ledger, LedgerError, StateDir, announcement};
use berth_placement::CpuSet;
use berth_placement::pools::Full;
use berth_placement::sets::text::counted;
use slurm_sys::StepRecord;

use crate::site::metrics;
use crate::site::node::state_dir;
use crate::step::handover::{Handover, InPool, Member};
use crate::step::words::name;
use crate::stepd::pool_cgroup::{
    Folders, Used, WeightError, set_missing_weight, set_weight, set_weight_outside_pools,
    set_weight_unless_in_pool,
};
use crate::stepd::pool_fit::fits;

/// The time to wait for others who write the ledger: below a busy pool the slurmstepd of a job with a low weight is slow.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// A step's place in its job's pool.
pub(crate) struct Membership {
    /// `step=12.0`, for the log.
    step: String,
    held: OwnEntry,
    dir: StateDir,
    node_name: String,
    member: Member,
    /// The weight of jobs outside of pools.
    others: u32,
    folders: Option<JobFolders>,
    /// The step's own CPUs, as Slurm counts them.
    cpus: u32,
    /// Nanoseconds since the boot.
    since: u64,
}

/// The result for a job that its partition puts into a pool.
enum Admission {
    In(Box<OwnEntry>, StateDir, WeightError),
    Full(Full, WeightError),
    Unknown(String),
}

/// A step's place on a node with pools.
#[derive(Default)]
pub(crate) struct Entered {
    /// Its place, if its job is in a pool.
    pub membership: Option<Membership>,
    /// Whether its job is in its pool, or outside because that is full; nothing if no pool is for it.
    pub pool: Option<bool>,
    /// A note to the user.
    pub note: Option<String>,
    /// The step's folders, if it is outside of pools.
    pub beside: Option<JobFolders>,
    /// Whether its tasks are nice.
    pub is_nice: bool,
}

/// The rule of this node for jobs outside of pools, for a step without a handover: whatever was lost, it goes before
/// nobody.
pub(crate) fn of_node(node_name: &str) -> Option<InPool> {
    let words = announcement::read(&state_dir(node_name).ok()?).ok()?;
    let weights = words.pool_weights()?;
    Some(InPool {
        others: weights.others,
        member: None,
    })
}

/// Gives the job its place and its weight. A job for which there is no room is a normal one from here on.
pub(crate) fn enter(record: &StepRecord<'_>, handover: &mut Handover, node_name: &str) -> Entered {
    let Some(pool) = handover.pool.as_mut() else {
        return Entered::default();
    };
    let id = record.step_id();
    let job = name(id);
    let folders = JobFolders::own();
    let Some(member) = pool.member.take() else {
        let weighed = set_weight_outside_pools(&job, &folders, (node_name, id.job_id, pool.others));
        let entered = weighed.map(|weighed| as_normal(&job, folders, weighed));
        return entered.unwrap_or_default();
    };
    match admit(record, &member, (node_name, &folders, pool.others)) {
        Admission::In(held, dir, weighed) => {
            pool.member = Some(member.clone());
            Entered {
                note: as_member(&job, &member, weighed),
                pool: Some(true),
                membership: Some(Membership {
                    step: job,
                    cpus: cpus_of_step(record, &member),
                    held: *held,
                    dir,
                    node_name: node_name.into(),
                    member,
                    others: pool.others,
                    folders: folders.ok(),
                    since: ledger::now(),
                }),
                ..Entered::default()
            }
        }
        Admission::Full(full, weighed) => {
            let note = outside(&member, full);
            log::info!("{job} pool={} full={note:?}", member.name);
            Entered {
                note: Some(note),
                pool: Some(false),
                ..as_normal(&job, folders, weighed)
            }
        }
        // Its other steps may be in the pool: a weight that somebody has written stays.
        Admission::Unknown(why) => {
            log::error!("{why}; this job runs outside of its pool");
            let weighed = set_missing_weight(&job, &folders, pool.others);
            Entered {
                note: Some(unknown(&member)),
                ..as_normal(&job, folders, weighed)
            }
        }
    }
}

fn unknown(member: &Member) -> String {
    format!(
        "this job runs outside of the pool {}, because the node's ledger could not be used; ask the administrator; \
         the reason is in slurmd's log",
        member.name
    )
}

/// The step's part of its job's CPUs, as Slurm counts them.
fn cpus_of_step(record: &StepRecord<'_>, member: &Member) -> u32 {
    let count = |cores: Option<String>| {
        let cores = CpuSet::from_list(&cores?).ok()?;
        u32::try_from(cores.count()).ok().filter(|count| *count > 0)
    };
    let (own, all) = (
        count(record.step_alloc_cores()),
        count(record.job_alloc_cores()),
    );
    part(member.cpu_count(), own.zip(all))
}

/// All of some CPUs where the step's cores or the job's are unknown.
fn part(cpus: u32, cores: Option<(u32, u32)>) -> u32 {
    let (own, all) = cores.filter(|(own, all)| own < all).unwrap_or((1, 1));
    cpus.saturating_mul(own).div_ceil(all)
}

/// The note of a pool job's step whose job has no weight.
fn as_member(job: &str, member: &Member, weighed: WeightError) -> Option<String> {
    // Without weights the tasks of all other jobs are nice, where that counts.
    let why = weighed?;
    let nice = cgroup::nice_obstacle()?;
    Some(no_weight(job, member, &format!("{why}; {nice}")))
}

/// The place of a step of any other job on a node with pools, beside the job's weight.
fn as_normal(job: &str, folders: Folders, failed: WeightError) -> Entered {
    let is_nice = failed.is_some() && cgroup::nice_obstacle().is_none();
    if let Some(folders) = folders.as_ref().ok().filter(|_| failed.is_none()) {
        match folders.set_first() {
            Ok(done) => log::debug!("{job}: {done}"),
            Err(why) => log::warn!("{job}: its tasks are not behind its slurmstepd: {why}"),
        }
    }
    Entered {
        beside: folders.ok(),
        is_nice,
        ..Entered::default()
    }
}

fn no_weight(job: &str, member: &Member, why: &str) -> String {
    log::warn!(
        "{job}: the pool {} gives its jobs no weight: {why}",
        member.name
    );
    format!(
        "this job is in the pool {}, but gets no more CPU time than others: {why}",
        member.name
    )
}

fn outside(member: &Member, full: Full) -> String {
    let (name, own) = (&member.name, counted(member.cpu_count(), "CPU"));
    match full {
        Full::Pool(all) => format!(
            "this job runs as a normal job, outside of the pool {name}: with its {own} the pool would own \
             {} of at most {} here; start it again when jobs of the pool have ended",
            member.slurms(all),
            member.slurms(member.limit)
        ),
        Full::Node(all) => format!(
            "this job runs as a normal job, outside of the pool {name}: with its {own} all pools would own \
             {} of at most {} here, and the others are the node's reserve; start it again when pool jobs \
             have ended",
            member.slurms(all),
            member.slurms(member.most)
        ),
    }
}

/// Writes the step's entry, if the job is in its pool already or fits in, and the job's weight.
fn admit(
    record: &StepRecord<'_>,
    member: &Member,
    (node_name, folders, others): (&str, &Folders, u32),
) -> Admission {
    let job = name(record.step_id());
    let dir = match state_dir(node_name) {
        Ok(dir) => dir,
        Err(why) => return Admission::Unknown(why),
    };
    let entry = Entry {
        step: crate::step::ledger::step(record.step_id()),
        pool: true,
        tasks: record.node_tasks(),
        uid: record.uid(),
        request: member.name.clone(),
        cpus: member.cpus.clone(),
        ..Entry::default()
    };
    let written = || -> Result<(Result<OwnEntry, Full>, WeightError), String> {
        let text = |why: LedgerError| why.to_string();
        let ledger = crate::step::ledger::open(&dir)?;
        let mut session = ledger.session(PATIENCE).map_err(text)?;
        if let Err(full) = fits(&session.pools(), entry.step.job, member) {
            // While another of its steps is in, that one's weight is the job's.
            let who = (entry.step.job, others);
            let weighed = set_weight_unless_in_pool(&job, folders, who, &session);
            return Ok((Err(full), weighed.flatten()));
        }
        let held = session.hold(entry.clone()).map_err(text)?;
        let weighed = set_weight(&job, folders, (member.weight, &session));
        Ok((Ok(held), weighed))
    };
    match written() {
        Ok((Ok(held), weighed)) => Admission::In(Box::new(held), dir, weighed),
        Ok((Err(full), weighed)) => Admission::Full(full, weighed),
        Err(why) => Admission::Unknown(why),
    }
}

impl Membership {
    /// The step's tasks have started; this is the first one.
    pub(crate) fn started(&mut self, pid: i32) {
        if let Err(why) = self.held.started(pid, Vec::new()) {
            log::debug!("{why}");
        }
    }

    /// The step has ended: its line is written, and its place is free.
    pub(crate) fn release(self) {
        let wall = ledger::now().saturating_sub(self.since);
        let used = Used::of(&self.step, self.folders.as_ref(), wall);
        let (step, pool) = (self.step.clone(), self.member.name.clone());
        log::info!("{step} pool={pool} {}", used.line(self.cpus));
        metrics::add_to_pool(&self.node_name, &pool, used.counts(self.cpus));
        if let Err(why) = self.free() {
            log::warn!("{step}: its place in the pool {pool} is free when slurmstepd ends: {why}");
        }
    }

    /// The weight of jobs outside of pools: the site's file may have changed since this step began.
    fn others_now(&self) -> u32 {
        let announced = announcement::read(&self.dir).ok();
        let weights = announced.map(|words| words.pool_weights());
        weights.map_or(self.others, |weights| {
            weights.map_or(cgroup::USUAL_WEIGHT, |weights| weights.others)
        })
    }

    /// Frees the step's place, while nobody else writes the ledger.
    fn free(self) -> Result<(), String> {
        let text = |why: LedgerError| why.to_string();
        let ledger = Ledger::open(&self.dir).map_err(text)?;
        let session = ledger.session(PATIENCE).map_err(text)?;
        let own = self.held.entry().step;
        let others = session.pools();
        let is_last = !others
            .iter()
            .any(|entry| entry.step.job == own.job && entry.step != own);
        if is_last {
            // A part of the job that lives on, as a script that was not in the pool, has no place there any more.
            set_weight(
                &self.step,
                &JobFolders::own(),
                (self.others_now(), &session),
            );
        }
        self.held.release().map_err(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_asks_for_its_part_of_the_job() {
        for (cores, expected) in [
            (None, 8),
            (Some((4, 4)), 8),
            (Some((1, 4)), 2),
            (Some((1, 3)), 3),
            // No step has more than its job.
            (Some((9, 4)), 8),
        ] {
            assert_eq!(part(8, cores), expected, "{cores:?}");
        }
    }
}
