//! Shares requests out to processes of one class each, and gathers what they found.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use slurm_sys::Layout;

use crate::child::{Chunk, OURS, Tally};
use crate::generate::case;
use crate::machine::{Class, Machine};
use crate::random::Random;

/// Requests on one machine whose memory domains are asked for.
const PER_MACHINE: u64 = 50;

/// Which requests, and how many a process.
pub struct Plan {
    /// All together.
    pub requests: u64,
    /// From which all of them come.
    pub seed: u64,
    /// At most so many a process.
    pub chunk: u64,
}

/// What the processes need.
pub struct Runner {
    /// Our object.
    pub object: PathBuf,
    /// Our command, which finds memory domains.
    pub command: PathBuf,
    /// The tables of the running release, to print a request that crashed.
    pub layout: &'static Layout,
    /// For progress files and our object's state.
    pub folder: PathBuf,
}

impl Plan {
    /// The chunks: seven of ten requests where CPUs are threads, two where they are cores, one
    /// for memory domains.
    #[must_use]
    pub fn chunks(&self) -> Vec<Chunk> {
        let (cores, ldoms) = (self.requests / 5, self.requests / 10);
        let threads = self.requests - cores - ldoms;
        let mut chunks = Vec::new();
        let mut next = 0;
        let mut share = |mut count: u64, most: u64, class: &dyn Fn(u64) -> Class| {
            while count > 0 {
                let size = count.min(most.max(1));
                chunks.push(Chunk {
                    class: class(next),
                    seed: self.seed,
                    first: next,
                    count: size,
                });
                next += size;
                count -= size;
            }
        };
        share(threads, self.chunk, &|_| Class::Threads);
        share(cores, self.chunk, &|_| Class::Cores);
        share(ldoms, PER_MACHINE, &|first| {
            Class::Ldoms(Random::new(self.seed ^ first).number())
        });
        chunks
    }
}

impl Runner {
    /// Runs a chunk, going on behind each request over which a process died.
    ///
    /// # Errors
    /// A process that cannot be started, or that ends without its tally and without a crash.
    pub fn run(&self, chunk: &Chunk) -> Result<Tally, String> {
        let mut sum = Tally::default();
        let mut rest = Chunk { ..*chunk };
        while rest.count > 0 {
            let progress = self.folder.join("progress");
            fs::write(&progress, []).map_err(|why| why.to_string())?;
            let (found, died) = self.once(&rest, &progress)?;
            sum.add(found);
            let Some(how) = died else {
                break;
            };
            let note = fs::read(&progress).map_err(|why| why.to_string())?;
            let [number @ .., whose] = note.as_slice() else {
                return Err(format!(
                    "the comparing process ended before it began: {how}"
                ));
            };
            let number = number.try_into().map_or(rest.first, u64::from_le_bytes);
            let whose = if *whose == OURS {
                "task/berth"
            } else {
                "task/affinity"
            };
            let case = case(chunk.seed_of(number), chunk.class, self.layout);
            println!("differ: {whose} {how}\n{case}\n");
            sum.differ += 1;
            rest.count -= number + 1 - rest.first;
            rest.first = number + 1;
        }
        Ok(sum)
    }

    /// One process: its tally, or how it died.
    fn once(&self, chunk: &Chunk, progress: &Path) -> Result<(Tally, Option<String>), String> {
        let ldoms = matches!(chunk.class, Class::Ldoms(_));
        let machine = Machine::any(chunk.class, &mut Random::new(0));
        let command = if ldoms {
            self.command.as_path()
        } else {
            Path::new("/nonexistent")
        };
        let myself = std::env::current_exe().map_err(|why| why.to_string())?;
        let mut child = Command::new(myself);
        child
            .args(["--class", &chunk.class.to_string()])
            .args(["--seed", &chunk.seed.to_string()])
            .args(["--first", &chunk.first.to_string()])
            .args(["--requests", &chunk.count.to_string()])
            .arg("--progress")
            .arg(progress)
            .arg("--state")
            .arg(&self.folder)
            .arg("--object")
            .arg(&self.object)
            .arg("--command")
            .arg(command)
            // Our object then compares no map with the kernel's CPUs.
            .env("HWLOC_SYNTHETIC", machine.synthetic())
            .stderr(Stdio::inherit());
        let output = child.output().map_err(|why| why.to_string())?;
        let said = String::from_utf8_lossy(&output.stdout);
        let mut tally = None;
        for line in said.lines() {
            match line.strip_prefix("tally ").and_then(Tally::read) {
                Some(found) => tally = Some(found),
                None => println!("{line}"),
            }
        }
        match tally {
            Some(tally) => Ok((tally, None)),
            None => Ok((Tally::default(), Some(output.status.to_string()))),
        }
    }
}

impl Tally {
    fn read(text: &str) -> Option<Self> {
        let numbers: Vec<u64> = text
            .split(' ')
            .filter_map(|word| word.parse().ok())
            .collect();
        let [same, refused, known, differ] = numbers.try_into().ok()?;
        Some(Self {
            same,
            refused,
            known,
            differ,
        })
    }

    /// Adds another's.
    pub fn add(&mut self, other: Self) {
        self.same += other.same;
        self.refused += other.refused;
        self.known += other.known;
        self.differ += other.differ;
    }
}
