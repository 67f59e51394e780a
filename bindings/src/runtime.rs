//! The running Slurm in one value: release, table, symbols. Found out once per process.

use crate::layout::{Chosen, Layout, choose};
use crate::line::{UnknownLine, Version};
use crate::running;
use crate::symbols::Symbols;
use std::sync::OnceLock;

/// What is known of the Slurm we run in.
pub struct Slurm {
    /// The release, or the numbers it gave where no table is for it.
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

    /// The table, or the text that says why no record may be touched. `strict` is the setting of
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

    /// What to log once where the table is used without having been checked for this very release.
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
