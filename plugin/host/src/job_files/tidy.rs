//! Files of jobs that are over. No hook of Slurm's sees a job's end on a node before its epilog has run,
//! so each step leaves a mark while it lives, and a job without a living step is over once nothing of it
//! has changed for a while. The number of jobs with files has a bound.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use super::folder::{self, JobFilesError};
use crate::ledger::Process;
use crate::state::StateDir;

/// An epilog begins well before that.
const AGE: Duration = Duration::from_secs(600);
/// With more jobs than this those that are over are looked for.
const MANY: usize = 64;
/// No more jobs than this have files.
const MOST: usize = 512;
/// Files that are looked at in one go.
const MOST_FILES: usize = 1 << 16;

/// The files of one job.
#[derive(Default)]
struct OfJob {
    files: Vec<PathBuf>,
    steps: Vec<(PathBuf, Process)>,
    /// The time of the last change.
    changed: Option<SystemTime>,
}

/// For slurmstepd: its step of the job lives for as long as this process.
///
/// # Errors
/// A folder that cannot be written.
pub fn begin_step(dir: &StateDir, job: u32) -> io::Result<()> {
    let path = mark(dir, job, Process::own());
    File::options()
        .write(true)
        .create(true)
        .truncate(true)
        .open(path)
        .map(drop)
}

/// For slurmstepd: its step has ended.
pub fn end_step(dir: &StateDir, job: u32) {
    let path = mark(dir, job, Process::own());
    if fs::remove_file(path).is_ok() {
        folder::renew(dir, job);
    }
}

fn mark(dir: &StateDir, job: u32, of: Process) -> PathBuf {
    folder::path(dir).join(format!("{job}.step.{}.{}", of.pid, of.start))
}

/// Removes the files of jobs that are over, and the marks of steps that have died.
pub fn tidy(dir: &StateDir) {
    let now = SystemTime::now();
    for job in jobs(dir).into_values() {
        remove(&job, now);
    }
}

/// The same if there are many jobs with files.
pub(super) fn make_room(dir: &StateDir) -> Result<(), JobFilesError> {
    if jobs(dir).len() <= MANY {
        return Ok(());
    }
    tidy(dir);
    match jobs(dir).len() < MOST {
        true => Ok(()),
        false => Err(JobFilesError::Full {
            path: folder::path(dir),
            most: MOST,
        }),
    }
}

fn remove(job: &OfJob, now: SystemTime) {
    let (living, dead): (Vec<_>, Vec<_>) = job.steps.iter().partition(|(_, step)| step.is_alive());
    // A file that is gone already needs nothing.
    for (path, _) in dead {
        let _ = fs::remove_file(path);
    }
    let age = job
        .changed
        .and_then(|changed| now.duration_since(changed).ok());
    if living.is_empty() && age.is_some_and(|age| age > AGE) {
        for path in &job.files {
            let _ = fs::remove_file(path);
        }
    }
}

/// The files by job; those of a writer that has died count, and names of another kind do not.
fn jobs(dir: &StateDir) -> BTreeMap<u32, OfJob> {
    let mut jobs: BTreeMap<u32, OfJob> = BTreeMap::new();
    let entries = fs::read_dir(folder::path(dir)).into_iter().flatten();
    for entry in entries.flatten().take(MOST_FILES) {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let Some((job, kind)) = name.trim_start_matches('.').split_once('.') else {
            continue;
        };
        let Ok(job) = job.parse() else { continue };
        let job = jobs.entry(job).or_default();
        match kind.strip_prefix("step.").and_then(process) {
            Some(step) => job.steps.push((entry.path(), step)),
            None => job.files.push(entry.path()),
        }
        let changed = entry.metadata().and_then(|found| found.modified()).ok();
        job.changed = job.changed.max(changed);
    }
    jobs
}

/// `PID.START`
fn process(text: &str) -> Option<Process> {
    let (pid, start) = text.split_once('.')?;
    Some(Process {
        pid: pid.parse().ok()?,
        start: start.parse().ok()?,
    })
}
