//! Why a step cannot have its cpuset. Each text states what was requested, what was found and what to
//! do. It names CPUs, and never other people's jobs.

use std::fmt;

use crate::request::cpuset::CpusetName;
use crate::sets::bounded::repeated;
use crate::sets::count::{counted, either};
use crate::sets::cpuset::CpuSet;
use crate::sets::nodeset::NodeSet;

/// A cpuset that cannot be had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CpusetRefusal {
    /// `MAX_RADIUS` in a job with several nodes.
    SeveralNodes(u32),
    /// There are too few CPUs.
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
    StepElsewhere {
        /// Number of CPUs that the step needs.
        needed: u32,
        /// The step's CPUs.
        own: CpuSet,
        /// The cpuset's.
        set: CpuSet,
    },
    /// The job owns too few CPUs of a cpuset that the site defines.
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

impl CpusetRefusal {
    /// What may help beside other words: the whole node, or to wait.
    fn otherwise(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::TooFew {
            held, fits_on_node, ..
        }
        | Self::Radius {
            held, fits_on_node, ..
        }) = self
        else {
            return Ok(());
        };
        exclusive(f, *fits_on_node)?;
        beside(f, held)
    }
}

impl fmt::Display for CpusetRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("--cpuset: ")?;
        match self {
            Self::SeveralNodes(nodes) => write!(
                f,
                "MAX_RADIUS means one node, and this job has {nodes}; submit it with -N1, or leave \
                 MAX_RADIUS out"
            ),
            Self::TooFew {
                needed,
                most,
                candidates,
                why,
                ..
            } => too_few(f, (*needed, *most), candidates, *why),
            Self::Radius {
                needed,
                most,
                smallest,
                ..
            } => radius(f, *needed, *most, *smallest),
            Self::StepTooLarge {
                needed,
                has,
                job,
                fits,
            } => step_too_large(f, (*needed, *has), *job, *fits),
            Self::StepElsewhere { needed, own, set } => step_elsewhere(f, *needed, own, set),
            Self::Static {
                name,
                needed,
                has,
                set,
            } => of_static(f, name, (*needed, *has), set),
            Self::MemoryOutside { outside, mems } => write!(
                f,
                "--mem-bind names NUMA nodes {outside}; this job's cpuset has mandatory memory on NUMA \
                 nodes {mems}; name only those, or leave --mem-bind out"
            ),
        }?;
        self.otherwise(f)
    }
}

fn too_few(
    f: &mut fmt::Formatter<'_>,
    (needed, most): (u32, u32),
    candidates: &CpuSet,
    why: TooFew,
) -> fmt::Result {
    let (needed, most) = (counted(needed, "CPU"), counted(most, "CPU"));
    let cpus = repeated(candidates);
    write!(f, "the cpuset needs {needed} on this node; ")?;
    match why {
        TooFew::Listed if candidates.is_empty() => {
            write!(f, "the job owns no CPU of CPU_LIST that nobody else holds")?;
        }
        _ if candidates.is_empty() => write!(f, "the job has no free CPU for it")?,
        TooFew::Cpus => write!(f, "the job has {most} free for it (CPUs {cpus})")?,
        TooFew::Listed => write!(
            f,
            "the job owns {most} of CPU_LIST that nobody else holds (CPUs {cpus})"
        )?,
        TooFew::PerNode(limit) => write!(
            f,
            "MAX_CPU_PER_NODE={limit} allows {most} of those that the job has free (CPUs {cpus})"
        )?,
        TooFew::WholeNodes => write!(
            f,
            "the NUMA nodes that the job owns whole have {most}; the job has CPUs {cpus} free"
        )?,
    }
    f.write_str("; request fewer CPUs")?;
    match why {
        TooFew::Listed => f.write_str(", or list others in CPU_LIST"),
        TooFew::PerNode(_) => f.write_str(", or a larger MAX_CPU_PER_NODE"),
        TooFew::Cpus | TooFew::WholeNodes => Ok(()),
    }
}

/// Another way, where a job with the whole node would have its cpuset.
fn exclusive(f: &mut fmt::Formatter<'_>, fits_on_node: bool) -> fmt::Result {
    f.write_str(match fits_on_node {
        true => ", or submit the job with --exclusive",
        false => "",
    })
}

/// The CPUs that might become free.
fn beside(f: &mut fmt::Formatter<'_>, held: &CpuSet) -> fmt::Result {
    match held.is_empty() {
        true => Ok(()),
        false => write!(
            f,
            "; CPUs {} of the job are held by others now, and later it may fit",
            repeated(held)
        ),
    }
}

fn step_too_large(
    f: &mut fmt::Formatter<'_>,
    (needed, has): (u32, u32),
    job: u32,
    fits: bool,
) -> fmt::Result {
    write!(
        f,
        "this step needs {} on this node, and the job's cpuset has {has} for it; ",
        counted(needed, "CPU")
    )?;
    if fits {
        return write!(f, "submit the job with NCPUS={needed}, or use fewer tasks");
    }
    f.write_str("use fewer tasks or a smaller -c: ")?;
    match needed <= job {
        true => f.write_str("the job's cpuset can have no more here"),
        false => write!(f, "the job has {job} here"),
    }
}

fn step_elsewhere(
    f: &mut fmt::Formatter<'_>,
    needed: u32,
    own: &CpuSet,
    set: &CpuSet,
) -> fmt::Result {
    write!(
        f,
        "this step needs {} of the job's cpuset; the cpuset has CPUs {}, and Slurm gave this step \
         CPUs {}; start the step without --exact, --exclusive and -c: sbatch and salloc take --exclusive \
         for the job",
        counted(needed, "CPU"),
        repeated(set),
        repeated(own)
    )
}

fn radius(f: &mut fmt::Formatter<'_>, needed: u32, most: u32, smallest: u32) -> fmt::Result {
    write!(
        f,
        "MAX_RADIUS={most} is requested for {}; the smallest radius that this job's CPUs allow here is \
         {smallest}; use a larger MAX_RADIUS, or request fewer CPUs",
        counted(needed, "CPU")
    )
}

fn of_static(
    f: &mut fmt::Formatter<'_>,
    name: &CpusetName,
    (needed, has): (u32, u32),
    set: &CpuSet,
) -> fmt::Result {
    write!(
        f,
        "{} of the cpuset {name} {} needed; it has CPUs {} on this node, and the job owns {has} of them; \
         request them from Slurm too, for example with --gres={name}:{needed} \
         --gres-flags=enforce-binding if this site has such a GRES",
        counted(needed, "CPU"),
        either(&needed, "is", "are"),
        repeated(set)
    )
}
