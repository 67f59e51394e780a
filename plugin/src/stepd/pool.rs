//! slurmstepd and the node's pools, as root before the first fork: the job gets its weight beside other jobs, and a
//! pool job its place in the ledger, if it still fits into its pool. When a step has ended its part of the job's
//! CPU time is kept, and the last step of a job writes the job's line. Nothing here fails a launch.

use std::time::Duration;

use berth_host::cgroup::JobFolders;
use berth_host::job_files::{self, Kind};
use berth_host::ledger::{self, Entry, Held, StepKey};
use berth_host::{Ledger, LedgerError, StateDir};
use berth_placement::CpuSet;
use berth_placement::pools::{Full, Room};
use berth_placement::sets::count::counted;
use slurm_sys::StepRecord;

use crate::message::handover::Handover;
use crate::message::in_pool::Member;
use crate::planning;
use crate::planning::words::name;
use crate::site::settings;

/// The time to wait for others who write the ledger.
const PATIENCE: Duration = Duration::from_secs(2);

/// A step's place in its job's pool.
pub(crate) struct Seat {
    held: Held,
    dir: StateDir,
    member: Member,
    /// The weight of jobs outside of pools.
    others: u32,
    folders: Option<JobFolders>,
    /// Nanoseconds since the boot.
    since: u64,
}

/// What came of a job that its partition puts into a pool.
enum Came {
    In(Box<Held>, StateDir),
    Full(Full),
    Unknown(String),
}

/// Gives the job its place and its weight. A job for which there is no room is a normal one from here on.
pub(crate) fn enter(
    record: &StepRecord<'_>,
    heard: &mut Handover,
    node_name: &str,
) -> (Option<Seat>, Option<String>) {
    let Some(pool) = heard.pool.as_mut() else {
        return (None, None);
    };
    let id = record.step_id();
    let job = name(id);
    let folders = JobFolders::own();
    let Some(member) = pool.member.take() else {
        if !is_in_pool(node_name, id.job_id) {
            weigh(&job, &folders, pool.others);
        }
        return (None, None);
    };
    match come(record, &member, node_name) {
        Came::In(held, dir) => {
            let why = weigh(&job, &folders, member.weight);
            let note = why.map(|why| no_weight(&job, &member, &why));
            pool.member = Some(member.clone());
            let seat = Seat {
                held: *held,
                dir,
                member,
                others: pool.others,
                folders: folders.ok(),
                since: ledger::now(),
            };
            (Some(seat), note)
        }
        Came::Full(full) => {
            weigh(&job, &folders, pool.others);
            let note = outside(&member, full);
            log::info!("{job} pool={} full={note:?}", member.name);
            (None, Some(note))
        }
        // Its other steps may be in the pool: the job's weight stays what it is.
        Came::Unknown(why) => {
            log::error!("{why}; this job runs outside of its pool");
            let note = format!(
                "this job runs outside of the pool {}, because the node's ledger could not be used; ask the \
                 administrator; the reason is in slurmd's log",
                member.name
            );
            (None, Some(note))
        }
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
    let (name, own) = (&member.name, counted(member.cpus.count(), "CPU"));
    match full {
        Full::Pool(all) => format!(
            "this job runs as a normal job, outside of the pool {name}: with its {own} the pool would own \
             {all} of at most {} here; start it again when jobs of the pool have ended",
            member.limit
        ),
        Full::Node(all) => format!(
            "this job runs as a normal job, outside of the pool {name}: with its {own} all pools would own \
             {all} of at most {} here, and the others are the node's reserve; start it again when pool jobs \
             have ended",
            member.most
        ),
    }
}

/// Writes the job's weight; returns why that failed.
fn weigh(
    job: &str,
    folders: &Result<JobFolders, berth_host::cgroup::FenceError>,
    weight: u32,
) -> Option<String> {
    let written = match folders {
        Ok(folders) => folders.set_weight(weight).map_err(|why| why.to_string()),
        Err(why) => Err(why.to_string()),
    };
    match written {
        Ok(done) => {
            log::debug!(
                "{job}: wrote {:?} to {}, which has {:?}",
                done.value,
                done.file,
                done.now
            );
            None
        }
        Err(why) => {
            log::debug!("{job}: no weight among the node's jobs: {why}");
            Some(why)
        }
    }
}

/// Whether another step has put the job into a pool.
fn is_in_pool(node_name: &str, job: u32) -> bool {
    let Ok(dir) = StateDir::new(&settings::current().state_dir, node_name) else {
        return false;
    };
    let looked = Ledger::open(&dir).and_then(|mut ledger| {
        let mut session = ledger.session_now()?;
        Ok(session.pools().iter().any(|entry| entry.step.job == job))
    });
    looked.unwrap_or(false)
}

/// Writes the step's entry, if the job is in its pool already or fits in.
fn come(record: &StepRecord<'_>, member: &Member, node_name: &str) -> Came {
    let dir = match StateDir::new(&settings::current().state_dir, node_name) {
        Ok(dir) => dir,
        Err(why) => return Came::Unknown(why.to_string()),
    };
    let entry = Entry {
        step: planning::ledger::step(record.step_id()),
        pool: true,
        tasks: record.node_tasks(),
        uid: record.uid(),
        request: member.name.clone(),
        mark: ledger::mark(&member.name),
        cpus: member.cpus.clone(),
        ..Entry::default()
    };
    let written = || -> Result<Result<Held, Full>, String> {
        let text = |why: LedgerError| why.to_string();
        let mut ledger = planning::ledger::open(&dir)?;
        let mut session = ledger.session(PATIENCE).map_err(text)?;
        if let Err(full) = fits(&session.pools(), &entry, member) {
            return Ok(Err(full));
        }
        let slot = session.add(entry.clone()).map_err(text)?;
        drop(session);
        Ok(Ok(ledger.hold(slot, entry.clone()).map_err(text)?))
    };
    match written() {
        Ok(Ok(held)) => Came::In(Box::new(held), dir),
        Ok(Err(full)) => Came::Full(full),
        Err(why) => Came::Unknown(why),
    }
}

/// Whether there is room. A job that is in already stays in.
fn fits(all: &[Entry], own: &Entry, member: &Member) -> Result<(), Full> {
    let is_own = |entry: &&Entry| entry.step.job == own.step.job;
    if all.iter().any(|entry| is_own(&entry)) {
        return Ok(());
    }
    let mut jobs: Vec<&Entry> = all
        .iter()
        .filter(|entry| entry.step.job != own.step.job)
        .collect();
    jobs.sort_by_key(|entry| entry.step.job);
    jobs.dedup_by_key(|entry| entry.step.job);
    let mut in_all = CpuSet::new();
    jobs.iter().for_each(|entry| in_all.insert_all(&entry.cpus));
    let of_pool = jobs.iter().filter(|entry| entry.mark == own.mark);
    let in_pool: usize = of_pool.map(|entry| entry.cpus.count()).sum();
    let room = Room {
        own: &own.cpus,
        in_pool: u32::try_from(in_pool).unwrap_or(u32::MAX),
        in_all: &in_all,
        limit: member.limit,
        most: member.most,
    };
    room.check()
}

/// What the ended steps of a job have used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Used {
    /// When its first step began, in nanoseconds since the boot.
    since: u64,
    /// Microseconds of CPU time.
    cpu: u64,
}

impl Used {
    fn read(text: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(text).ok()?;
        let mut words = text.strip_prefix("1 ")?.split_whitespace();
        Some(Self {
            since: words.next()?.parse().ok()?,
            cpu: words.next()?.parse().ok()?,
        })
    }

    fn text(self) -> String {
        format!("1 {} {}\n", self.since, self.cpu)
    }

    /// CPUs that were kept busy on average until now.
    fn delivered(self, now: u64) -> f64 {
        let wall = now.saturating_sub(self.since).max(1) as f64 / 1000.0;
        self.cpu as f64 / wall
    }
}

impl Seat {
    /// The job's place, for the variables of its tasks.
    pub(crate) fn first_task(&mut self, pid: i32) {
        if let Err(why) = self.held.set_task(pid) {
            log::debug!("{why}");
        }
    }

    /// The step has ended. Its part is added to the job's, and the job's last step writes the line.
    pub(crate) fn leave(self) {
        let own = self.held.entry().step;
        let used = self.folders.as_ref().map(JobFolders::used);
        let used = match used {
            Some(Ok(used)) => Some(used),
            Some(Err(why)) => {
                log::debug!("job {}: its CPU time is unknown: {why}", own.job);
                None
            }
            None => None,
        };
        let (cpus, pool) = (self.member.cpus.count(), self.member.name.clone());
        // What of the job lives on, as a script that was not in the pool, has no place there any more.
        let (folders, others) = (JobFolders::own(), self.others);
        match self.part(own, used) {
            Ok(Some(all)) => {
                weigh(&format!("job={}", own.job), &folders, others);
                let delivered = used.map(|_| all.delivered(ledger::now()));
                let delivered =
                    delivered.map_or_else(|| "unknown".into(), |cpus| format!("{cpus:.2}"));
                log::info!(
                    "job={} pool={pool} cpus-asked={cpus} cpus-delivered={delivered}",
                    own.job
                );
            }
            Ok(None) => {}
            Err(why) => log::debug!("job {}: its line is not written: {why}", own.job),
        }
    }

    /// Adds the step's part, while nobody else does; gives the sum if no other step of the job lives.
    fn part(self, own: StepKey, used: Option<u64>) -> Result<Option<Used>, String> {
        let text = |why: LedgerError| why.to_string();
        let mut ledger = Ledger::open(&self.dir).map_err(text)?;
        let mut session = ledger.session(PATIENCE).map_err(text)?;
        let before = job_files::read(&self.dir, own.job, Kind::Pool).ok();
        let before = before.and_then(|text| Used::read(&text));
        let before = before.filter(|before| before.since <= self.since);
        let all = Used {
            since: before.map_or(self.since, |before| before.since),
            cpu: before
                .map_or(0, |before| before.cpu)
                .saturating_add(used.unwrap_or_default()),
        };
        let others = session.pools();
        let is_last = !others
            .iter()
            .any(|entry| entry.step.job == own.job && entry.step != own);
        match is_last {
            true => job_files::forget(&self.dir, own.job, Kind::Pool),
            false => {
                let put = (own.job, Kind::Pool);
                let put = job_files::put(&self.dir, put, 0, all.text().as_bytes());
                put.map_err(|why| why.to_string())?;
            }
        }
        self.held.release().map_err(text)?;
        Ok(is_last.then_some(all))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(job: u32, pool: &str, cpus: &str) -> Entry {
        Entry {
            step: StepKey {
                job,
                step: 0,
                component: u32::MAX,
            },
            pool: true,
            request: pool.into(),
            mark: ledger::mark(pool),
            cpus: CpuSet::from_list(cpus).unwrap(),
            ..Entry::default()
        }
    }

    #[test]
    fn a_job_counts_once_and_one_that_is_in_stays_in() {
        let first = job(1, "a", "0-3");
        let mut second = first.clone();
        second.step.step = 1;
        let all = [first, second, job(2, "b", "4-5")];
        let member = Member {
            limit: 8,
            most: 12,
            ..Member::default()
        };
        assert_eq!(fits(&all, &job(3, "a", "6-9"), &member), Ok(()));
        assert_eq!(
            fits(&all, &job(3, "a", "6-10"), &member),
            Err(Full::Pool(9))
        );
        assert_eq!(
            fits(&all, &job(3, "b", "6-13"), &member),
            Err(Full::Pool(10))
        );
        assert_eq!(
            fits(&all, &job(3, "c", "6-13"), &member),
            Err(Full::Node(14))
        );
        assert_eq!(fits(&all, &job(1, "a", "0-15"), &member), Ok(()));
    }

    #[test]
    fn parts_of_steps_are_read_as_they_are_written() {
        let used = Used {
            since: 5_000_000_000,
            cpu: 7_800_000,
        };
        assert_eq!(Used::read(used.text().as_bytes()), Some(used));
        assert!((used.delivered(6_000_000_000) - 7.8).abs() < 1e-9);
        for text in ["", "1", "2 1 1", "1 x 1", "1 1", "\u{0}"] {
            assert_eq!(Used::read(text.as_bytes()), None, "{text}");
        }
    }
}
