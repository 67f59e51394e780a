//! srun's reading of its options: each one is read in its turn, then some are derived from others,
//! as in `_opt_verify`. In: options in the order in which srun meets them. Out: [`SrunRequest`], or the
//! reason why srun refuses the line.

pub mod gpu_counts;
pub mod per_task;
pub mod selection;
mod state;
#[cfg(test)]
mod tests;
mod verify;

use std::fmt;

use berth_placement::{AcrossHosts, CoreSpec, CpuBind, Distribution, MemBind, TextError};

use crate::line::{LineOption, Trouble};
use crate::release::Release;
use crate::spelling::{Least, LevelBits};

pub use berth_placement::controller::select::NodeRange;

/// The option that chose the level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LevelFrom {
    /// `--cpu-bind`.
    CpuBind,
    /// `-B`, by its number of fields.
    NodeInfo(u8),
    /// `--threads-per-core`.
    ThreadsPerCore,
    /// `--ntasks-per-core`.
    NtasksPerCore,
    /// `--ntasks-per-socket`.
    NtasksPerSocket,
    /// `--hint`.
    Hint,
}

/// srun's reading of a line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SrunRequest {
    /// The release whose rules were used.
    pub release: Release,
    /// The number of tasks, if it is requested or follows from other options.
    pub ntasks: Option<u32>,
    /// Whether `-n` gives it.
    pub ntasks_given: bool,
    /// `-N`.
    pub nodes: Option<NodeRange>,
    /// `-w`.
    pub nodelist: Option<String>,
    /// `-c`; `None` if it is not given.
    pub cpus_per_task: Option<u32>,
    /// CPU binding, with the level that other options choose.
    pub cpu_bind: CpuBind,
    /// Every requested level: a list of hints may request two.
    pub levels: LevelBits,
    /// The option that chose the level.
    pub level_from: Option<LevelFrom>,
    /// `--mem-bind`.
    pub mem_bind: MemBind,
    /// `-m`.
    pub distribution: Option<Distribution>,
    /// Sockets of a node, cores of a socket, threads of a core, each at least.
    pub node: Least,
    /// Whether a `-B` gives them.
    pub by_node_info: bool,
    /// The most hardware threads of a core to use: the third of `node`.
    pub threads_per_core: Option<u32>,
    /// `--ntasks-per-node`.
    pub ntasks_per_node: Option<u32>,
    /// `--ntasks-per-core`; 65535 is no limit.
    pub ntasks_per_core: Option<u32>,
    /// `--ntasks-per-socket`.
    pub ntasks_per_socket: Option<u32>,
    /// `--hint=memory_bound`: the job gets one core of each socket.
    pub one_core_a_socket: bool,
    /// `-O`.
    pub overcommit: bool,
    /// `--exact`, also as a part of `--exclusive`.
    pub exact: bool,
    /// `--whole`.
    pub whole: bool,
    /// `--overlap`.
    pub overlap: bool,
    /// `--exclusive`, with its value.
    pub exclusive: Option<String>,
    /// `-S` or `--thread-spec`.
    pub core_spec: CoreSpec,
    /// The options that srun silently drops or ignores.
    pub notes: Vec<String>,
    /// The number of tasks if none is requested: one for each node.
    default_tasks: u32,
}

impl SrunRequest {
    /// The number of tasks that srun starts, if it does not follow from the allocation.
    #[must_use]
    pub fn tasks(&self) -> u32 {
        self.ntasks.unwrap_or(self.default_tasks)
    }

    /// `--ntasks-per-core`, where it is a limit.
    #[must_use]
    pub fn most_tasks_per_core(&self) -> Option<u32> {
        self.ntasks_per_core
            .filter(|most| *most < u32::from(u16::MAX))
    }

    /// Whether tasks go to nodes as a list says.
    #[must_use]
    pub fn is_arbitrary(&self) -> bool {
        let hosts = self.distribution.map(|requested| requested.hosts);
        hosts == Some(AcrossHosts::Arbitrary)
    }
}

/// Reads a line's options as srun of that release does. Options that do not concern
/// tasks, nodes and CPUs are ignored.
///
/// ```
/// use berth_placement::Level;
/// use berth_srun::reading::read;
/// use berth_srun::{LineOption, Release};
///
/// // A hint chooses the level and the threads of a core.
/// let request = read(&[LineOption::typed("hint", Some("nomultithread".into()))], Release::V22_05).unwrap();
/// assert_eq!((request.cpu_bind.level, request.threads_per_core), (Some(Level::Threads), Some(1)));
///
/// // The tasks follow from 2 sockets of 4 cores of one thread.
/// let line = [LineOption::typed("extra-node-info", Some("2:4:1".into()))];
/// assert_eq!(read(&line, Release::V22_05).unwrap().tasks(), 8);
///
/// let list = [LineOption::typed("cpu-bind", Some("map_cpu:0-3".into()))];
/// assert!(read(&list, Release::V22_05).is_err());
/// ```
///
/// # Errors
/// Why srun refuses the line.
pub fn read<'a>(
    options: impl IntoIterator<Item = &'a LineOption>,
    release: Release,
) -> Result<SrunRequest, Refused> {
    let mut state = state::State::new(release);
    let options = options.into_iter();
    // srun reads variables before its arguments.
    let (variables, typed): (Vec<_>, Vec<_>) = options.partition(|one| one.variable.is_some());
    for option in variables.into_iter().chain(typed) {
        state.set(option)?;
    }
    verify::verify(state)
}

/// A refusal, with the option concerned if there is only one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    option: Option<String>,
    value: Option<String>,
    why: String,
}

impl Refused {
    /// Options that do not go together.
    pub(super) fn together(why: impl Into<String>) -> Self {
        Self {
            option: None,
            value: None,
            why: why.into(),
        }
    }

    /// A value.
    pub(super) fn value(name: &str, value: &str, why: impl Into<String>) -> Self {
        Self {
            option: Some(name.into()),
            value: Some(value.into()),
            why: why.into(),
        }
    }

    pub(super) fn text(name: &str, value: &str, why: &TextError) -> Self {
        Self::value(name, value, why.to_string())
    }

    pub(super) fn trouble(option: &LineOption, trouble: &Trouble) -> Self {
        let why = match trouble {
            Trouble::Unknown => "srun of this release has no such option".into(),
            Trouble::Ambiguous(names) => {
                // `--=x` may mean all of them.
                let some: Vec<_> = names.iter().take(8).copied().collect();
                let more = if names.len() > some.len() {
                    ", …"
                } else {
                    ""
                };
                format!(
                    "it may mean --{}{more}; write the whole name",
                    some.join(" or --")
                )
            }
            Trouble::NoValue => "it needs a value".into(),
            Trouble::UnwantedValue => "it takes no value".into(),
        };
        Self {
            option: Some(option.name.clone()),
            value: None,
            why,
        }
    }

    /// The long name of the option whose value is wrong, with the value.
    #[must_use]
    pub fn wrong_value(&self) -> Option<(&str, &str)> {
        Some((self.option.as_deref()?, self.value.as_deref()?))
    }

    /// The reason alone.
    #[must_use]
    pub fn why(&self) -> &str {
        &self.why
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.option {
            Some(option) if option.chars().count() == 1 => write!(f, "-{option}: {}", self.why),
            Some(option) => write!(f, "--{option}: {}", self.why),
            None => f.write_str(&self.why),
        }
    }
}

impl std::error::Error for Refused {}
