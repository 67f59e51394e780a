//! slurmstepd and the node's pools, as root before the first fork: the job gets its weight beside other jobs, and a
//! pool job its place in the ledger, if it still fits into its pool. When a step has ended its part of the job's
//! CPU time is kept, and the last step of a job writes the job's line. Nothing here fails a launch.

use std::time::Duration;

use berth_host::announcement;
use berth_host::cgroup::{self, JobFolders};
use berth_host::counters;
use berth_host::job_files::{self, Kind};
use berth_host::ledger::{self, Entry, Held, StepKey};
use berth_host::priority;
use berth_host::run_delay::Times;
use berth_host::{Ledger, LedgerError, StateDir};
use berth_placement::pools::{Class, Full};
use berth_placement::sets::count::counted;
use slurm_sys::StepRecord;

use crate::message::handover::Handover;
use crate::message::in_pool::{InPool, Member};
use crate::planning;
use crate::planning::pool_fit::fits;
use crate::planning::words::{join, name};
use crate::site::settings;
use crate::stepd::pool_class::TaskClass;
use crate::stepd::pool_sampler::Sampler;
use crate::stepd::pool_used::{Used, run_share};
use crate::stepd::pool_weight::{
    Folders, Weighed, traced, weigh, weigh_if_unweighed, weigh_normal, weigh_unless_in_pool,
};

/// The time to wait for others who write the ledger.
const PATIENCE: Duration = Duration::from_secs(2);

/// A step's place in its job's pool.
pub(crate) struct Seat {
    held: Held,
    dir: StateDir,
    node_name: String,
    member: Member,
    /// The weight of jobs outside of pools.
    others: u32,
    folders: Option<JobFolders>,
    /// Nanoseconds since the boot.
    since: u64,
    /// From the first task on.
    sampler: Option<Sampler>,
}

/// What came of a job that its partition puts into a pool.
enum Came {
    In(Box<Held>, StateDir, Weighed),
    Full(Full, Weighed),
    Unknown(String),
}

/// What a step has found on a node with pools.
#[derive(Default)]
pub(crate) struct Entered {
    /// Its place, if its job is in a pool.
    pub seat: Option<Seat>,
    /// Whether it has none because its pool is full.
    pub is_full: bool,
    /// What the user must know.
    pub note: Option<String>,
    /// The step's folders, if it is outside of pools.
    pub beside: Option<JobFolders>,
    /// What each of its tasks gets.
    pub tasks: Option<TaskClass>,
}

/// What holds on this node for jobs outside of pools, for a step without a handover: whatever was lost, it goes before
/// nobody.
pub(crate) fn of_node(node_name: &str) -> Option<InPool> {
    let dir = StateDir::new(&settings::current().state_dir, node_name).ok()?;
    let words = announcement::read(&dir).ok()?;
    let weights = words.pool_weights()?;
    Some(InPool {
        others: weights.others,
        idle: words.has_idle_others(),
        member: None,
    })
}

/// Gives the job its place and its weight. A job for which there is no room is a normal one from here on.
pub(crate) fn enter(record: &StepRecord<'_>, heard: &mut Handover, node_name: &str) -> Entered {
    let Some(pool) = heard.pool.as_mut() else {
        return Entered::default();
    };
    let id = record.step_id();
    let job = name(id);
    let folders = JobFolders::own();
    let Some(member) = pool.member.take() else {
        let weighed = weigh_normal(&job, &folders, (node_name, id.job_id, pool.others));
        let entered = weighed.map(|weighed| as_normal(&job, folders, (pool.idle, weighed)));
        return entered.unwrap_or_default();
    };
    match come(record, &member, (node_name, &folders, pool.others)) {
        Came::In(held, dir, weighed) => {
            pool.member = Some(member.clone());
            let (note, tasks) = as_member(&job, &folders, (&member, weighed));
            let seat = Some(Seat {
                held: *held,
                dir,
                node_name: node_name.into(),
                member,
                others: pool.others,
                folders: folders.ok(),
                since: ledger::now(),
                sampler: None,
            });
            Entered {
                seat,
                note,
                tasks,
                ..Entered::default()
            }
        }
        Came::Full(full, weighed) => {
            let note = outside(&member, full);
            log::info!("{job} pool={} full={note:?}", member.name);
            Entered {
                note: Some(note),
                is_full: true,
                ..as_normal(&job, folders, (pool.idle, weighed))
            }
        }
        // Its other steps may be in the pool: a weight that somebody has written stays.
        Came::Unknown(why) => {
            log::error!("{why}; this job runs outside of its pool");
            let weighed = weigh_if_unweighed(&job, &folders, pool.others);
            Entered {
                note: Some(unknown(&member)),
                ..as_normal(&job, folders, (pool.idle, weighed))
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

/// What a step of a pool job gets beside the job's weight: its tasks' class.
fn as_member(
    job: &str,
    folders: &Folders,
    (member, weighed): (&Member, Weighed),
) -> (Option<String>, Option<TaskClass>) {
    // Without weights the tasks of all other jobs are nice, where that counts.
    let why = weighed.and_then(|why| {
        let nice = cgroup::nice_obstacle()?;
        Some(no_weight(job, member, &format!("{why}; {nice}")))
    });
    if member.class != Class::Realtime {
        return (why, None);
    }
    // Without its folders nobody could take it back if this process were killed.
    let no_folders = folders.as_ref().err().map(ToString::to_string);
    match no_folders.or_else(priority::throttle_obstacle) {
        None => (why, Some(TaskClass::realtime(job, member))),
        Some(obstacle) => {
            let pool = &member.name;
            log::error!("{job}: the real-time pool {pool} gives its tasks no priority: {obstacle}");
            let note = format!(
                "this job has no real-time tasks, although it is in the pool {pool}: {obstacle}"
            );
            (Some(join(&[], [note, why.unwrap_or_default()])), None)
        }
    }
}

/// What a step of any other job gets on a node with pools, beside the job's weight.
fn as_normal(job: &str, folders: Folders, (idle, failed): (bool, Weighed)) -> Entered {
    let is_nice = failed.is_some() && cgroup::nice_obstacle().is_none();
    if let Some(folders) = folders.as_ref().ok().filter(|_| failed.is_none()) {
        // Linux before 5.15 has no idle groups. A real-time pool works without them, and slurmd has logged a warning.
        let idle = idle && priority::idle_obstacle().is_none();
        let done = match idle {
            true => folders.set_idle().map(Vec::from),
            false => folders.set_first().map(|done| vec![done]),
        };
        match done {
            Ok(all) => all.iter().for_each(|done| traced(job, done)),
            Err(why) => log::warn!("{job}: its tasks are not behind its slurmstepd: {why}"),
        }
    }
    Entered {
        beside: folders.ok(),
        tasks: is_nice.then(|| TaskClass::nice(job)),
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
    let (name, own) = (&member.name, counted(member.asked(), "CPU"));
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
fn come(
    record: &StepRecord<'_>,
    member: &Member,
    (node_name, folders, others): (&str, &Folders, u32),
) -> Came {
    let job = name(record.step_id());
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
    let written = || -> Result<(Result<Held, Full>, Weighed), String> {
        let text = |why: LedgerError| why.to_string();
        let mut ledger = planning::ledger::open(&dir)?;
        let mut session = ledger.session(PATIENCE).map_err(text)?;
        if let Err(full) = fits(&session.pools(), entry.step.job, member) {
            // While another of its steps is in, that one's weight is the job's.
            let who = (entry.step.job, others);
            let weighed = weigh_unless_in_pool(&job, folders, who, &mut session);
            return Ok((Err(full), weighed.flatten()));
        }
        // What an earlier run of the same job has left whose steps were all killed is no part of this one's line.
        let own = entry.step.job;
        if !session.pools().iter().any(|other| other.step.job == own) {
            job_files::forget(&dir, own, Kind::Pool);
        }
        let slot = session.add(entry.clone()).map_err(text)?;
        let weighed = weigh(&job, folders, (member.weight, &session));
        drop(session);
        Ok((Ok(ledger.hold(slot, entry.clone()).map_err(text)?), weighed))
    };
    match written() {
        Ok((Ok(held), weighed)) => Came::In(Box::new(held), dir, weighed),
        Ok((Err(full), weighed)) => Came::Full(full, weighed),
        Err(why) => Came::Unknown(why),
    }
}

impl Seat {
    /// The job's place, for the variables of its tasks.
    pub(crate) fn first_task(&mut self, pid: i32) {
        if let Err(why) = self.held.set_task(pid) {
            log::debug!("{why}");
        }
    }

    /// The last task was forked.
    pub(crate) fn all_tasks(&mut self) {
        self.sampler = Sampler::begin();
    }

    /// The step has ended. Its part is added to the job's, and the job's last step writes the line.
    pub(crate) fn leave(mut self) {
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
        let (cpus, pool) = (self.member.asked(), self.member.name.clone());
        let times = self.sampler.take().and_then(Sampler::end);
        match self.part(own, (used, times.unwrap_or_default())) {
            Ok(Some(all)) => {
                let or_unknown = |number: Option<f64>| {
                    number.map_or_else(|| "unknown".into(), |number| format!("{number:.2}"))
                };
                log::info!(
                    "job={} pool={pool} cpus-asked={cpus} cpus-delivered={} run-share={}",
                    own.job,
                    or_unknown(all.delivered(ledger::now())),
                    or_unknown(run_share(all.times)),
                );
            }
            Ok(None) => {}
            Err(why) => log::warn!(
                "job {}: the pool's line will not have all of its CPU time: {why}",
                own.job
            ),
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

    /// Adds the job to its pool's counts, while nobody else does.
    fn count(&self, all: &Used) {
        let settings = settings::current();
        if !settings.counters {
            return;
        }
        let counts = all.counts(self.member.asked(), ledger::now());
        let counted =
            counters::add_to_pool(&self.dir, &self.node_name, (&self.member.name, counts));
        if let Err(why) = counted {
            log::debug!("{}: {why}", counters::POOLS);
        }
    }

    /// Adds the step's part, while nobody else does; gives the sum if no other step of the job lives.
    fn part(
        self,
        own: StepKey,
        (used, times): (Option<u64>, Times),
    ) -> Result<Option<Used>, String> {
        let text = |why: LedgerError| why.to_string();
        let mut ledger = Ledger::open(&self.dir).map_err(text)?;
        let mut session = ledger.session(PATIENCE).map_err(text)?;
        let before = job_files::read(&self.dir, own.job, Kind::Pool).ok();
        let before = before.and_then(|text| Used::read(&text));
        // A record of the time to come is another boot's.
        let before = before.filter(|before| before.since <= ledger::now());
        let part = Used {
            since: self.since,
            cpu: used,
            times,
        };
        let all = part.after(before);
        let others = session.pools();
        let is_last = !others
            .iter()
            .any(|entry| entry.step.job == own.job && entry.step != own);
        match is_last {
            true => {
                // What of the job lives on, as a script that was not in the pool, has no place there any more.
                let job = format!("job={}", own.job);
                weigh(&job, &JobFolders::own(), (self.others_now(), &session));
                job_files::forget(&self.dir, own.job, Kind::Pool);
                self.count(&all);
            }
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
