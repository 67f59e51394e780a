//! The site's file of pools (`pools=FILE`): classes of jobs that get their CPUs when they want them, and which jobs
//! these are. Real-time tasks (`realtime`) and idle tasks of everybody else (`idle`) are classes of earlier releases: a
//! file that asks for one gets weights, and a line for the administrator. In: the file's text, read for one node. Out:
//! [`SitePools`], which answers a launch from memory.

mod read;
#[cfg(test)]
mod read_tests;

use std::path::PathBuf;

use berth_placement::pools::Weights;
use berth_placement::sets::text::shown;

use crate::lines::{SHOWN, takes, takes_any_case};

pub use crate::lines::LineError;
pub use read::{Site, read};

/// The file's content, for the node that has read it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SitePools {
    /// The file; empty if the text came from elsewhere.
    pub path: PathBuf,
    pools: Vec<Pool>,
}

/// A pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pool {
    /// Its line in the file.
    pub line: usize,
    /// Its name.
    pub name: String,
    /// The most CPUs that its jobs own together on a node.
    pub cpus: u32,
    /// Its weight, if it were as wide as the widest pool of the node.
    pub weight: u32,
    /// A class of earlier releases that its line asks for.
    pub old_class: Option<&'static str>,
    /// The variable that tells a task its number of CPUs.
    pub export: String,
    jobs: Jobs,
    is_here: bool,
}

/// Which jobs are in a pool: those that have every word that the line has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Jobs {
    partition: Option<String>,
    accounts: Option<Vec<String>>,
    reservations: Option<Vec<String>>,
    qos: Option<Vec<String>>,
}

/// A job, by its credential.
#[derive(Clone, Copy, Debug, Default)]
pub struct JobIdentity<'a> {
    /// Its partition.
    pub partition: &'a str,
    /// Its account.
    pub account: &'a str,
    /// Its reservation.
    pub reservation: &'a str,
    /// Its QOS; empty where the release of Slurm does not tell its nodes.
    pub qos: &'a str,
}

impl SitePools {
    /// The pools of this node, in the file's order.
    pub fn here(&self) -> impl Iterator<Item = &Pool> + Clone {
        self.pools.iter().filter(|pool| pool.is_here)
    }

    /// The pool of a job on this node: the first line that has it.
    #[must_use]
    pub fn of(&self, identity: JobIdentity<'_>) -> Option<&Pool> {
        self.here().find(|pool| pool.jobs.has(identity))
    }

    /// The weights of the jobs of this node; none if it has no pools.
    #[must_use]
    pub fn weights(&self) -> Option<Weights> {
        Weights::of(self.here().map(|pool| (pool.cpus, pool.weight)))
    }
}

impl Pool {
    /// Whether its line asks for a QOS.
    #[must_use]
    pub fn needs_qos(&self) -> bool {
        self.jobs.qos.is_some()
    }

    /// Whether its line asks for an account.
    #[must_use]
    pub fn needs_account(&self) -> bool {
        self.jobs.accounts.is_some()
    }

    /// Whether its line asks for a reservation.
    #[must_use]
    pub fn needs_reservation(&self) -> bool {
        self.jobs.reservations.is_some()
    }

    /// The words that say which jobs are in it, for everybody but accounts and reservations.
    #[must_use]
    pub fn partition(&self) -> Option<&str> {
        self.jobs.partition.as_deref()
    }
}

impl Jobs {
    fn has(&self, identity: JobIdentity<'_>) -> bool {
        self.partition
            .as_ref()
            .is_none_or(|own| own == identity.partition)
            && takes_any_case(self.accounts.as_deref(), identity.account)
            && takes_any_case(self.qos.as_deref(), identity.qos)
            && takes(self.reservations.as_deref(), identity.reservation)
    }
}

/// The class that every pool has.
const WEIGHT: &str = "weight";
/// Those that there were.
const OLD_CLASSES: [&str; 2] = ["realtime", "idle"];

/// Such a class, from the value of `class=`; nothing where it means what every pool has.
fn old_class_of(text: Option<&str>) -> Result<Option<&'static str>, String> {
    let Some(text) = text.filter(|text| *text != WEIGHT) else {
        return Ok(None);
    };
    let found = OLD_CLASSES.into_iter().find(|class| *class == text);
    found.map(Some).ok_or_else(|| {
        format!(
            "class=: \"{}\" is not {WEIGHT}, which every pool has; leave it out",
            shown(SHOWN, text)
        )
    })
}

impl SitePools {
    /// One line for the administrator if pools of this node ask for such a class.
    #[must_use]
    pub fn about_old_classes(&self) -> Option<String> {
        let told = |pool: &Pool| {
            let (class, name, line) = (pool.old_class?, &pool.name, pool.line);
            Some(format!("class={class} of the pool {name} (line {line})"))
        };
        let told: Vec<_> = self.here().filter_map(told).collect();
        let (is, word) = match told.len() {
            0 => return None,
            1 => ("is", "that word"),
            _ => ("are", "those words"),
        };
        Some(format!(
            "{}: {} {is} read as {WEIGHT}, because a task of a real-time class could keep CPUs of the node outside of its \
             job, and pools have weights alone now; remove {word}",
            self.path.display(),
            told.join(" and ")
        ))
    }
}
