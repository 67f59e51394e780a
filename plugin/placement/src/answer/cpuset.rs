//! The cpuset of a step's job on this node and what was looked at for it, the notes on it, and why a step cannot have
//! it. `--explain`, the log line and the ledger's entry are written from it. Each text states what was requested, what
//! was found and what to do; it names CPUs, and never other people's jobs. Pure data.

use derive_more::Display;

use crate::request::cpuset::{CpusetName, CpusetRequest};
use crate::sets::cpuset::CpuSet;
use crate::sets::cpuset::NodeSet;
use crate::sets::ids::NumaId;
use crate::sets::text::{counted, either, repeated};

/// The cpuset of a step's job on this node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChosenSet {
    /// The request.
    pub requested: CpusetRequest,
    /// Its CPUs, also those that the step does not own.
    pub cpus: CpuSet,
    /// Number of CPUs as Slurm counts them here: hardware threads, or cores.
    pub count: u32,
    /// Whether these are cores.
    pub counts_cores: bool,
    /// Its memory nodes.
    pub mems: NodeSet,
    /// Their meaning to its tasks.
    pub memory: SetMemory,
    /// The largest distance between two of its CPUs.
    pub radius: u32,
    /// Whether no other cpuset and no `--binding` gets its CPUs.
    pub exclusive: bool,
    /// Who chose it.
    pub from: SetFrom,
    /// The CPUs and nodes that were not chosen, and why.
    pub rejected: Vec<Rejected>,
}

/// The meaning of a cpuset's memory nodes to its tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum SetMemory {
    /// Nothing: memory comes from everywhere.
    Open,
    /// Memory comes from them first, and from others when they are full.
    Preferred,
    /// Memory comes from no others.
    Only {
        /// Whether a full node may page to swap.
        swap: bool,
    },
}

/// Who chose a cpuset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetFrom {
    /// Best fit.
    BestFit,
    /// First fit (`cpuset_best=off`).
    FirstFit,
    /// An earlier step of the job, or the site's file.
    Given,
}

/// CPUs that were not chosen, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rejected {
    /// The list names CPUs that the job does not own.
    NotOwned(CpuSet),
    /// The job owns CPUs that the list does not name.
    NotListed(CpuSet),
    /// Others hold CPUs.
    Taken(CpuSet),
    /// Other jobs' cpusets have CPUs too; they are avoided.
    Avoided(CpuSet),
    /// The kernel isolates CPUs.
    Isolated(CpuSet),
    /// A cpuset has CPUs on memory nodes that it wants for itself.
    ExclusiveMemory(NodeSet),
    /// The job does not own a NUMA node whole.
    PartOfNode(NumaId),
    /// A smaller radius holds too few CPUs.
    Radius {
        /// The radius.
        radius: u32,
        /// The most CPUs that one cpuset of it could have.
        holds: u32,
    },
}

/// Something the user should know about a cpuset.
#[derive(Clone, Debug, PartialEq, Eq, Display)]
pub enum CpusetNote {
    /// `CPUSET_MEMORY_KERNEL_AVOID`.
    #[display(
        "CPUSET_MEMORY_KERNEL_AVOID is accepted, but Linux has nothing like it: the kernel takes its own memory \
         where it wants; leave it out"
    )]
    KernelAvoid,
    /// `CPUSET_MEMORY_EXCLUSIVE`.
    #[display(
        "CPUSET_MEMORY_EXCLUSIVE: later cpusets and memory bindings avoid the memory nodes of this cpuset where \
         they can, but the kernel does not enforce it"
    )]
    MemoryExclusive,
    /// `CPUSET_MEMORY_MANDATORY`: what happens when a node is full.
    #[display("CPUSET_MEMORY_MANDATORY{}", mandatory(mems, *swap))]
    Mandatory {
        /// The memory nodes.
        mems: NodeSet,
        /// Whether a full node may page to swap.
        swap: bool,
    },
    /// `MEM_LIST` beside `CPUSET_MEMORY_LOCAL`.
    #[display("CPUSET_MEMORY_LOCAL overrides MEM_LIST, which is ignored; leave one of the two out")]
    ListIgnored,
    /// `MEM_LIST` names memory nodes that are not there.
    #[display(
        "MEM_LIST names memory nodes {} that this node does not have; they are ignored",
        repeated(_0)
    )]
    NoSuchMemory(NodeSet),
    /// `MAX_RADIUS` under first fit.
    #[display(
        "MAX_RADIUS keeps the job on one node and means nothing else here: this site chooses the first free \
         CPUs (cpuset_best=off)"
    )]
    RadiusIgnored,
    /// `NCPUS` is more than the job has on the node.
    #[display(
        "NCPUS={requested} is more than the {} that the job has on this node, and the cpuset has no others; request \
         more for the job (-n, -c, --exclusive), or write a smaller NCPUS",
        counted(*job, "CPU")
    )]
    Cut {
        /// The number that the user wrote.
        requested: u32,
        /// Number of CPUs that the job owns on the node.
        job: u32,
    },
    /// Other jobs' cpusets have some of its CPUs too.
    #[display(
        "CPUs {} of this cpuset are in other cpusets too, because too few others are free; request fewer CPUs \
         (NCPUS), or submit the job with --exclusive",
        repeated(_0)
    )]
    Shares(CpuSet),
    /// It has CPUs on memory nodes that other cpusets want for themselves.
    #[display(
        "this cpuset has CPUs on NUMA nodes {_0}, whose memory another cpuset wants for itself, because too few \
         others are free; request fewer CPUs (NCPUS)"
    )]
    SharesMemory(NodeSet),
    /// `MEM_LIST` names memory nodes that other cpusets want for themselves.
    #[display(
        "MEM_LIST names NUMA nodes {mems}, whose memory another cpuset wants for itself; {}",
        listed(*left_out)
    )]
    ListedMemory {
        /// The nodes.
        mems: NodeSet,
        /// Whether the cpuset does without them; with mandatory memory it has them.
        left_out: bool,
    },
    /// The kernel isolates some of its CPUs.
    #[display(
        "the kernel isolates CPUs {} of this cpuset (isolcpus, nohz_full), and too few others are free; request \
         fewer CPUs (NCPUS), or name CPUs in CPU_LIST",
        repeated(_0)
    )]
    Isolated(CpuSet),
    /// It could not be had, and the step runs without it.
    #[display(
        "{_0}; the step runs without a cpuset, no task is bound, and every task may use all CPUs of the step"
    )]
    Without(String),
}

fn listed(left_out: bool) -> &'static str {
    match left_out {
        true => "they are left out; CPUSET_MEMORY_MANDATORY requests them all the same",
        false => "this cpuset has them all the same; leave them out if it can do without",
    }
}

fn mandatory(mems: &NodeSet, swap: bool) -> String {
    match swap {
        true => format!(
            ": memory comes from NUMA nodes {mems} alone; when these are full the job pages to swap, and without free \
             swap the kernel ends one of its processes"
        ),
        false => format!(
            " and CPUSET_POLICY_KILL: memory comes from NUMA nodes {mems} alone; when these are full the kernel ends \
             one of the job's processes, and does not page to swap where the tasks' cgroups have cgroup v2's memory \
             controller"
        ),
    }
}

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
        /// The reason why they are so few.
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

/// The reason why there are too few CPUs to choose from.
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
    /// Whole NUMA nodes among the CPUs of CPU_LIST.
    WholeListed,
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
        TooFew::WholeListed => {
            format!("the NUMA nodes that the job owns and CPU_LIST names whole have {most}")
        }
    };
    let instead = match why {
        TooFew::Listed => "request fewer CPUs, or list others in CPU_LIST",
        TooFew::PerNode(_) => "request fewer CPUs, or a larger MAX_CPU_PER_NODE",
        TooFew::WholeListed => "list whole NUMA nodes in CPU_LIST",
        TooFew::Cpus | TooFew::WholeNodes => "request fewer CPUs",
    };
    format!("{found}; {instead}")
}

/// Advice beside other words: the whole node, or to wait.
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
