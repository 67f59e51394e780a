//! Many requests, shared out to processes of one class and one site's settings each, as many at a time as there are
//! CPUs. Over a request that kills its process the run goes on.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use clap::Args;

use crate::machine::{Class, Machine};
use crate::part::{Part, Progress};
use crate::random::Random;
use crate::report::Report;
use crate::tree::xml;

/// After so many that are wrong the run ends.
const ENOUGH: u64 = 500;

/// A run, as its command line says.
#[derive(Args)]
pub struct Run {
    /// How many requests
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    pub requests: u64,
    /// From which the requests are made; the same seed gives the same requests [default: the clock]
    #[arg(long, value_name = "S", overrides_with = "seed")]
    seed: Option<u64>,
    /// Requests a process
    #[arg(long, value_name = "N", default_value_t = 2000)]
    chunk: u64,
    /// Only the request of this number, which is shown
    #[arg(long, value_name = "NUMBER", overrides_with = "first")]
    first: Option<u64>,
    // The part of a process that sends, and the folder of its files.
    #[arg(long, hide = true, default_value_t = 1)]
    count: u64,
    #[arg(long, hide = true, requires_all = ["first", "seed"])]
    folder: Option<PathBuf>,
}

/// A proof by many requests.
pub trait Proof: Sync {
    /// The parts of a run; no process gets more than `most` requests.
    fn parts(&self, run: &Part, most: u64) -> Vec<Part>;

    /// Sends the requests of a part, in a process of its own.
    ///
    /// # Errors
    /// Why none can be sent.
    fn send(&self, part: &Part, here: Here) -> Result<Report, String>;

    /// A request in words.
    fn show(&self, part: &Part, number: u64) -> String;
}

/// Where a process keeps its files.
pub struct Here {
    /// The object's state and Slurm's log.
    pub folder: PathBuf,
    /// Says which request is on its way.
    pub progress: Progress,
}

impl Here {
    /// In a folder that is there.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn new(folder: &Path) -> Result<Self, String> {
        Ok(Self {
            folder: folder.to_owned(),
            progress: Progress::create(&folder.join("progress"))?,
        })
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

fn clock() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(1, |since| since.as_nanos() as u64)
}

impl Run {
    /// Does the run, or in a process of a run its part; a run's report, which is printed.
    ///
    /// # Errors
    /// A process that cannot do its part, and did not crash over a request either.
    pub fn prove(&self, proof: &dyn Proof) -> Result<Option<Report>, String> {
        let whole = Part {
            class: Class::Threads,
            settings: 0,
            seed: self.seed.unwrap_or_else(clock),
            first: 0,
            count: self.requests,
        };
        let mut parts = proof.parts(&whole, self.chunk.max(1));
        if let Some(first) = self.first {
            parts.retain(|part| part.numbers().contains(&first));
            let part = parts.pop().ok_or("the run has no such request")?;
            parts.push(part.only(first..first + self.count));
        }
        if let (Some(folder), Some(part)) = (&self.folder, parts.first()) {
            let report = proof.send(part, Here::new(folder)?)?;
            let text = serde_json::to_string(&report).map_err(|why| why.to_string())?;
            println!("{text}");
            return Ok(None);
        }
        println!("{} requests, --seed {}", self.requests, whole.seed);
        if let (Some(number), Some(part)) = (self.first, parts.first()) {
            println!("{}", proof.show(part, number));
        }
        let report = share_out(parts, proof)?;
        print!("{report}");
        Ok(Some(report))
    }
}

fn share_out(mut parts: Vec<Part>, proof: &dyn Proof) -> Result<Report, String> {
    parts.reverse();
    let folder = tempfile::tempdir().map_err(|why| why.to_string())?;
    let (parts, report) = (Mutex::new(parts), Mutex::new(Report::default()));
    let work = || -> Result<(), String> {
        loop {
            let Some(part) = lock(&parts).pop() else {
                return Ok(());
            };
            let folder = folder.path().join(format!("{}-{}", part.first, part.count));
            fs::create_dir(&folder).map_err(|why| why.to_string())?;
            let output = process(&part, &folder).map_err(|why| why.to_string())?;
            match serde_json::from_slice(&output.stdout) {
                Ok(found) => lock(&report).add(found),
                Err(_) => {
                    let number = died(&part, &folder, &output, proof, &mut lock(&report))?;
                    let left = [part.first..number, number + 1..part.numbers().end];
                    let left = left.into_iter().filter(|numbers| !numbers.is_empty());
                    lock(&parts).extend(left.map(|numbers| part.only(numbers)));
                }
            }
            // A folder that stays goes with the whole.
            let _ = fs::remove_dir_all(&folder);
            if lock(&report).wrong() >= ENOUGH {
                println!("{ENOUGH} that are wrong are enough; the rest is left out");
                lock(&parts).clear();
            }
        }
    };
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..cpus).map(|_| scope.spawn(work)).collect();
        let mut ends = workers.into_iter().map(|worker| worker.join());
        ends.try_for_each(|end| end.unwrap_or_else(|_| Err("a thread has panicked".into())))
    })?;
    Ok(report.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// The request over which a process died.
fn died(
    part: &Part,
    folder: &Path,
    output: &Output,
    proof: &dyn Proof,
    report: &mut Report,
) -> Result<u64, String> {
    let (status, errors) = (output.status, String::from_utf8_lossy(&output.stderr));
    let (number, whose) = Progress::read(&folder.join("progress"))
        .filter(|_| status.code() != Some(2))
        .ok_or_else(|| format!("a process did not do its part: {status}: {errors}"))?;
    let request = proof.show(part, number);
    let why = format!("its process died in {whose}'s hook: {status}");
    report.defect(&why, &format!("{request}\n{errors}"));
    Ok(number)
}

fn process(part: &Part, folder: &Path) -> std::io::Result<Output> {
    let machine = Machine::any(part.class, &mut Random::new(0));
    let (shown, value) = show(&machine, folder)?;
    Command::new(std::env::current_exe()?)
        .args(std::env::args_os().skip(1))
        .args(["--seed", &part.seed.to_string()])
        .args(["--first", &part.first.to_string()])
        .args(["--count", &part.count.to_string()])
        .arg("--folder")
        .arg(folder)
        // Our object then compares no map with the kernel's CPUs.
        .env(shown, value)
        .env("RUST_BACKTRACE", "1")
        .output()
}

/// The variable by which hwloc shows a machine, and its value.
///
/// # Errors
/// A file that cannot be written.
pub fn show(machine: &Machine, folder: &Path) -> std::io::Result<(&'static str, OsString)> {
    if machine.tree.is_empty() {
        return Ok(("HWLOC_SYNTHETIC", machine.synthetic().into()));
    }
    let file = folder.join("machine.xml");
    fs::write(&file, xml(machine))?;
    Ok(("HWLOC_XMLFILE", file.into()))
}
