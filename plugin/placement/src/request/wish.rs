//! The one wish of a request: the option that decides about its CPUs. Pure.
//!
//! Options can name several; only this file decides which one counts.

use std::fmt;

use crate::request::Request;
use crate::request::cpu_bind::{Level, Mode};
use crate::request::grid_engine::{Binding, Share, Strategy};
use crate::request::mapping::Mapping;
use crate::request::near::Near;

/// The one wish that decides about a step's CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish<'a> {
    /// `--cpu-bind=none`: nothing is bound beyond the allocation.
    Unbound,
    /// Nothing is requested: the level that fits exactly, else the site's default.
    Automatic,
    /// A level, requested or derived by srun.
    Level(Level),
    /// A list of CPUs, masks or memory domains, or `rank`.
    List(&'a Mode),
    /// Grid Engine's core binding.
    GridEngine(&'a Binding),
    /// Cores next to devices.
    Near(&'a Near),
    /// Open MPI's mapping.
    Mapped(&'a Mapping),
    /// `--binding=auto`: an even share for each task.
    Share(&'a Binding, Share),
}

/// Two wishes that both choose the CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contradiction<'a> {
    /// The one.
    pub one: Wish<'a>,
    /// The other.
    pub other: Wish<'a>,
}

/// A wish as its options are typed.
impl fmt::Display for Wish<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unbound => f.write_str("--cpu-bind=none"),
            Self::Automatic => Ok(()),
            Self::Level(level) => write!(f, "--cpu-bind={level}"),
            Self::List(list) => write!(f, "--cpu-bind={list}"),
            Self::GridEngine(binding) | Self::Share(binding, _) => write!(f, "--binding={binding}"),
            Self::Mapped(mapping) => mapping.fmt(f),
            Self::Near(near) => write!(f, "--near={near}"),
        }
    }
}

impl<'a> Wish<'a> {
    /// Whether only berth knows such a wish. It has no answer of task/affinity's to keep to, so the
    /// tree counts under either `compat`.
    #[must_use]
    pub fn is_only_berths(&self) -> bool {
        matches!(self, Self::Share(..) | Self::Near(_) | Self::Mapped(_))
    }

    fn of_binding(binding: &'a Binding) -> Self {
        match binding.strategy {
            Strategy::Auto(share) => Self::Share(binding, share),
            _ => Self::GridEngine(binding),
        }
    }

    /// `--cpu-bind=none` overrides all others: mpirun starts its daemons with it, in steps that
    /// inherit the job's `--binding`. A wish of berth's own options overrides a level; two of them
    /// contradict each other, and so do one of them and a list. A `--near` beside `--binding=auto`, or
    /// beside a mapping by slot or core, narrows it.
    ///
    /// # Errors
    /// [`Contradiction`]
    pub fn of(request: &'a Request) -> Result<Self, Contradiction<'a>> {
        let binding = request.binding.as_ref();
        let binding = binding.filter(|binding| binding.strategy != Strategy::None);
        let mapping = request.mapping.as_ref();
        let near = request.near.as_ref().filter(|near| near.asks());
        // It narrows the cores of a share, and of a mapping that names no larger objects.
        let is_share = |binding: &Binding| matches!(binding.strategy, Strategy::Auto(_));
        let narrows = mapping.is_some_and(Mapping::is_by_cpu) || binding.is_some_and(is_share);
        if request.cpu_bind.mode == Some(Mode::Free) {
            return Ok(Self::Unbound);
        }
        let chosen = [
            binding.map(Self::of_binding),
            mapping.map(Self::Mapped),
            near.filter(|_| !narrows).map(Self::Near),
            request.cpu_bind.mode.as_ref().map(Self::List),
        ];
        let mut chosen = chosen.into_iter().flatten();
        match (chosen.next(), chosen.next()) {
            (Some(one), Some(other)) => Err(Contradiction { one, other }),
            (Some(only), None) => Ok(only),
            (None, _) => Ok(match request.cpu_bind.level {
                Some(level) => Self::Level(level),
                None => Self::Automatic,
            }),
        }
    }
}
