//! The keywords of a cpuset request, and what may stand behind each. Pure data.

use strum::{Display, EnumCount, EnumString, IntoStaticStr, VariantArray};

/// A keyword; they are written in this order.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Display,
    EnumCount,
    EnumString,
    IntoStaticStr,
    VariantArray,
)]
#[strum(serialize_all = "SCREAMING_SNAKE_CASE", ascii_case_insensitive)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Keyword {
    /// `dynamic`, `static` or `none`.
    #[strum(serialize = "CPUSET_TYPE")]
    Type,
    /// A cpuset of the site's file.
    #[strum(serialize = "CPUSET_NAME")]
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
    #[strum(serialize = "CPUSET_OPTIONS")]
    Options,
}

impl Keyword {
    /// Every keyword, in order.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// Whether it may stand in a request for a cpuset that the site defines.
    #[must_use]
    pub fn goes_with_static(self) -> bool {
        matches!(self, Self::Type | Self::Name | Self::Ncpus)
    }

    /// As LSF writes it.
    #[must_use]
    pub fn word(self) -> &'static str {
        self.into()
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
