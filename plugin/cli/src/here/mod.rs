//! Where does the user stand: in a job, on a node with berth, or anywhere else? A dry run finds out
//! before it assumes. Everything is looked up once, and only if an answer depends on it.

mod child;
pub(crate) mod cluster;
pub(crate) mod conf;
pub(crate) mod job;
mod node;
pub(crate) mod scontrol;
pub(crate) mod state;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use berth_srun::Release;

pub(crate) use job::{OwnJob, Part};
pub(crate) use node::BerthNode;
pub(crate) use scontrol::GpusOfJob;

/// The node of this host that berth serves, if any; with several slurmds the one of this job, or the
/// first by name.
pub(crate) fn node() -> Option<&'static BerthNode> {
    static NODE: OnceLock<Option<BerthNode>> = OnceLock::new();
    NODE.get_or_init(node::find).as_ref()
}

/// The job that this process runs in, if any.
pub(crate) fn job() -> Option<&'static OwnJob> {
    static JOB: OnceLock<Option<OwnJob>> = OnceLock::new();
    JOB.get_or_init(|| job::find(node())).as_ref()
}

/// That job's GPUs on this node.
pub(crate) fn gpus(job: &OwnJob) -> Result<GpusOfJob, String> {
    static GPUS: OnceLock<Result<GpusOfJob, String>> = OnceLock::new();
    GPUS.get_or_init(|| job::gpus(job, node())).clone()
}

/// The machine that `--machine` stands for unless it is given.
pub(crate) const LIVE: &str = "live";

/// What was found out for one request.
#[derive(Clone, Debug, Default)]
pub(crate) struct Standing {
    /// Whether the command looked. Otherwise the caller says what the step owns.
    pub has_looked: bool,
    is_here: bool,
    /// The node with berth on which the user is.
    pub node: Option<&'static BerthNode>,
    /// The job in which the user is.
    pub job: Option<&'static OwnJob>,
    /// The cluster that `--cluster` names.
    pub cluster: Option<cluster::Found>,
    /// berth's line in its plugstack.conf.
    pub plugstack: Option<Arc<conf::PlugstackLine>>,
}

impl Standing {
    /// Whether the request is for this very machine.
    pub(crate) fn is_here(&self) -> bool {
        self.is_here
    }

    /// Slurm's release line there, if it is known.
    pub(crate) fn release(&self) -> Option<Release> {
        let cluster = self.cluster.as_ref().and_then(|found| found.as_ref().ok());
        let shown = cluster.and_then(|config| config.version.as_deref()?.parse().ok());
        shown.or_else(|| self.node?.release())
    }
}

static LOOKS: AtomicBool = AtomicBool::new(false);

/// From now on a request depends on where the command runs.
pub(crate) fn look() {
    LOOKS.store(true, Ordering::Relaxed);
}

/// Where the user stands with a request for a machine or a cluster. Another machine than this one is
/// anywhere else.
pub(crate) fn standing(machine: &str, cluster: Option<&str>) -> Standing {
    let has_looked = LOOKS.load(Ordering::Relaxed);
    let is_live = machine == LIVE && cluster.is_none();
    let is_here = has_looked && is_live;
    let named = cluster.map(|text| (text, cluster::named(text)));
    let plugstack = named.as_ref().and_then(|(text, found)| {
        let config = found.as_ref().ok()?;
        cluster::plugstack(text, config)
    });
    Standing {
        plugstack,
        has_looked,
        is_here,
        node: is_live.then(node).flatten(),
        job: is_here.then(job).flatten(),
        cluster: named.map(|(_, found)| found),
    }
}
