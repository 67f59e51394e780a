//! The site's file of cpusets (`cpusets=FILE`): static cpusets by name with those who may use them, and
//! the words that a partition adds to its jobs' `--cpuset`.
//! In: the file's text, read for one node. Out: [`SiteCpusets`], which answers a launch from memory.

mod read;
#[cfg(test)]
mod read_tests;

use std::fmt;
use std::path::PathBuf;

use berth_placement::request::cpuset::{Attributes, Words};
use berth_placement::sets::text::{MOST_TYPOS, nearest, shown};
use berth_placement::{CpuSet, CpusetName, NodeSet};

use crate::lines::{SHOWN, takes, takes_any_case};

pub use crate::lines::LineError;
pub use read::{Site, read};

/// The file's content, for the node that has read it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SiteCpusets {
    /// The file; empty if the text came from elsewhere.
    pub path: PathBuf,
    sets: Vec<StaticSet>,
    partitions: Vec<PartitionWords>,
    /// Warnings to the administrator about a file that is in force: users that this node does not
    /// know, and words that are no request by themselves.
    pub doubts: Vec<LineError>,
}

/// A static cpuset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StaticSet {
    /// Its line in the file.
    pub line: usize,
    /// Its name, for `CPUSET_NAME=`.
    pub name: CpusetName,
    /// Its CPUs, by kernel number.
    pub cpus: CpuSet,
    /// Its memory nodes, where the line names them.
    pub mems: Option<NodeSet>,
    /// Its attributes.
    pub options: Attributes,
    /// The host list of the line, if it has one.
    nodes: Option<String>,
    is_here: bool,
    users: Option<Vec<u32>>,
    accounts: Option<Vec<String>>,
    partitions: Option<Vec<String>>,
}

impl StaticSet {
    /// The partitions whose jobs may use it; empty for all.
    #[must_use]
    pub fn partitions(&self) -> &[String] {
        self.partitions.as_deref().unwrap_or_default()
    }

    /// Whether only some users or accounts may use it.
    #[must_use]
    pub fn is_limited(&self) -> bool {
        self.users.is_some() || self.accounts.is_some()
    }
}

/// The words of a partition, which are merged with those of its jobs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartitionWords {
    /// The line in the file, for a refusal.
    pub line: usize,
    /// The partition.
    pub partition: String,
    /// The words that a job's own override.
    pub default: Option<Words>,
    /// The words that override a job's own.
    pub mandatory: Option<Words>,
}

/// A job that names a static cpuset, by its credential.
#[derive(Clone, Copy, Debug)]
pub struct JobIdentity<'a> {
    /// The job's user.
    pub uid: u32,
    /// The job's account.
    pub account: &'a str,
    /// The job's partition.
    pub partition: &'a str,
}

impl SiteCpusets {
    /// The static cpusets of this node, in the file's order.
    pub fn here(&self) -> impl Iterator<Item = &StaticSet> {
        self.sets.iter().filter(|set| set.is_here)
    }

    /// The static cpuset of this name on this node, if the job may use it.
    ///
    /// # Errors
    /// [`Denied`]
    pub fn set<'a>(
        &'a self,
        name: &'a str,
        identity: JobIdentity<'_>,
    ) -> Result<&'a StaticSet, Denied<'a>> {
        let Some(set) = self.here().find(|set| set.name.as_str() == name) else {
            let elsewhere = self.sets.iter().find(|set| set.name.as_str() == name);
            return Err(match elsewhere {
                Some(set) => Denied::Elsewhere(set),
                None => Denied::Unknown {
                    name,
                    nearest: nearest(name, self.here().map(|set| set.name.as_str()), MOST_TYPOS),
                },
            });
        };
        let users = set.users.as_ref();
        if !users.is_none_or(|users| users.contains(&identity.uid)) {
            Err(Denied::Closed(set, "user"))
        } else if !takes_any_case(set.accounts.as_deref(), identity.account) {
            Err(Denied::Closed(set, "account"))
        } else if !takes(set.partitions.as_deref(), identity.partition) {
            Err(Denied::Closed(set, "partition"))
        } else {
            Ok(set)
        }
    }

    /// The words that hold for a job of a partition, from those that it has itself, and the line of the file
    /// that has the partition's.
    #[must_use]
    pub fn merged(&self, partition: &str, job: &Words) -> (Words, Option<usize>) {
        match self.words_of(partition) {
            Some(words) => (words.merged(job), Some(words.line)),
            None => (job.clone(), None),
        }
    }

    /// The words of a partition, if the file has any.
    #[must_use]
    pub fn words_of(&self, partition: &str) -> Option<&PartitionWords> {
        let is_it = |words: &&PartitionWords| words.partition == partition;
        self.partitions.iter().find(is_it)
    }

    /// All partitions that have words, in the file's order.
    #[must_use]
    pub fn partitions(&self) -> &[PartitionWords] {
        &self.partitions
    }
}

impl PartitionWords {
    /// The words that hold for a job, from those that it has itself.
    #[must_use]
    pub fn merged(&self, job: &Words) -> Words {
        let none = Words::default();
        let mandatory = self.mandatory.as_ref().unwrap_or(&none);
        let default = self.default.as_ref().unwrap_or(&none);
        Words::merge(mandatory, job, default)
    }
}

/// A static cpuset that a job does not get.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Denied<'a> {
    /// The file has no set of this name.
    Unknown {
        /// The name.
        name: &'a str,
        /// The name that is nearest to it.
        nearest: Option<&'a str>,
    },
    /// It is a set of other nodes.
    Elsewhere(&'a StaticSet),
    /// It is not open to the job's user, account or partition.
    Closed(&'a StaticSet, &'static str),
}

impl fmt::Display for Denied<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { name, nearest } => {
                let name = shown(SHOWN, name);
                match nearest {
                    Some(near) => write!(
                        f,
                        "this node has no static cpuset \"{name}\"; the nearest is {near}"
                    ),
                    None => write!(
                        f,
                        "this node has no static cpuset \"{name}\"; `berth status --cpusets -l` \
                         shows those that it has"
                    ),
                }
            }
            Self::Elsewhere(set) => write!(
                f,
                "the static cpuset {} is not on this node, but on {}; choose nodes with -w",
                set.name,
                set.nodes.as_deref().unwrap_or_default()
            ),
            Self::Closed(set, what) => write!(
                f,
                "the static cpuset {} is not open to this job's {what}; ask the administrator, or \
                 leave CPUSET_NAME out",
                set.name
            ),
        }
    }
}
