//! Facts of the world around a question, their source, and the interface by which somebody finds them out:
//! the command asks its host; a page or a test has texts.

use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use berth_placement::{CoreIdx, CpuId, CpuSet, Machine};
use berth_site::cpusets::{Site, SiteCpusets};
use berth_site::read_settings::PlugstackLine;
use berth_site::{Announcement, SiteRules};
use berth_srun::{Config, Release};
use serde::{Serialize, Serializer};

use crate::Failure;

/// The machine that `--machine` stands for unless it is given, and the cluster that scontrol reaches.
pub const LIVE: &str = "live";

/// The facts that a question looks up while it is read, and never later.
pub trait World {
    /// The surroundings of a request for a machine or a cluster.
    fn context(&self, machine: &str, cluster: Option<&str>) -> Context;

    /// The machine that `--machine` stands for, with its devices if they matter.
    ///
    /// # Errors
    /// Why it cannot be found.
    fn machine(&self, machine: &str, with_devices: bool) -> Result<Machine, Failure>;

    /// The GPUs of the job in which the user is.
    ///
    /// # Errors
    /// Why nobody knows.
    fn gpus(&self, job: &OwnJob) -> Result<GpusOfJob, String>;

    /// The batch script that an sbatch would run by this name.
    fn script(&self, name: &str) -> ScriptFile;

    /// A file of host names.
    ///
    /// # Errors
    /// Why it cannot be read.
    fn hosts(&self, path: &str) -> Result<String, String>;

    /// The site's file of cpusets.
    ///
    /// # Errors
    /// An error that slurmd would log.
    fn cpusets(&self, path: &Path, site: &Site<'_>) -> Result<SiteCpusets, String>;
}

/// A batch script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScriptFile {
    /// Its text.
    Text(Vec<u8>),
    /// sbatch does not find it either, here or in `PATH`, or cannot read it, for this reason.
    Missing(String),
    /// It cannot be read, for this reason.
    Unread(String),
}

/// A configuration, or the reason why there is none.
pub type ClusterConfig = Result<Arc<Config>, String>;

/// The surroundings of one request: the host, the variables, the job and the cluster.
#[derive(Clone, Debug, Default)]
pub struct Context {
    /// Whether the request is for this very machine.
    pub is_here: bool,
    /// Whether the machine is a synthetic one, which has no devices.
    pub is_synthetic: bool,
    /// The variables of the user's environment.
    pub environment: Arc<HashMap<String, String>>,
    /// The node with berth on which the user is.
    pub node: Option<Arc<BerthNode>>,
    /// The configuration of that node's cluster, if the user may read it.
    pub config_of_node: Option<Arc<Config>>,
    /// The job in which the user is.
    pub job: Option<Arc<OwnJob>>,
    /// The cluster that `--cluster` names.
    pub cluster: Option<ClusterConfig>,
    /// berth's line in its plugstack.conf.
    pub plugstack: Option<Arc<PlugstackLine>>,
    /// The release line of the Slurm that is installed on the host, if the request is for that, and no node with berth
    /// gives it.
    pub installed: Option<Release>,
}

impl Context {
    /// Slurm's release line there, if it is known.
    #[must_use]
    pub fn release(&self) -> Option<Release> {
        let cluster = self.cluster.as_ref().and_then(|found| found.as_ref().ok());
        let shown = cluster.and_then(|config| config.version.as_deref()?.parse().ok());
        let announced = || self.node.as_ref()?.release();
        shown.or_else(announced).or(self.installed)
    }

    /// A variable of the user's environment.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<String> {
        self.environment.get(name).cloned()
    }
}

/// A node with berth.
#[derive(Clone, Debug)]
pub struct BerthNode {
    /// Its name in slurm.conf.
    pub name: String,
    /// The other nodes of this host.
    pub others: Vec<String>,
    /// slurmd's words.
    pub words: Announcement,
    /// The rules, if slurmd announced them.
    pub rules: Option<SiteRules>,
    /// The machine as slurmd found it, if it still is as it was then.
    pub machine: Option<Arc<Machine>>,
}

impl BerthNode {
    /// Slurm's release line, if this release of berth knows it.
    #[must_use]
    pub fn release(&self) -> Option<Release> {
        let line = self.rules.as_ref().map(|rules| rules.slurm_line.as_str());
        line.unwrap_or(&self.words.slurm).parse().ok()
    }
}

/// A part of the node, by the numbers of whoever named it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// Kernel numbers of CPUs.
    Cpus(CpuSet),
    /// slurmctld's numbers of CPUs: core × threads per core + thread.
    Abstract(CpuSet),
}

impl Part {
    /// The cores that are meant, by Slurm's number.
    pub fn cores(&self, threads: u32, core_of: impl Fn(CpuId) -> Option<u32>) -> Vec<CoreIdx> {
        let mut cores: Vec<_> = match self {
            Self::Cpus(cpus) => cpus.iter().filter_map(core_of).collect(),
            Self::Abstract(cpus) => cpus.iter().map(|cpu| cpu.0 / threads.max(1)).collect(),
        };
        cores.sort_unstable();
        cores.dedup();
        cores.into_iter().map(CoreIdx).collect()
    }
}

/// The job in which the user is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnJob {
    /// Its number.
    pub id: u32,
    /// Its part of this node, and how that is known.
    pub part: Option<(Part, String)>,
    /// The reason why the part is not known.
    pub unknown: String,
    /// The part of the step in which this process runs, if the kernel knows one.
    pub step: Option<(Part, String)>,
    /// The job's nodes by slurmctld; empty if it was not asked or did not answer.
    pub nodes: Vec<OnNode>,
}

/// A job's CPUs on one node, as slurmctld numbers them: core × threads per core + thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OnNode {
    /// The node.
    pub name: String,
    /// Its CPUs.
    pub cpus: CpuSet,
    /// Its GPUs there.
    pub gpus: GpusOfJob,
}

/// A job's GPUs on a node, as slurmctld numbers them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GpusOfJob {
    /// It has none.
    None,
    /// Ascending numbers.
    Known(Vec<u32>),
    /// Some, or parts of some, without numbers.
    Unknown,
}

/// How a premise is known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Provenance {
    /// An option gives it.
    Option,
    /// The command found it out.
    Found,
    /// Nothing gives it.
    Assumed,
}

/// Something that an answer rests on, with its source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Premise {
    /// Its name in the first lines of an answer: `site`, `allocation`, …
    pub what: &'static str,
    /// Its value, `compat=berth`.
    pub value: String,
    /// How it is known.
    pub by: Provenance,
    /// The source: the option, the file or the command; or the reason why nothing better is known. Empty if
    /// there is none.
    #[serde(serialize_with = "known")]
    pub source: String,
}

/// A text for scripts: null where there is none.
fn known<S: Serializer>(text: &str, to: S) -> Result<S::Ok, S::Error> {
    (!text.is_empty()).then_some(text).serialize(to)
}

impl Premise {
    /// A premise of these parts, in the order of the fields.
    #[must_use]
    pub fn new(what: &'static str, value: String, by: Provenance, source: String) -> Self {
        Self {
            what,
            value,
            by,
            source,
        }
    }
}

/// `cores 0-3 (found: cgroup of job 12)`
impl fmt::Display for Premise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.value)?;
        match (&self.by, self.source.as_str()) {
            (Provenance::Option, "") => Ok(()),
            (Provenance::Option, source) => write!(f, " ({source})"),
            (Provenance::Found, source) => write!(f, " (found: {source})"),
            (Provenance::Assumed, "") => f.write_str(" (assumed)"),
            (Provenance::Assumed, source) => write!(f, " (assumed: {source})"),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use berth_placement::topology::presets::Preset;

    use super::*;

    /// A world that has scripts and well-known machines, and nothing else.
    #[derive(Default)]
    pub(crate) struct Scripts(pub Vec<(&'static str, String)>);

    impl World for Scripts {
        fn context(&self, _machine: &str, _cluster: Option<&str>) -> Context {
            Context::default()
        }

        fn machine(&self, machine: &str, _with_devices: bool) -> Result<Machine, Failure> {
            let known = Preset::named(machine).and_then(Preset::machine);
            known.ok_or_else(|| "there is no such machine here".into())
        }

        fn gpus(&self, _job: &OwnJob) -> Result<GpusOfJob, String> {
            Ok(GpusOfJob::None)
        }

        fn script(&self, name: &str) -> ScriptFile {
            let found = self.0.iter().find(|(known, _)| *known == name);
            found.map_or(
                ScriptFile::Missing("there is no such file".into()),
                |(_, text)| ScriptFile::Text(text.clone().into_bytes()),
            )
        }

        fn hosts(&self, _path: &str) -> Result<String, String> {
            Err("there are no files here".into())
        }

        fn cpusets(&self, _path: &Path, _site: &Site<'_>) -> Result<SiteCpusets, String> {
            Ok(SiteCpusets::default())
        }
    }
}
