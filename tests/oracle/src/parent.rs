//! Shares requests out to processes of one class and one site's settings each, several at a time, and gathers what
//! they found. Over a request that kills its process the run goes on.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::counts::Counts;
use crate::machine::{Class, Machine};
use crate::part::{END, Part, Progress, WRONG, Whose};
use crate::random::Random;
use crate::sums::Sums;
use crate::tree::xml;

/// Lines of what a process said when it died.
const MOST_LINES: usize = 40;
/// After so many that are wrong the run ends.
const ENOUGH: u64 = 500;

/// What the processes need.
pub struct Runner<'a> {
    /// Our object.
    pub object: PathBuf,
    /// Our command, which finds the machine.
    pub command: PathBuf,
    /// For progress files and our object's state.
    pub folder: PathBuf,
    /// Processes at a time.
    pub jobs: usize,
    /// A request of a part in words, by its number.
    pub show: &'a (dyn Fn(&Part, u64) -> String + Sync),
    /// What was wrong.
    pub found: Found,
}

impl Runner<'_> {
    /// Runs the parts.
    ///
    /// # Errors
    /// A process that cannot be started, or that ends without its sums and without a crash.
    pub fn run(&self, parts: &[Part]) -> Result<Sums, String> {
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
                        println!("{ENOUGH} that are wrong are enough; the rest is left out");
                    }
                    (all, Err(why)) => *all = Err(why),
                    (Err(_), Ok(_)) => {}
                }
                next.store(parts.len(), Ordering::Relaxed);
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..self.jobs.max(1) {
                scope.spawn(work);
            }
        });
        sums.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// One part, going on behind each request over which a process died.
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
            let (number, whose) = Progress::read(&progress).ok_or_else(|| {
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
            self.died(part, (number, whose), &output);
            rest.count -= sent;
            rest.first += sent;
        }
        // A folder that stays goes with the whole.
        let _ = fs::remove_dir_all(&folder);
        Ok(sums)
    }

    fn died(&self, part: &Part, (number, whose): (u64, Whose), output: &Output) {
        let errors = String::from_utf8_lossy(&output.stderr);
        let lines: Vec<_> = errors.lines().filter(|line| !line.is_empty()).collect();
        let said = lines[..lines.len().min(MOST_LINES)].join("\n  ");
        // Of a backtrace what is ours; without one how it ended must do.
        let ours = lines
            .iter()
            .filter(|line| line.contains("berth_pl") || line.contains("task_b"));
        let ours: Vec<_> = ours.take(2).map(|line| line.trim()).collect();
        let status = output.status;
        let (replay, request) = (part.replay(number), (self.show)(part, number));
        self.found.add(
            format!("its process died in {whose}'s hook: {status} {}", ours.join(" ")),
            &format!(
                "{WRONG}its process died in {whose}'s hook: {status}\n  {said}\n{request}\n  again with: \
                 {replay}\n"
            ),
        );
    }

    fn process(&self, part: &Part, folder: &Path, progress: &Path) -> Result<Output, String> {
        let machine = Machine::any(part.class, &mut Random::new(0));
        let (shown, value) = show(&machine, folder)?;
        let myself = std::env::current_exe().map_err(|why| why.to_string())?;
        let mut child = Command::new(myself);
        child
            .args(["--class", &part.class.to_string()])
            .args(["--settings", &part.settings.to_string()])
            .args(["--seed", &part.seed.to_string()])
            .args(["--first", &part.first.to_string()])
            .args(["--count", &part.count.to_string()])
            .arg("--progress")
            .arg(progress)
            .arg("--state")
            .arg(folder)
            .arg("--object")
            .arg(&self.object)
            .arg("--command")
            .arg(&self.command)
            // Our object then compares no map with the kernel's CPUs.
            .env(shown, value)
            .env("RUST_BACKTRACE", "1");
        child.output().map_err(|why| why.to_string())
    }
}

/// The command by which our object finds the machine of a class; none where it is to find none.
#[must_use]
pub fn finder(class: Class, command: &Path) -> PathBuf {
    match class {
        Class::Threads | Class::Cores => "/nonexistent".into(),
        _ => command.to_owned(),
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

    /// Prints the number of each kind.
    pub fn print(&self) {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (kind, count) in all.under("") {
            println!("  {count} times: {kind}");
        }
    }
}

/// The variable by which hwloc shows a machine, and its value.
///
/// # Errors
/// A file that cannot be written.
pub fn show(machine: &Machine, folder: &Path) -> Result<(&'static str, OsString), String> {
    if machine.tree.is_empty() {
        return Ok(("HWLOC_SYNTHETIC", machine.synthetic().into()));
    }
    let file = folder.join("machine.xml");
    fs::write(&file, xml(machine)).map_err(|why| why.to_string())?;
    Ok(("HWLOC_XMLFILE", file.into()))
}
