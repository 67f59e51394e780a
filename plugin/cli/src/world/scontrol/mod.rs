//! slurmctld's word on a job: its fields, and the cores, memory and generic resources that it has on each
//! of its nodes (`scontrol show job -d`).

pub(crate) mod gres;
mod lines;
mod record;

use std::collections::HashMap;
use std::thread;
use std::time::{Duration, Instant};

use berth_answer::world::OnNode;

use super::child;
pub(crate) use record::{Job, Part, seconds};

/// A job of ten thousand unlike nodes has far less.
const MOST: u64 = 4 << 20;
/// All questions about a job together take no longer.
const LIMIT: Duration = Duration::from_millis(if cfg!(test) { 500 } else { 4000 });
/// A record that changes while it is read is read again.
const TRIES: usize = 3;

/// Asks for a job's part of its nodes.
///
/// # Errors
/// Why slurmctld gave no answer, or none about cores.
pub(super) fn job(id: u32) -> Result<Vec<OnNode>, String> {
    let by = Deadline::new();
    let found = jobs(&id.to_string(), &by)?;
    let job = found.into_iter().find(|job| job.id == id);
    let nodes: Vec<_> = job.iter().flat_map(Job::hosts).map(on_node).collect();
    match nodes.is_empty() {
        true => Err(format!("scontrol names no cores of job {id}")),
        false => Ok(nodes),
    }
}

fn on_node((name, part): (String, &Part)) -> OnNode {
    OnNode {
        name,
        cpus: part.cpus(),
        gpus: gres::gpus(&part.gres),
    }
}

/// The time by which everything is answered.
pub(crate) struct Deadline(Instant);

impl Deadline {
    pub(crate) fn new() -> Self {
        Self(Instant::now() + LIMIT)
    }

    fn ask(&self, words: &[&str]) -> Result<Vec<u8>, String> {
        let left = self.0.saturating_duration_since(Instant::now());
        child::bytes("scontrol", words, (MOST, left))
    }
}

/// The jobs that scontrol shows for a name such as `12`, `12_3` or `12+1`: those of an array or a
/// heterogeneous job are several.
///
/// # Errors
/// Why slurmctld gave no answer.
pub(crate) fn jobs(name: &str, by: &Deadline) -> Result<Vec<Job>, String> {
    for _ in 0..TRIES {
        let several = ["-d", "show", "job", name];
        let one = ["-o", "-d", "show", "job", name];
        // Asked at the same time they differ least.
        let (several, one) = thread::scope(|scope| {
            let other = scope.spawn(|| by.ask(&one));
            (by.ask(&several), other.join())
        });
        let one = one.map_err(|_| "a thread of berth's has failed")?;
        if let Some(records) = lines::aligned(&several?, &one?) {
            return Ok(records
                .iter()
                .filter_map(|lines| Job::read(lines))
                .collect());
        }
    }
    Err(format!(
        "slurmctld's record of job {name} changes while berth reads it"
    ))
}

/// The number of threads of a core by slurm.conf, for each of these nodes.
///
/// # Errors
/// Why slurmctld gave no answer.
pub(crate) fn threads(nodes: &str, by: &Deadline) -> Result<HashMap<String, u32>, String> {
    let shown = by.ask(&["-o", "show", "node", nodes])?;
    let shown = String::from_utf8_lossy(&shown).into_owned();
    let of_line = |line: &str| {
        let mut words = line.split(' ');
        let name = words.next()?.strip_prefix("NodeName=")?;
        let threads = words.find_map(|word| word.strip_prefix("ThreadsPerCore="))?;
        Some((name.to_owned(), threads.parse().ok()?))
    };
    Ok(shown.lines().filter_map(of_line).collect())
}
