//! Shares requests out to processes of one class each, and gathers what they found.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use slurm_sys::Layout;

use crate::child::{Chunk, END, OURS};
use crate::counts::Counts;
use crate::machine::{Class, Machine};
use crate::random::Random;
use crate::tree::xml;

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
    /// As in [`Chunk`].
    pub by_fix: bool,
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
    /// for machines that our object discovers.
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
                    by_fix: self.by_fix,
                });
                next += size;
                count -= size;
            }
        };
        share(threads, self.chunk, &|_| Class::Threads);
        share(cores, self.chunk, &|_| Class::Cores);
        let machine = |first| Random::new(self.seed ^ first).number();
        if self.by_fix {
            let each = ldoms / 4;
            let most = 3 * PER_MACHINE;
            share(each, most, &|first| Class::Uneven(machine(first)));
            share(each, most, &|first| Class::Holes(machine(first)));
            share(each, most, &|first| Class::Irregular(machine(first)));
            share(ldoms - 3 * each, most, &|first| {
                Class::Ldoms(machine(first))
            });
        } else {
            let each = ldoms / 2;
            share(each, PER_MACHINE, &|first| Class::Irregular(machine(first)));
            share(ldoms - each, PER_MACHINE, &|first| {
                Class::Ldoms(machine(first))
            });
        }
        chunks
    }
}

impl Runner {
    /// Runs a chunk, going on behind each request over which a process died.
    ///
    /// # Errors
    /// A process that cannot be started, or that ends without its tally and without a crash.
    pub fn run(&self, chunk: &Chunk) -> Result<Counts, String> {
        let mut sum = Counts::default();
        let mut rest = Chunk { ..*chunk };
        while rest.count > 0 {
            let progress = self.folder.join("progress");
            fs::write(&progress, []).map_err(|why| why.to_string())?;
            let (found, died) = self.once(&rest, &progress)?;
            sum.add(&found);
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
            let case = chunk.case(number, self.layout);
            println!("differ: {whose} {how}\n{case}\n");
            sum.one("differ");
            rest.count -= number + 1 - rest.first;
            rest.first = number + 1;
        }
        Ok(sum)
    }

    /// One process: its tally, or how it died.
    fn once(&self, chunk: &Chunk, progress: &Path) -> Result<(Counts, Option<String>), String> {
        let machine = Machine::any(chunk.class, &mut Random::new(0));
        let command = match chunk.class {
            Class::Threads | Class::Cores => Path::new("/nonexistent"),
            _ => self.command.as_path(),
        };
        let (shown, value) = show(&machine, &self.folder)?;
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
            .env(shown, value)
            .stderr(Stdio::inherit());
        if chunk.by_fix {
            child.arg("--by-fix");
        }
        let output = child.output().map_err(|why| why.to_string())?;
        let said = String::from_utf8_lossy(&output.stdout);
        let (mut counts, mut ended) = (Counts::default(), false);
        for line in said.lines() {
            match line {
                END => ended = true,
                _ if counts.read(line) => {}
                _ => println!("{line}"),
            }
        }
        Ok((counts, (!ended).then(|| output.status.to_string())))
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
