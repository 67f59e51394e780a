//! `--binding=auto`: an even share of the step's cores for each task.
//! The grammar is in [`crate::request::grid_engine`]. Pure data.

use std::fmt;

/// The words behind `auto`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Share {
    /// `pack`: beside `-c` the tasks' cores lie one after the other, not at the beginning of each
    /// task's share.
    pub pack: bool,
    /// `smt=K`: the hardware threads of each core that the tasks use.
    pub smt: Option<u32>,
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.pack { ":pack" } else { "" })?;
        match self.smt {
            Some(threads) => write!(f, ":smt={threads}"),
            None => Ok(()),
        }
    }
}
