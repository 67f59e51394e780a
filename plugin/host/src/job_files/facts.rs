//! The node's facts about a job, as slurmstepd knows them from Slurm's own record.

use serde::{Deserialize, Serialize};

/// The form. A reader ignores fields that it does not know; only another meaning of a field needs
/// another number, and then older readers use nothing of the file.
const VERSION: u32 = 1;
/// More than Slurm's names have; longer ones are left out.
const NAME: usize = 256;
/// Steps of a job that ask for its limits if there seem to be none.
const LIMIT_QUERIES: u32 = 2;
/// More kinds of generic resources than a node has.
const MOST_GRES: usize = 256;

/// The facts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NodeFacts {
    /// The version of this form.
    pub berth_job: u32,
    /// The job.
    pub job: u32,
    /// Its owner.
    pub uid: u32,
    /// The node's name in slurm.conf.
    pub node: String,
    /// The job's cores here by Slurm's numbers, as a list.
    pub cores: String,
    /// Its memory here in bytes, if Slurm counts memory.
    pub memory: Option<u64>,
    /// The memory limit of its cgroup in bytes, if it has one.
    pub memory_limit: Option<u64>,
    /// The limit of its swap space in bytes, if it has one.
    pub swap_limit: Option<u64>,
    /// The number of times that a step has asked its cgroup for these limits.
    pub limits_asked: u32,
    /// Its generic resources here.
    pub gres: Vec<Gres>,
}

/// Generic resources of one name and type.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Gres {
    /// The name, such as `gpu`.
    pub name: String,
    /// The type, such as `a100`; empty if they have none.
    pub kind: String,
    /// Their numbers on this node as a list; empty if Slurm only counts them.
    pub indices: String,
    /// The number of resources as Slurm writes it; empty where only their numbers on the node are known.
    pub count: String,
}

impl NodeFacts {
    /// The text of the file.
    #[must_use]
    pub fn text(&self) -> String {
        let known = Self {
            berth_job: VERSION,
            ..self.clone()
        };
        serde_json::to_string(&known).unwrap_or_default() + "\n"
    }

    /// Reads the text, if it is about this job on this node and of this form.
    #[must_use]
    pub fn read(text: &[u8], job: u32, node: &str) -> Option<Self> {
        let found: Self = serde_json::from_slice(text).ok()?;
        let is_it = found.berth_job == VERSION && found.job == job && found.node == node;
        is_it.then_some(found)
    }

    /// Whether a further step need not ask for the limits: they are known, or there are none. The job's first step may
    /// come here before Slurm has set them.
    #[must_use]
    pub fn knows_limits(&self) -> bool {
        self.memory_limit.is_some() || self.limits_asked >= LIMIT_QUERIES
    }

    /// Whether Slurm still gives the job what these facts have.
    #[must_use]
    pub fn is_same_allocation(&self, other: &Self) -> bool {
        (self.uid, &self.cores, self.memory, &self.gres)
            == (other.uid, &other.cores, other.memory, &other.gres)
    }
}

impl Gres {
    /// Whether it can stand in the file.
    #[must_use]
    pub fn is_bounded(&self) -> bool {
        self.name.len() <= NAME && self.kind.len() <= NAME && self.count.len() <= NAME
    }

    /// The resources that have room in the file.
    #[must_use]
    pub fn bounded(all: Vec<Self>) -> Vec<Self> {
        let bounded = all.into_iter().filter(Self::is_bounded);
        bounded.take(MOST_GRES).collect()
    }
}
