//! The words of the command line.

use std::path::PathBuf;
use std::time::Duration;

pub const USAGE: &str = "usage: berth-soak [--steps N] [--seed N] [--workers N] [--kill-every MILLISECONDS] \
     [--daemons PERCENT] [--upgrades OBJECT] [--hotplug SECONDS] [--table FILE] \
     [--machine SYNTHETIC | --confine cgroup]";

/// Milliseconds between two kills, on average.
const KILL_EVERY: u64 = 300;
/// The most slurmds, slurmctlds and upgrades of a hundred kills each: some are left for slurmstepds.
const MOST_DAEMONS: u32 = 10;

pub struct Options {
    pub steps: u64,
    pub seed: u64,
    /// Steps at a time; by itself what fits the machine.
    pub workers: Option<usize>,
    pub kill_every: u64,
    /// Of a hundred kills those of slurmd, and as many of slurmctld; by itself few of slurmd alone.
    pub daemons: Option<u32>,
    /// Another build of the object, which replaces the first one on disk now and then, and the reverse.
    pub upgrades: Option<PathBuf>,
    /// How often CPUs go off and on.
    pub hotplug: Option<Duration>,
    /// A file that gets one line about this run.
    pub table: Option<PathBuf>,
    pub machine: Option<String>,
    pub confines: bool,
}

/// What was asked; none if it cannot be read.
pub fn read(words: &[String]) -> Option<Options> {
    let mut options = Options {
        steps: 20_000,
        seed: 1,
        workers: None,
        kill_every: KILL_EVERY,
        daemons: None,
        upgrades: None,
        hotplug: None,
        table: None,
        machine: None,
        confines: false,
    };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let value = words.next()?;
        let number = || value.parse::<u64>().ok();
        match word.as_str() {
            "--steps" => options.steps = number()?,
            "--seed" => options.seed = number()?,
            "--workers" => {
                let some = number().filter(|some| (1..=256).contains(some))?;
                options.workers = usize::try_from(some).ok();
            }
            "--kill-every" => options.kill_every = number().filter(|some| *some >= 10)?,
            "--daemons" => {
                let some = value.parse().ok();
                options.daemons = Some(some.filter(|some| *some <= MOST_DAEMONS)?);
            }
            "--upgrades" => options.upgrades = Some(value.into()),
            "--hotplug" => {
                let seconds = number().filter(|some| *some > 0)?;
                options.hotplug = Some(Duration::from_secs(seconds));
            }
            "--table" => options.table = Some(value.into()),
            "--machine" => options.machine = Some(value.clone()),
            "--confine" if value == "cgroup" => options.confines = true,
            _ => return None,
        }
    }
    // A pretended machine has no cgroups of its CPUs, and none that could go off.
    let is_real = options.confines || options.hotplug.is_some();
    (options.machine.is_none() || !is_real).then_some(options)
}
