//! Shares messages out to processes of one class and one site's settings each, several at a time,
//! and gathers what they found. Over a message that kills its process the run goes on.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use slurm_sys::Layout;

use crate::counts::Counts;
use crate::fuzz::child::{Part, SETTINGS};
use crate::fuzz::sending::{END, WRONG};
use crate::fuzz::sums::Sums;
use crate::machine::{Class, Machine};
use crate::parent::show;
use crate::random::Random;

/// Lines of what a process said when it died.
const MOST_LINES: usize = 40;
/// After so many that are wrong the run ends.
const ENOUGH: u64 = 500;

/// What the processes need.
pub struct Runner {
    /// Our object.
    pub object: PathBuf,
    /// Our command, which finds memory domains.
    pub command: PathBuf,
    /// The tables of the running release, to print a message that killed its process.
    pub layout: &'static Layout,
    /// For progress files and our object's state.
    pub folder: PathBuf,
    /// What was wrong.
    pub found: Found,
}

/// The parts of a run: seven of ten messages where CPUs are threads, two where they are cores,
/// one for memory domains; the settings take turns.
#[must_use]
pub fn parts(messages: u64, seed: u64, most: u64) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut first = 0;
    while first < messages {
        let turn = parts.len();
        let class = match turn % 10 {
            0..=6 => Class::Threads,
            7..=8 => Class::Cores,
            _ => Class::Ldoms(Random::new(seed ^ first).number()),
        };
        parts.push(Part {
            class,
            settings: (turn / 10 + turn) % SETTINGS.len(),
            seed,
            first,
            count: most.max(1).min(messages - first),
        });
        first += most.max(1);
    }
    parts
}

impl Runner {
    /// Runs the parts, so many at a time.
    ///
    /// # Errors
    /// A process that cannot be started, or that ends without its sums and without a crash.
    pub fn run(&self, parts: &[Part], jobs: usize) -> Result<Sums, String> {
        let (next, sums) = (AtomicUsize::new(0), Mutex::new(Ok(Sums::default())));
        let work = || {
            while let Some(part) = parts.get(next.fetch_add(1, Ordering::Relaxed)) {
                let found = self.part(part);
                let mut all = sums.lock().unwrap_or_else(PoisonError::into_inner);
                match (&mut *all, found) {
                    (Ok(all), Ok(found)) => {
                        all.add(&found);
                        if all.counts.of("wrong") < ENOUGH {
                            continue;
                        }
                        println!("{ENOUGH} messages are enough; the rest is not sent");
                    }
                    (all, Err(why)) => *all = Err(why),
                    (Err(_), Ok(_)) => {}
                }
                next.store(parts.len(), Ordering::Relaxed);
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..jobs.max(1) {
                scope.spawn(work);
            }
        });
        sums.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// One part, going on behind each message over which a process died.
    fn part(&self, part: &Part) -> Result<Sums, String> {
        let folder = self.folder.join(part.first.to_string());
        fs::create_dir(&folder).map_err(|why| why.to_string())?;
        let progress = folder.join("progress");
        let (mut sums, mut rest) = (Sums::default(), *part);
        while rest.count > 0 {
            fs::write(&progress, []).map_err(|why| why.to_string())?;
            let output = self.process(&rest, &folder, &progress)?;
            let said = String::from_utf8_lossy(&output.stdout);
            if gather(&said, &mut sums, &self.found) {
                break;
            }
            let note = fs::read(&progress).map_err(|why| why.to_string())?;
            let number = note.try_into().map(u64::from_le_bytes).map_err(|_| {
                let errors = String::from_utf8_lossy(&output.stderr);
                format!(
                    "a process ended before it began: {}: {errors}",
                    output.status
                )
            })?;
            let sent = number + 1 - rest.first;
            sums.counts.many("sent before a process died", sent);
            sums.counts.one("wrong");
            sums.counts.one("processes that died");
            self.died(part, number, &output);
            rest.count -= sent;
            rest.first += sent;
        }
        // A folder that stays goes with the whole.
        let _ = fs::remove_dir_all(&folder);
        Ok(sums)
    }

    fn died(&self, part: &Part, number: u64, output: &Output) {
        let message = part.message(number, self.layout);
        let errors = String::from_utf8_lossy(&output.stderr);
        let lines: Vec<_> = errors.lines().filter(|line| !line.is_empty()).collect();
        let said = lines[..lines.len().min(MOST_LINES)].join("\n  ");
        // Of a backtrace what is ours; without one how it ended must do.
        let ours = lines
            .iter()
            .filter(|line| line.contains("berth_pl") || line.contains("task_b"));
        let ours: Vec<_> = ours.take(2).map(|line| line.trim()).collect();
        let (status, replay) = (output.status, part.replay(number));
        self.found.add(
            format!("its process died: {status} {}", ours.join(" ")),
            &format!(
                "{WRONG}its process died: {status}\n  {said}\n{message}\n  again with: launch-fuzz \
                 {replay}\n"
            ),
        );
    }

    fn process(&self, part: &Part, folder: &Path, progress: &Path) -> Result<Output, String> {
        let machine = Machine::any(part.class, &mut Random::new(0));
        let command = match part.class {
            Class::Threads | Class::Cores => Path::new("/nonexistent"),
            _ => self.command.as_path(),
        };
        let (shown, value) = show(&machine, folder)?;
        let myself = std::env::current_exe().map_err(|why| why.to_string())?;
        let mut child = Command::new(myself);
        child
            .args(["--class", &part.class.to_string()])
            .args(["--settings", &part.settings.to_string()])
            .args(["--seed", &part.seed.to_string()])
            .args(["--first", &part.first.to_string()])
            .args(["--messages", &part.count.to_string()])
            .arg("--progress")
            .arg(progress)
            .arg("--state")
            .arg(folder)
            .arg("--object")
            .arg(&self.object)
            .arg("--command")
            .arg(command)
            // Our object then compares no map with the kernel's CPUs.
            .env(shown, value)
            .env("RUST_BACKTRACE", "1");
        child.output().map_err(|why| why.to_string())
    }
}

/// Adds what a process said; whether it came to its end.
fn gather(said: &str, sums: &mut Sums, found: &Found) -> bool {
    let (mut ended, mut wrong) = (false, String::new());
    for line in said.lines() {
        if line == END {
            ended = true;
        } else if !wrong.is_empty() || line.starts_with(WRONG) {
            wrong += &format!("{line}\n");
            if line.is_empty() {
                let why = wrong.lines().next().unwrap_or_default();
                let why = why.replace(|letter: char| letter.is_ascii_digit(), "");
                found.add(why, &std::mem::take(&mut wrong));
            }
        } else {
            sums.read(line);
        }
    }
    ended
}

/// What was found, by kind; the first of each kind is shown in full.
#[derive(Default)]
pub struct Found(Mutex<Counts>);

impl Found {
    fn add(&self, kind: String, text: &str) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.of(&kind) == 0 {
            println!("{}\n", text.trim_end());
        }
        all.one(&kind);
    }

    /// How many there are of each kind.
    #[must_use]
    pub fn kinds(&self) -> Counts {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}
