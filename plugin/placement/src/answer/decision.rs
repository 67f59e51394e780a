//! The decision behind a plan: the rule that decided, what was tried before, what the step owns.
//! Logs, explanations and shadow put it into words, and derive nothing a second time. Pure data.

use std::fmt;

use crate::owned::{Counts, Reserved};
use crate::request::cpu_bind::{Level, ObjectKind};
use crate::request::distribution::Order;
use crate::request::grid_engine::Binding;
use crate::request::mapping::{Mapping, RankBy, Target, level_word};
use crate::request::near::Near;

/// The decision behind a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The rule that decided.
    pub rule: Rule,
    /// Levels that automatic binding tried before, and whose objects did not fit exactly.
    pub tried: Vec<Level>,
    /// The CPUs that all tasks together request.
    pub wanted: u64,
    /// The `-c` that was served.
    pub cpus_per_task: u32,
    /// The objects that the step owns whole and in part.
    pub owned: Counts,
    /// The CPUs of a task that is bound to all of the step's CPUs.
    pub own: crate::CpuSet,
    /// How much of what Slurm granted the site keeps free.
    pub reserved: Reserved,
}

/// The rule that decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rule {
    /// `--cpu-bind=none`; on a part of a node the mask is all of the step's CPUs.
    Unbound {
        /// The step owns the whole node.
        whole: bool,
    },
    /// The user named the CPUs, or chose `rank`.
    Asked(&'static str),
    /// Tasks are placed on objects of a level.
    Level {
        /// The level bound to.
        level: Level,
        /// Order over sockets.
        order: Order,
        /// Who chose the level.
        from: LevelFrom,
    },
    /// No level fits the step's CPUs exactly: every task may use all of them.
    NoMatch,
    /// More is requested than exists, with `--overcommit`: every task may use all of the CPUs.
    Overcommit,
    /// The step's cgroup has fewer CPUs than Slurm granted and the tasks need: every task may use all
    /// of them.
    CgroupTooSmall,
    /// The site keeps some of the CPUs free that Slurm granted, and the tasks need more than the
    /// others: every task may use all of these.
    TooManyReserved,
    /// Grid Engine's core binding.
    Binding(Binding),
    /// `--binding=auto`: an even share for each task.
    Share(Binding, SharedOut),
    /// A cpuset could not be had, and the site lets the step run without it.
    CpusetFailed,
    /// A `--binding` could not be served.
    BindingFailed,
    /// Cores next to devices.
    Near(Near),
    /// Open MPI's mapping.
    Mapped(Mapped),
    /// Another rule, among the cores next to each task's devices alone.
    Narrowed(Near, Box<Rule>),
    /// A batch script gets all CPUs of its allocation.
    Batch,
}

/// A mapping with what its options leave open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapped {
    /// The options.
    pub requested: Mapping,
    /// The objects on which tasks are placed.
    pub target: Target,
    /// CPUs of each task.
    pub each: u32,
    /// Whether a CPU is a hardware thread, and not a core.
    pub threads: bool,
    /// The order of tasks.
    pub rank: RankBy,
    /// The objects to which tasks are bound; `None` is nothing.
    pub bind: Option<ObjectKind>,
}

impl fmt::Display for Mapped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "map:{}", self.target)?;
        if self.each > 1 {
            write!(f, ":pe={}", self.each)?;
        }
        f.write_str(if self.threads { ":hwtcpus" } else { "" })?;
        let bind = self.bind.map_or("none", level_word);
        write!(f, ",rank:{},bind:{bind}", self.rank)
    }
}

/// The cores that `--binding=auto` divided among the tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedOut {
    /// The unit that no two tasks share.
    pub unit: Unit,
    /// Cores.
    pub cores: u32,
    /// Their hardware threads that may be used.
    pub threads: u32,
    /// Cores beside those that are left to jobs of pools.
    pub left_out: u32,
}

impl SharedOut {
    /// The sum of the parts of two groups of tasks.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self {
            unit: self.unit.max(other.unit),
            cores: self.cores + other.cores,
            threads: self.threads + other.threads,
            left_out: self.left_out + other.left_out,
        }
    }
}

/// The unit that no two tasks share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unit {
    /// Each core has one task.
    Cores,
    /// Each hardware thread has one task.
    Threads,
    /// Nothing: tasks run by turns.
    Time,
}

/// Who chose a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LevelFrom {
    /// The user, or a default of job, node or partition.
    Asked,
    /// Tasks × CPUs fill whole objects of it exactly.
    Exact,
    /// `TaskPluginParam=autobind=`.
    Site,
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f)
    }
}

impl Rule {
    /// Writes it as [`fmt::Display`] does.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write(&self, out: &mut impl fmt::Write) -> fmt::Result {
        match self {
            Self::Unbound { whole: true } => out.write_str("none"),
            Self::Unbound { whole: false } => out.write_str("none:own-cpus"),
            Self::Asked(word) => out.write_str(word),
            Self::Level { level, order, from } => {
                let by = match from {
                    LevelFrom::Asked => "",
                    LevelFrom::Exact => "auto:",
                    LevelFrom::Site => "autobind:",
                };
                let words = [by, level.word(), ":", order.word()];
                words.into_iter().try_for_each(|word| out.write_str(word))
            }
            Self::NoMatch => out.write_str("auto:own-cpus"),
            Self::Overcommit => out.write_str("overcommit:own-cpus"),
            Self::CgroupTooSmall => out.write_str("cgroup-too-small:own-cpus"),
            Self::TooManyReserved => out.write_str("too-many-reserved:own-cpus"),
            Self::Binding(binding) | Self::Share(binding, _) => write!(out, "binding:{binding}"),
            Self::CpusetFailed => out.write_str("cpuset-failed:own-cpus"),
            Self::BindingFailed => out.write_str("binding-failed:own-cpus"),
            Self::Mapped(mapped) => write!(out, "{mapped}"),
            Self::Near(near) => write!(out, "near:{near}"),
            Self::Narrowed(near, rule) => {
                write!(out, "near:{near},")?;
                rule.write(out)
            }
            Self::Batch => out.write_str("batch:own-cpus"),
        }
    }
}
