//! What the programs that send many requests have in common on their command lines: a run shares its requests out to
//! processes of the same program.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::machine::{Class, Machine};
use crate::parent::{Found, Runner, finder, show};
use crate::part::{Part, Progress};
use crate::random::Random;

/// Nothing to do this with here; automake's number for a test that was not run.
pub const NOT_HERE: u8 = 77;

/// The arguments that both have.
#[derive(Args)]
pub struct Common {
    /// From which the requests are made; the same seed gives the same requests
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
    /// Requests a process
    #[arg(long, value_name = "N")]
    pub chunk: Option<u64>,
    /// Processes at a time [default: one for each CPU]
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
    /// Our object [default: BERTH_OBJECT, else the release build's]
    #[arg(long, value_name = "FILE")]
    object: Option<PathBuf>,
    /// Our command, for memory domains [default: BERTH_COMMAND, else the release build's]
    #[arg(long, value_name = "FILE")]
    command: Option<PathBuf>,
    /// Send one request and show it, by the seed, class and settings that were printed with it
    #[arg(long, value_name = "SEED")]
    pub replay: Option<u64>,
    /// threads, cores, ldoms:SEED, uneven:SEED, holes:SEED or irregular:SEED
    #[arg(long, value_parser = Class::read)]
    class: Option<Class>,
    /// Number of the settings
    #[arg(long, value_name = "N", default_value_t = 0)]
    settings: usize,
    // The part of a process that sends.
    #[arg(long, hide = true, default_value_t = 0)]
    first: u64,
    #[arg(long, hide = true, default_value_t = 0)]
    count: u64,
    #[arg(long, hide = true, requires_all = ["class", "state", "seed"])]
    progress: Option<PathBuf>,
    #[arg(long, hide = true)]
    state: Option<PathBuf>,
}

/// What a process that calls hooks loads, and where it leaves what these write.
pub struct Files {
    /// The folder of Slurm's library and plugins.
    pub plugins: PathBuf,
    /// Our object.
    pub object: PathBuf,
    /// Our command, by which the object finds the machine.
    pub command: PathBuf,
    /// The folder of the object's state.
    pub state: PathBuf,
}

impl Files {
    /// Slurm's log.
    pub(crate) fn log(&self) -> PathBuf {
        self.state.join("log")
    }
}

impl Common {
    /// The part of this process, or a whole run, from this seed where none is given.
    #[must_use]
    pub fn part(&self, seed: u64) -> Part {
        Part {
            class: self.class(),
            settings: self.settings,
            seed: self.seed.unwrap_or(seed),
            first: self.first,
            count: self.count,
        }
    }

    fn class(&self) -> Class {
        self.class.unwrap_or(Class::Threads)
    }

    /// The files of a process.
    #[must_use]
    pub fn files(&self, plugins: &Path, state: &Path) -> Files {
        Files {
            plugins: plugins.to_owned(),
            object: self.object(),
            command: finder(self.class(), &self.command()),
            state: state.to_owned(),
        }
    }

    fn object(&self) -> PathBuf {
        self.object.clone().unwrap_or_else(berth_tests::object)
    }

    fn command(&self) -> PathBuf {
        self.command.clone().unwrap_or_else(berth_tests::command)
    }

    /// Where this process sends a part: how far it is, and the folder of the object's state.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn sends(&self) -> Result<Option<(Progress, &Path)>, String> {
        let given = self.progress.as_ref().zip(self.state.as_deref());
        let open = |(progress, state): (&PathBuf, _)| Ok((Progress::open(progress)?, state));
        given.map(open).transpose()
    }

    /// Shows hwloc the machine of the one request that is sent by this process.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn pretend(&self, folder: &Path) -> Result<(), String> {
        let machine = Machine::any(self.class(), &mut Random::new(0));
        let (shown, value) = show(&machine, folder)?;
        // SAFETY: no other thread runs yet.
        unsafe { std::env::set_var(shown, value) };
        Ok(())
    }

    /// What runs the parts.
    #[must_use]
    pub fn runner<'a>(
        &self,
        folder: &Path,
        show: &'a (dyn Fn(&Part, u64) -> String + Sync),
    ) -> Runner<'a> {
        let cpus = || std::thread::available_parallelism().map_or(1, usize::from);
        Runner {
            object: self.object(),
            command: self.command(),
            folder: folder.to_owned(),
            jobs: self.jobs.unwrap_or_else(cpus),
            show,
            found: Found::default(),
        }
    }
}
