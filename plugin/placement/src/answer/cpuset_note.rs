//! Notes on a cpuset that a job gets. Each text states what was requested, what was found and what to
//! do.

use derive_more::Display;

use crate::sets::bounded::repeated;
use crate::sets::count::counted;
use crate::sets::cpuset::CpuSet;
use crate::sets::nodeset::NodeSet;

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
