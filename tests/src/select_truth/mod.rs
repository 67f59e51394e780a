//! What the real slurmctld gives random lines on random idle clusters.
//! In: a seed and a number of lines. Out: records that [`record`] writes and reads. The nodes are
//! fake (`SlurmdParameters=config_overrides`), and slurmctld and slurmds are real.

mod ask;
mod command;
mod compare;
mod controller;
pub(crate) mod lines;
mod log;
pub mod record;
mod scontrol;
mod tally;
pub(crate) mod world;

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use fastrand::Rng;

use berth_srun::Release;

use crate::Done;
use ask::Asked;
pub use command::through_the_command;
pub use compare::{Compared, Verdict, compare};
use record::{JobTruth, Record, StepTruth};
pub use tally::{Count, Known, Tally};
use world::{World, one, percent};

/// Lines asked of one cluster.
const OF_A_CLUSTER: usize = 24;

/// How often a line is asked again whose answer may be the moment's.
const AGAIN: usize = 2;

/// The commands, each as often as it is asked.
const COMMANDS: [&str; 6] = ["salloc", "salloc", "salloc", "srun", "srun", "sbatch"];

impl Known {
    /// The list of this source tree, `tests/select-differences.txt`.
    ///
    /// # Panics
    /// Where the list cannot be read.
    #[must_use]
    pub fn listed() -> Self {
        let list = include_str!("../../select-differences.txt");
        Self::read(list).unwrap_or_else(|why| panic!("select-differences.txt: {why}"))
    }
}

/// The release line of the Slurm that is installed.
///
/// # Panics
/// Where there is none.
#[must_use]
pub fn release() -> Release {
    let said = std::process::Command::new("slurmd").arg("-V").output();
    let said = Done::from(said.expect("slurmd is installed")).stdout;
    let version = said.split_whitespace().last().unwrap_or_default();
    version.parse().unwrap_or_else(|why| panic!("{why}"))
}

/// Asks so many lines.
pub fn ask(seed: u64, lines: usize) -> Vec<Record> {
    let clusters = lines.div_ceil(OF_A_CLUSTER);
    let next = AtomicUsize::new(0);
    let found = Mutex::new(Vec::new());
    // They mostly wait for each other's daemons.
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let at_once = (cores * 2).min(8);
    std::thread::scope(|scope| {
        for _ in 0..at_once {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    if at >= clusters {
                        return;
                    }
                    let count = OF_A_CLUSTER.min(lines - at * OF_A_CLUSTER);
                    let records = of_cluster(seed, at, count);
                    found
                        .lock()
                        .expect("no thread panics with it")
                        .push((at, records));
                }
            });
        }
    });
    let mut found = found.into_inner().expect("no thread panics with it");
    found.sort_by_key(|(at, _)| *at);
    found.into_iter().flat_map(|(_, records)| records).collect()
}

/// The lines of one cluster. Each cluster has random numbers of its own, so one can be asked again.
fn of_cluster(seed: u64, at: usize, count: usize) -> Vec<Record> {
    let mut random = Rng::with_seed(seed.wrapping_mul(1_000_003).wrapping_add(at as u64));
    let world = world::world(&mut random);
    let mut conf = world.settings.clone();
    let named = world.shapes.iter().enumerate();
    conf.extend(named.map(|(node, shape)| format!("NodeName=n{} {shape}", node + 1)));
    let asked = match Asked::up(&world) {
        Ok(asked) => asked,
        Err(why) => panic!("seed {seed}, cluster {at}: {conf:#?}\n{why}"),
    };
    compare::readers_agree(&conf, &asked.shown());
    let line = release();
    let mut records = Vec::new();
    for question in 0..count {
        let mut record = Record {
            comment: format!("seed {seed}, cluster {at}, question {question}"),
            conf: conf.clone(),
            ..question_of(&mut random, &world)
        };
        answered(&mut record, &asked);
        if asked.lives() && compare(&record, line).differs() {
            // A node that was still being freed takes no job; an answer that stays is slurmctld's.
            answered(&mut record, &asked);
        }
        if !matches!(record.job, JobTruth::Granted { .. }) {
            record.step = None;
        }
        records.push(record);
        if !asked.lives() {
            break;
        }
    }
    records
}

/// Asks the record's line.
fn answered(record: &mut Record, asked: &Asked) {
    let (command, options) = record.line.split_once(' ').unwrap_or((&record.line, ""));
    let step = record
        .step
        .as_deref()
        .map(|step| step.trim_start_matches("srun").trim());
    let mut answers = asked.ask(command, options, step);
    for _ in 0..AGAIN {
        if answers.as_ref().is_some_and(Asked::is_doubtful) {
            answers = asked.ask(command, options, step);
        }
    }
    match answers {
        Some((job, step)) => (record.job, record.step_got) = (job, step),
        None => record.step_got = Some(StepTruth::Killed),
    }
}

/// A random line, with the first step of salloc's.
fn question_of(random: &mut Rng, world: &World) -> Record {
    let command = match world.linear {
        true => "salloc",
        false => one(random, &COMMANDS),
    };
    let with_step = command == "salloc" && !world.linear && percent(random, 75);
    let line = format!("{command} {}", lines::job(random, world));
    let step = with_step.then(|| format!("srun {}", lines::step(random, world)));
    Record {
        comment: String::new(),
        conf: Vec::new(),
        line: line.trim().into(),
        step: step.map(|step| step.trim().to_string()),
        job: JobTruth::Pending("slurmctld died".into()),
        step_got: None,
    }
}
