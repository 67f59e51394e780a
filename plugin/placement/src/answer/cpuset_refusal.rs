//! Why a step cannot have its cpuset. Each text states what was requested, what was found and what to
//! do. It names CPUs, and never other people's jobs.

use derive_more::Display;

use crate::request::cpuset::CpusetName;
use crate::sets::bounded::repeated;
use crate::sets::count::{counted, either};
use crate::sets::cpuset::CpuSet;
use crate::sets::nodeset::NodeSet;

/// A cpuset that cannot be had.
#[derive(Clone, Debug, PartialEq, Eq, Display)]
pub enum CpusetRefusal {
    /// `MAX_RADIUS` in a job with several nodes.
    #[display(
        "--cpuset: MAX_RADIUS means one node, and this job has {_0}; submit it with -N1, or leave MAX_RADIUS out"
    )]
    SeveralNodes(u32),
    /// There are too few CPUs.
    #[display(
        "--cpuset: the cpuset needs {} on this node; {}{}",
        counted(*needed, "CPU"),
        too_few(*most, candidates, *why),
        otherwise(*fits_on_node, held)
    )]
    TooFew {
        /// Number of CPUs that are needed.
        needed: u32,
        /// The most CPUs that one cpuset could have.
        most: u32,
        /// The CPUs to choose from.
        candidates: CpuSet,
        /// What makes them so few.
        why: TooFew,
        /// CPUs of the job that others hold. Without them it would be served.
        held: CpuSet,
        /// Whether a job that owns the whole node would have it.
        fits_on_node: bool,
    },
    /// The smallest radius is too large.
    #[display(
        "--cpuset: MAX_RADIUS={most} is requested for {}; the smallest radius that this job's CPUs allow here \
         is {smallest}; use a larger MAX_RADIUS, or request fewer CPUs{}",
        counted(*needed, "CPU"),
        otherwise(*fits_on_node, held)
    )]
    Radius {
        /// Number of CPUs that are needed.
        needed: u32,
        /// `MAX_RADIUS`.
        most: u32,
        /// The smallest one that holds the number.
        smallest: u32,
        /// CPUs of the job that others hold. Without them it would be served.
        held: CpuSet,
        /// Whether a job that owns the whole node would have it.
        fits_on_node: bool,
    },
    /// The step needs more CPUs than the cpuset has.
    #[display(
        "--cpuset: this step needs {} on this node, and the job's cpuset has {has} for it; {}",
        counted(*needed, "CPU"),
        smaller_step(*needed, *job, *fits)
    )]
    StepTooLarge {
        /// Number of CPUs that the step needs.
        needed: u32,
        /// Those of the cpuset that it can use.
        has: u32,
        /// Number of CPUs that the job owns on the node.
        job: u32,
        /// Whether the job could have a cpuset of so many CPUs.
        fits: bool,
    },
    /// Slurm gave the step too few CPUs of the cpuset.
    #[display(
        "--cpuset: this step needs {} of the job's cpuset; the cpuset has CPUs {}, and Slurm gave this step \
         CPUs {}; start the step without --exact, --exclusive and -c: sbatch and salloc take --exclusive for \
         the job",
        counted(*needed, "CPU"),
        repeated(set),
        repeated(own)
    )]
    StepElsewhere {
        /// Number of CPUs that the step needs.
        needed: u32,
        /// The step's CPUs.
        own: CpuSet,
        /// The cpuset's.
        set: CpuSet,
    },
    /// The job owns too few CPUs of a cpuset that the site defines.
    #[display(
        "--cpuset: {} of the cpuset {name} {} needed; it has CPUs {} on this node, and the job owns {has} of \
         them; request them from Slurm too, for example with --gres={name}:{needed} \
         --gres-flags=enforce-binding if this site has such a GRES",
        counted(*needed, "CPU"),
        either(needed, "is", "are"),
        repeated(set)
    )]
    Static {
        /// The cpuset.
        name: CpusetName,
        /// Number of CPUs that are needed; at least 1.
        needed: u32,
        /// Those that the job has of it.
        has: u32,
        /// The cpuset's CPUs.
        set: CpuSet,
    },
    /// `--mem-bind` names memory nodes outside a cpuset whose memory is mandatory.
    #[display(
        "--cpuset: --mem-bind names NUMA nodes {outside}; this job's cpuset has mandatory memory on NUMA nodes \
         {mems}; name only those, or leave --mem-bind out"
    )]
    MemoryOutside {
        /// The named nodes outside it.
        outside: NodeSet,
        /// Its own.
        mems: NodeSet,
    },
}

/// What leaves too few CPUs to choose from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TooFew {
    /// Nothing else does.
    Cpus,
    /// `CPU_LIST`.
    Listed,
    /// `MAX_CPU_PER_NODE`.
    PerNode(u32),
    /// Whole NUMA nodes.
    WholeNodes,
}

impl CpusetRefusal {
    /// CPUs of the job that others hold, where the step could have its cpuset without them. Only
    /// then it helps to wait.
    #[must_use]
    pub fn held(&self) -> Option<&CpuSet> {
        match self {
            Self::TooFew { held, .. } | Self::Radius { held, .. } => Some(held),
            _ => None,
        }
        .filter(|held| !held.is_empty())
    }
}

fn too_few(most: u32, candidates: &CpuSet, why: TooFew) -> String {
    let (most, cpus) = (counted(most, "CPU"), repeated(candidates));
    let found = match why {
        TooFew::Listed if candidates.is_empty() => {
            "the job owns no CPU of CPU_LIST that nobody else holds".into()
        }
        _ if candidates.is_empty() => "the job has no free CPU for it".into(),
        TooFew::Cpus => format!("the job has {most} free for it (CPUs {cpus})"),
        TooFew::Listed => {
            format!("the job owns {most} of CPU_LIST that nobody else holds (CPUs {cpus})")
        }
        TooFew::PerNode(limit) => format!(
            "MAX_CPU_PER_NODE={limit} allows {most} of those that the job has free (CPUs {cpus})"
        ),
        TooFew::WholeNodes => format!(
            "the NUMA nodes that the job owns whole have {most}; the job has CPUs {cpus} free"
        ),
    };
    let instead = match why {
        TooFew::Listed => ", or list others in CPU_LIST",
        TooFew::PerNode(_) => ", or a larger MAX_CPU_PER_NODE",
        TooFew::Cpus | TooFew::WholeNodes => "",
    };
    format!("{found}; request fewer CPUs{instead}")
}

/// What may help beside other words: the whole node, or to wait.
fn otherwise(fits_on_node: bool, held: &CpuSet) -> String {
    let exclusive = match fits_on_node {
        true => ", or submit the job with --exclusive",
        false => "",
    };
    match held.is_empty() {
        true => exclusive.into(),
        false => format!(
            "{exclusive}; CPUs {} of the job are held by others now, and later it may fit",
            repeated(held)
        ),
    }
}

fn smaller_step(needed: u32, job: u32, fits: bool) -> String {
    let words = "use fewer tasks or a smaller -c: ";
    match (fits, needed <= job) {
        (true, _) => format!("submit the job with NCPUS={needed}, or use fewer tasks"),
        (false, true) => format!("{words}the job's cpuset can have no more here"),
        (false, false) => format!("{words}the job has {job} here"),
    }
}
