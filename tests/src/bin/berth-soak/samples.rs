//! slurmd's memory over the run. A slurmd that was killed begins anew, so the last part of a run spares it, and the
//! figures are those of the slurmd that lived longest.

use std::fmt;
use std::fs;
use std::sync::Mutex;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use berth_tests::process;

use crate::work::Soak;

const EVERY: Duration = Duration::from_secs(5);
/// A series shorter than this shows nothing.
const FEWEST: usize = 20;
/// What one slurmd may gain between the first and the last tenth of its life, in kB, before the run fails.
const MOST_GROWN: u64 = 4096;
/// Lines of the printed series.
const SHOWN: usize = 20;

#[derive(Clone, Copy)]
struct Sample {
    steps: u64,
    pid: i32,
    rss: u64,
    anonymous: u64,
}

/// What was seen.
#[derive(Default)]
pub struct Samples(Mutex<Vec<Sample>>);

/// Until the workers are done.
pub fn run(soak: &Soak) {
    let mut next = Instant::now();
    while !soak.done.load(Ordering::Relaxed) {
        if Instant::now() >= next {
            if let (Some(sample), Ok(mut all)) = (now(soak), soak.samples.0.lock()) {
                all.push(sample);
            }
            next = Instant::now() + EVERY;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn now(soak: &Soak) -> Option<Sample> {
    let run = fs::read_dir(soak.cluster.folder().join("run")).ok()?;
    let file = run.flatten().map(|entry| entry.path()).find(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("slurmd-") && name.ends_with(".pid")
    })?;
    let pid = fs::read_to_string(file).ok()?.trim().parse().ok()?;
    let kb = |field: &str| {
        let text = process::status(pid, field)?;
        text.split_whitespace().next()?.parse().ok()
    };
    Some(Sample {
        steps: soak.counts.steps.load(Ordering::Relaxed),
        pid,
        rss: kb("VmRSS")?,
        anonymous: kb("RssAnon")?,
    })
}

/// The slurmd that lived longest.
pub struct Longest(Vec<Sample>);

impl Samples {
    pub fn longest(&self) -> Longest {
        let all = self.0.lock().map(|all| all.clone()).unwrap_or_default();
        let lives = all.chunk_by(|a, b| a.pid == b.pid);
        Longest(
            lives
                .max_by_key(|life| life.len())
                .unwrap_or_default()
                .to_vec(),
        )
    }
}

impl Longest {
    /// What it gained, in kB, from the first tenth of its life to the last; none if its life was short.
    pub fn grown(&self) -> Option<(u64, u64)> {
        let part = self.0.len() / 10;
        if self.0.len() < FEWEST {
            return None;
        }
        let middle = |samples: &[Sample]| {
            let mut all: Vec<_> = samples.iter().map(|sample| sample.rss).collect();
            all.sort_unstable();
            all.get(all.len() / 2).copied()
        };
        let (first, last) = (self.0.get(..part)?, self.0.get(self.0.len() - part..)?);
        Some((middle(first)?, middle(last)?))
    }

    /// A text about memory that was not given back.
    pub fn leak(&self) -> Option<String> {
        let (first, last) = self.grown()?;
        (last > first + MOST_GROWN).then(|| format!("slurmd grew from {first} to {last} kB"))
    }
}

impl fmt::Display for Longest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Some(from), Some(to)) = (self.0.first(), self.0.last()) else {
            return write!(f, "slurmd's memory was not seen");
        };
        writeln!(
            f,
            "memory of the slurmd that lived longest, from step {} to step {}: steps, RSS, anonymous (kB)",
            from.steps, to.steps
        )?;
        let stride = self.0.len().div_ceil(SHOWN).max(1);
        for sample in self.0.iter().step_by(stride) {
            writeln!(
                f,
                "  {:>8} {:>7} {:>7}",
                sample.steps, sample.rss, sample.anonymous
            )?;
        }
        match self.grown() {
            Some((first, last)) => write!(f, "first tenth {first} kB, last tenth {last} kB"),
            None => write!(f, "too short a life for first and last tenths"),
        }
    }
}
