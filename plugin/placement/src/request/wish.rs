//! The one wish of a request: the option that decides about its CPUs. Pure.
//!
//! Options can name several; only this file decides which one counts.

use crate::request::Request;
use crate::request::cpu_bind::{Level, Mode};
use crate::request::grid_engine::{Binding, Strategy};

/// What decides about a step's CPUs.
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
}

/// Two wishes that both choose the CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contradiction<'a> {
    /// `--binding`.
    pub binding: &'a Binding,
    /// `--cpu-bind` with a list.
    pub list: &'a Mode,
}

impl<'a> Wish<'a> {
    /// `--cpu-bind=none` overrides all others: mpirun starts its daemons with it, in steps that
    /// inherit the job's `--binding`. A `--binding` overrides a level; a list beside one
    /// contradicts it.
    ///
    /// # Errors
    /// [`Contradiction`]
    pub fn of(request: &'a Request) -> Result<Self, Contradiction<'a>> {
        let binding = request.binding.as_ref();
        let binding = binding.filter(|binding| binding.strategy != Strategy::None);
        match (request.cpu_bind.mode.as_ref(), binding) {
            (Some(Mode::Free), _) => Ok(Self::Unbound),
            (Some(list), Some(binding)) => Err(Contradiction { binding, list }),
            (Some(list), None) => Ok(Self::List(list)),
            (None, Some(binding)) => Ok(Self::GridEngine(binding)),
            (None, None) => Ok(match request.cpu_bind.level {
                Some(level) => Self::Level(level),
                None => Self::Automatic,
            }),
        }
    }
}
