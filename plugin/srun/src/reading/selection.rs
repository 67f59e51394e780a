//! A line's options as slurmctld's model takes them: the values that were given, and what a hint makes of them.
//! In: a line of srun, salloc or sbatch, and a release. Out: [`Selection`], or the reason why the
//! command refuses a value. What the options mean together is the model's own work
//! (`berth_placement::controller::select`).

use berth_placement::controller::select::{Client, LineOptions, Memory, Sharing};

use crate::line::{Line, LineOption};
use crate::number;
use crate::options::{Command, Effect, effect};
use crate::reading::gpu_counts::GpuCounts;
use crate::reading::state::{State, count, from_state, is_off, names};
use crate::reading::{Refused, verify};
use crate::release::Release;

/// Whether an option changes which CPUs a task gets, or whether the model knows nothing of it.
#[must_use]
pub fn concerns(name: &str) -> bool {
    !matches!(effect(name), Effect::Nothing | Effect::Nodes)
}

/// Whether slurmctld may choose other nodes for an option, or for a resource of `--gres` that is no GPU also other
/// cores.
#[must_use]
pub fn chooses_nodes(name: &str, value: &str) -> bool {
    match name {
        "gres" => !value.split(',').all(is_gpu),
        name => effect(name) == Effect::Nodes,
    }
}

/// A line's request to slurmctld.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// The options that the model has.
    pub options: LineOptions,
    /// `-p`, as it is written: one name, or several with commas between.
    pub partition: Option<String>,
    /// Options, as `--relative`, that would change the answer and that the model does not have.
    pub unmodelled: Vec<String>,
    /// Its GPUs.
    pub gpus: GpuCounts,
}

impl Selection {
    /// A job's line: its GPUs may imply tasks and nodes.
    ///
    /// # Errors
    /// A request that its command refuses for a job.
    pub fn of_job(mut self, release: Release) -> Result<Self, Refused> {
        self.gpus.take(&mut self.options, release)?;
        Ok(self)
    }
}

/// The model's name of a command.
#[must_use]
pub fn client(command: Command) -> Client {
    match command {
        Command::Srun => Client::Srun,
        Command::Sbatch => Client::Sbatch,
        Command::Salloc => Client::Salloc,
    }
}

/// Reads a line.
///
/// ```
/// use berth_srun::{Release, line, options::Command, reading::selection};
///
/// let line = line::read(&["-n4", "-N2-3", "--exclusive", "-Flist"], Command::Salloc, None);
/// let found = selection::read(&line, Release::V22_05).unwrap();
/// assert_eq!(found.options.tasks, Some(4));
/// assert_eq!(found.unmodelled, ["--nodefile"]);
/// ```
///
/// # Errors
/// A value that the command refuses, or two options that it does not take together.
pub fn read(line: &Line, release: Release) -> Result<Selection, Refused> {
    let mut state = State::new(release);
    let mut found = Selection {
        gpus: GpuCounts::of(&line.options),
        ..Selection::default()
    };
    if line.more {
        found.unmodelled.push("several components (:)".into());
    }
    for option in &line.options {
        state.set(option)?;
        if !is_off(option) {
            take(&mut found, option)?;
        }
    }
    verify::derive(&mut state)?;
    if state.list_is_file() {
        found.unmodelled.push("--nodelist with a file".into());
    }
    from_state(&mut found.options, &state)?;
    found.unmodelled.sort_unstable();
    found.unmodelled.dedup();
    Ok(found)
}

/// Options that only slurmctld reads, and those whose order counts.
fn take(found: &mut Selection, option: &LineOption) -> Result<(), Refused> {
    let options = &mut found.options;
    let text = option.text();
    match option.name.as_str() {
        "use-min-nodes" => options.use_min_nodes = true,
        "contiguous" => options.contiguous = true,
        "spread-job" => options.spread = true,
        "mincpus" => options.min_cpus = Some(count(option, 1)?),
        "exclude" => options.excluded_names = names("exclude", text)?,
        "mem" => options.memory = Some(Memory::PerNode(megabytes(option)?)),
        "mem-per-cpu" => options.memory = Some(Memory::PerCpu(megabytes(option)?)),
        "oversubscribe" => options.sharing = Sharing::Oversubscribe,
        "exclusive" => match text.to_ascii_lowercase().as_str() {
            "user" => options.sharing = Sharing::ExclusiveUser,
            "mcs" => options.sharing = Sharing::ExclusiveMcs,
            "oversubscribe" => options.sharing = Sharing::Oversubscribe,
            "" | "exclusive" => options.sharing = Sharing::Exclusive,
            other => found.unmodelled.push(format!("--exclusive={other}")),
        },
        "partition" => found.partition = Some(text.into()),
        name if effect(name) == Effect::Unmodelled => found.unmodelled.push(format!("--{name}")),
        _ => {}
    }
    Ok(())
}

/// Whether a part of `--gres` asks for GPUs.
fn is_gpu(part: &str) -> bool {
    let name = part.trim_start_matches("gres:");
    let name = name.trim_start_matches("gres/");
    let name = name.split([':', '=']).next().unwrap_or_default();
    ["gpu", "none", ""].contains(&name)
}

fn megabytes(option: &LineOption) -> Result<u64, Refused> {
    let text = option.text();
    number::megabytes(text)
        .ok_or_else(|| Refused::value(&option.name, text, "it takes a size as 400M, 4G or 0"))
}
