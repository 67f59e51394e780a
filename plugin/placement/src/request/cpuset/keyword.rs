//! The keywords of a cpuset request, and what may stand behind each. Pure data.

use derive_more::Display;

/// A keyword; they are written in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Display)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[display("{}", self.word())]
pub enum Keyword {
    /// `dynamic`, `static` or `none`.
    Type,
    /// A cpuset of the site's file.
    Name,
    /// Number of CPUs on each node: berth's own word.
    Ncpus,
    /// Candidates by kernel number.
    CpuList,
    /// The largest distance between two CPUs.
    MaxRadius,
    /// The most CPUs in any one NUMA node.
    MaxCpuPerNode,
    /// Whole NUMA nodes.
    NodeEx,
    /// Memory nodes beside the local ones.
    MemList,
    /// What is eligible when the job is resumed.
    ResumeOption,
    /// Attributes.
    Options,
}

impl Keyword {
    /// Every keyword, in order.
    pub const ALL: [Self; 10] = [
        Self::Type,
        Self::Name,
        Self::Ncpus,
        Self::CpuList,
        Self::MaxRadius,
        Self::MaxCpuPerNode,
        Self::NodeEx,
        Self::MemList,
        Self::ResumeOption,
        Self::Options,
    ];

    /// Whether it may stand in a request for a cpuset that the site defines.
    #[must_use]
    pub fn goes_with_static(self) -> bool {
        matches!(self, Self::Type | Self::Name | Self::Ncpus)
    }

    /// As LSF writes it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Type => "CPUSET_TYPE",
            Self::Name => "CPUSET_NAME",
            Self::Ncpus => "NCPUS",
            Self::CpuList => "CPU_LIST",
            Self::MaxRadius => "MAX_RADIUS",
            Self::MaxCpuPerNode => "MAX_CPU_PER_NODE",
            Self::NodeEx => "NODE_EX",
            Self::MemList => "MEM_LIST",
            Self::ResumeOption => "RESUME_OPTION",
            Self::Options => "CPUSET_OPTIONS",
        }
    }

    /// What may stand behind it, for errors.
    #[must_use]
    pub fn values(self) -> &'static str {
        match self {
            Self::Type => "dynamic, static or none",
            Self::Name => {
                "the name of a cpuset: letters, digits and any of _ - . @ +, 64 at the most, \
                 the first one a letter, a digit or _"
            }
            Self::Ncpus | Self::MaxCpuPerNode => "a number of CPUs (1 to 65536)",
            Self::CpuList => "a list of CPU numbers below 65536, such as 1,5,7-12",
            Self::MaxRadius => "a radius (0 to 65536)",
            Self::NodeEx => "Y or N",
            Self::MemList => "a list of memory nodes below 65536, such as 0,1-2",
            Self::ResumeOption => "ORIG_CPUS",
            Self::Options => {
                "attributes joined by |, such as CPUSET_CPU_EXCLUSIVE|CPUSET_MEMORY_LOCAL"
            }
        }
    }
}
