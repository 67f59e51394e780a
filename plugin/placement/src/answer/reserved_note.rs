//! Notes on CPUs that are kept from tasks: isolated by the kernel, or reserved by the site.

use derive_more::Display;

use crate::sets::cpuset::CpuSet;

/// CPUs that tasks get all the same, or lack.
#[derive(Clone, Debug, PartialEq, Eq, Display)]
pub enum ReservedNote {
    /// Tasks have CPUs that the kernel isolates, because the step has too few others.
    #[display(
        "the kernel isolates CPUs {_0} (isolcpus, nohz_full), and tasks of this step get them because it has \
         too few others; use fewer tasks or a smaller -c"
    )]
    Isolated(CpuSet),
    /// The site keeps some of the step's CPUs free, and its tasks share the others.
    #[display(
        "this site keeps some of the CPUs free (reserved) that Slurm has given this step on this node; {tasks} \
         tasks share the others, CPUs {own}; use fewer tasks or a smaller -c"
    )]
    TooManyReserved {
        /// Tasks on this node.
        tasks: u32,
        /// The others.
        own: CpuSet,
    },
    /// The site keeps all of the step's CPUs free, and it runs there.
    #[display(
        "this site keeps CPUs {_0} of this node free (reserved), and Slurm has given this step no others; it \
         runs there; ask the administrator to name them in CpuSpecList= of slurm.conf"
    )]
    OnlyReserved(CpuSet),
    /// The user's default `--near` gives way to a cpuset that lists its CPUs.
    #[display("BERTH_NEAR={near} has no effect on this step: --cpuset={cpuset} lists the CPUs")]
    NoNear {
        /// The default.
        near: String,
        /// The cpuset.
        cpuset: String,
    },
}
