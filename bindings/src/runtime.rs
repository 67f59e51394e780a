//! The running Slurm in one value: release, table, symbols. It is found out once per process.

use crate::layout::{Chosen, Layout, choose};
use crate::line::{UnknownLine, Version};
use crate::running;
use crate::symbols::Symbols;
use std::sync::OnceLock;

/// The Slurm that we run in.
pub struct Slurm {
    /// The release, or the numbers of a Slurm without a table.
    pub version: Result<Version, UnknownLine>,
    /// Its functions and variables.
    pub symbols: &'static Symbols,
    lenient: Chosen,
    strict: Chosen,
}

impl Slurm {
    /// The running Slurm.
    pub fn get() -> &'static Slurm {
        static SLURM: OnceLock<Slurm> = OnceLock::new();
        SLURM.get_or_init(|| {
            let symbols = Symbols::get();
            Slurm::new(running::version(symbols), symbols)
        })
    }

    /// A Slurm of a given release.
    pub fn new(version: Result<Version, UnknownLine>, symbols: &'static Symbols) -> Slurm {
        let line = version.map(|version| version.line);
        let micro = version.ok().and_then(|version| version.micro);
        Slurm {
            version,
            symbols,
            lenient: choose(line, micro, false),
            strict: choose(line, micro, true),
        }
    }

    /// The table, or the reason why no record may be touched. `strict` is the setting of
    /// that name: only releases that were checked.
    ///
    /// # Errors
    /// The reason, in words for the log.
    pub fn layout(&self, strict: bool) -> Result<&'static Layout, &str> {
        match self.chosen(strict) {
            Chosen::Known(layout) | Chosen::Flagged(layout, _) => Ok(layout),
            Chosen::Inert(why) => Err(why),
        }
    }

    /// The text to log once if the table is used but was not checked for this very release.
    pub fn flag(&self) -> Option<&str> {
        match &self.lenient {
            Chosen::Flagged(_, why) => Some(why),
            Chosen::Known(_) | Chosen::Inert(_) => None,
        }
    }

    /// The choice itself.
    pub fn chosen(&self, strict: bool) -> &Chosen {
        if strict { &self.strict } else { &self.lenient }
    }
}
