//! Notes on a cpuset that a job gets. Each text states what was requested, what was found and what to
//! do.

use std::fmt;

use crate::sets::bounded::repeated;
use crate::sets::count::counted;
use crate::sets::cpuset::CpuSet;
use crate::sets::nodeset::NodeSet;

/// Something the user should know about a cpuset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CpusetNote {
    /// `CPUSET_MEMORY_KERNEL_AVOID`.
    KernelAvoid,
    /// `CPUSET_MEMORY_EXCLUSIVE`.
    MemoryExclusive,
    /// `CPUSET_MEMORY_MANDATORY`: what happens when a node is full.
    Mandatory {
        /// The memory nodes.
        mems: NodeSet,
        /// Whether a full node may page to swap.
        swap: bool,
    },
    /// `MEM_LIST` beside `CPUSET_MEMORY_LOCAL`.
    ListIgnored,
    /// `MEM_LIST` names memory nodes that are not there.
    NoSuchMemory(NodeSet),
    /// `MAX_RADIUS` under first fit.
    RadiusIgnored,
    /// `NCPUS` is more than the job has on the node.
    Cut {
        /// The number that the user wrote.
        asked: u32,
        /// Number of CPUs that the job owns on the node.
        job: u32,
    },
    /// Other jobs' cpusets have some of its CPUs too.
    Shares(CpuSet),
    /// It has CPUs on memory nodes that other cpusets want for themselves.
    SharesMemory(NodeSet),
    /// `MEM_LIST` names memory nodes that other cpusets want for themselves.
    ListedMemory {
        /// The nodes.
        mems: NodeSet,
        /// Whether the cpuset does without them; with mandatory memory it has them.
        left_out: bool,
    },
    /// The kernel isolates some of its CPUs.
    Isolated(CpuSet),
    /// It could not be had, and the step runs without it.
    Without(String),
}

impl fmt::Display for CpusetNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::KernelAvoid => f.write_str(
                "CPUSET_MEMORY_KERNEL_AVOID is accepted, but Linux has nothing like it: the kernel takes \
                 its own memory where it wants; leave it out",
            ),
            Self::MemoryExclusive => f.write_str(
                "CPUSET_MEMORY_EXCLUSIVE: later cpusets and memory bindings avoid the memory nodes of this \
                 cpuset where they can, but the kernel does not enforce it",
            ),
            Self::Mandatory { mems, swap } => mandatory(f, mems, *swap),
            Self::ListIgnored => f.write_str(
                "CPUSET_MEMORY_LOCAL overrides MEM_LIST, which is ignored; leave one of the two out",
            ),
            Self::NoSuchMemory(missing) => write!(
                f,
                "MEM_LIST names memory nodes {} that this node does not have; they are ignored",
                repeated(missing)
            ),
            Self::RadiusIgnored => f.write_str(
                "MAX_RADIUS keeps the job on one node and means nothing else here: this site chooses the \
                 first free CPUs (cpuset_best=off)",
            ),
            Self::Cut { asked, job } => cut(f, *asked, *job),
            Self::Shares(cpus) => write!(
                f,
                "CPUs {} of this cpuset are in other cpusets too, because too few others are free; request \
                 fewer CPUs (NCPUS), or submit the job with --exclusive",
                repeated(cpus)
            ),
            Self::SharesMemory(mems) => write!(
                f,
                "this cpuset has CPUs on NUMA nodes {mems}, whose memory another cpuset wants for itself, \
                 because too few others are free; request fewer CPUs (NCPUS)"
            ),
            Self::ListedMemory { mems, left_out } => listed_memory(f, mems, *left_out),
            Self::Isolated(cpus) => write!(
                f,
                "the kernel isolates CPUs {} of this cpuset (isolcpus, nohz_full), and too few others are \
                 free; request fewer CPUs (NCPUS), or name CPUs in CPU_LIST",
                repeated(cpus)
            ),
            Self::Without(why) => write!(
                f,
                "{why}; the step runs without a cpuset, no task is bound, and every task may use all CPUs \
                 of the step"
            ),
        }
    }
}

fn cut(f: &mut fmt::Formatter<'_>, asked: u32, job: u32) -> fmt::Result {
    write!(
        f,
        "NCPUS={asked} is more than the {} that the job has on this node, and the cpuset has no others; \
         request more for the job (-n, -c, --exclusive), or write a smaller NCPUS",
        counted(job, "CPU")
    )
}

fn listed_memory(f: &mut fmt::Formatter<'_>, mems: &NodeSet, left_out: bool) -> fmt::Result {
    let does = match left_out {
        true => "they are left out; CPUSET_MEMORY_MANDATORY requests them all the same",
        false => "this cpuset has them all the same; leave them out if it can do without",
    };
    write!(
        f,
        "MEM_LIST names NUMA nodes {mems}, whose memory another cpuset wants for itself; {does}"
    )
}

fn mandatory(f: &mut fmt::Formatter<'_>, mems: &NodeSet, swap: bool) -> fmt::Result {
    match swap {
        true => write!(
            f,
            "CPUSET_MEMORY_MANDATORY: memory comes from NUMA nodes {mems} alone; when these are full the \
             job pages to swap, and without free swap the kernel ends one of its processes"
        ),
        false => write!(
            f,
            "CPUSET_MEMORY_MANDATORY and CPUSET_POLICY_KILL: memory comes from NUMA nodes {mems} \
             alone; when these are full the kernel ends one of the job's processes, and does not page to \
             swap where the tasks' cgroups have cgroup v2's memory controller"
        ),
    }
}
