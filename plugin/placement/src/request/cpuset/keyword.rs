//! The keywords and attributes of a cpuset request, and the error that names them: what was found, what is allowed,
//! what to do. Every text is bounded, and no control character of a user's is in it. Pure.

use std::fmt;

use strum::{EnumCount, EnumString, IntoStaticStr, VariantArray};

use crate::sets::limits::{CPUSET_BYTES, MAX_ENTRIES};
use crate::sets::text::counted;

/// A keyword; they are written in this order.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    strum::Display,
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
    /// The eligible CPUs when the job is resumed.
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

    /// The values that may stand behind it, for errors.
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

/// An attribute of a cpuset; they are written in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::Display, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "SCREAMING_SNAKE_CASE", prefix = "CPUSET_")]
pub enum Attribute {
    /// No other cpuset and no `--binding` gets these CPUs.
    CpuExclusive,
    /// Memory comes from the cpuset's own nodes first.
    MemoryLocal,
    /// Later cpusets and memory bindings avoid its nodes where they can.
    MemoryExclusive,
    /// The kernel's own memory should come from elsewhere. Linux has no such thing.
    MemoryKernelAvoid,
    /// Memory comes from the cpuset's nodes and from no others.
    MemoryMandatory,
    /// A full node pages to swap.
    PolicyPage,
    /// A full node does not page to swap.
    PolicyKill,
}

/// A set of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Attributes(u8);

impl Attributes {
    /// Whether an attribute is a member.
    #[must_use]
    pub fn has(self, attribute: Attribute) -> bool {
        self.0 & 1 << attribute as u8 != 0
    }

    /// This set with one more attribute.
    #[must_use]
    pub fn with(self, attribute: Attribute) -> Self {
        Self(self.0 | 1 << attribute as u8)
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The members, in order.
    pub fn iter(self) -> impl Iterator<Item = Attribute> {
        let all = Attribute::VARIANTS.iter().copied();
        all.filter(move |attribute| self.has(*attribute))
    }
}

/// Joined by `|`.
impl fmt::Display for Attributes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, attribute) in self.iter().enumerate() {
            f.write_str(if at > 0 { "|" } else { "" })?;
            attribute.fmt(f)?;
        }
        Ok(())
    }
}

/// A wrong `--cpuset`.
#[derive(Clone, Debug, PartialEq, Eq, derive_more::Display)]
pub enum CpusetError {
    /// It is longer than anything that is read.
    #[display(
        "the cpuset request is longer than {CPUSET_BYTES} bytes; write ranges such as 0-63 in its lists"
    )]
    TooLong,
    /// It has no word at all.
    #[display(
        "the cpuset request is empty; CPUSET[] requests a cpuset of the CPUs that the job requests on a node"
    )]
    Empty,
    /// Its brackets are wrong.
    #[display(
        "the brackets of \"{_0}\" are wrong; write CPUSET[KEYWORD=VALUE;…], or the part between the brackets \
         alone"
    )]
    Brackets(String),
    /// A part is not `KEYWORD=VALUE`.
    #[display(
        "\"{_0}\" is not KEYWORD=VALUE; a ; stands between two of them; {}",
        keywords(None)
    )]
    NoEquals(String),
    /// There is no such keyword.
    #[display("there is no keyword \"{found}\" in a cpuset request; {}", keywords(*nearest))]
    UnknownKeyword {
        /// The word.
        found: String,
        /// The keyword that was probably meant.
        nearest: Option<&'static str>,
    },
    /// A keyword stands twice.
    #[display("{_0} stands twice; write it once")]
    Twice(Keyword),
    /// A value is not what may stand after its keyword.
    #[display("\"{found}\" cannot stand behind {keyword}=; write {}", keyword.values())]
    Value {
        /// The keyword.
        keyword: Keyword,
        /// The value, or the part of it that is wrong.
        found: String,
    },
    /// A list names more CPUs than any node has, repeats counted.
    #[display("{_0} names more than {MAX_ENTRIES} numbers, repeats counted; write a shorter list")]
    LongList(Keyword),
    /// There is no such attribute.
    #[display(
        "there is no attribute \"{found}\" for CPUSET_OPTIONS; {}",
        attributes(found, *nearest)
    )]
    UnknownAttribute {
        /// The word.
        found: String,
        /// The attribute that was probably meant.
        nearest: Option<&'static str>,
    },
    /// A cpuset that the site defines is requested without a name.
    #[display(
        "CPUSET_TYPE=static requests a cpuset that the site defines; write its name too, as in CPUSET_NAME=MYSET"
    )]
    NoName,
    /// Two words do not go together.
    #[display("{one} and {other} do not go together; {instead}")]
    Together {
        /// The one.
        one: String,
        /// The other.
        other: String,
        /// The words to use instead.
        instead: &'static str,
    },
    /// The list of candidates is shorter than the number of CPUs.
    #[display(
        "CPU_LIST names {}, and the cpuset needs {ncpus} on each node; list at least as many, or request fewer",
        counted(*listed, "CPU")
    )]
    FewCandidates {
        /// Listed CPUs.
        listed: u32,
        /// Number of CPUs.
        ncpus: u32,
    },
}

impl CpusetError {
    pub(super) fn together(
        one: impl fmt::Display,
        other: impl fmt::Display,
        instead: &'static str,
    ) -> Self {
        Self::Together {
            one: one.to_string(),
            other: other.to_string(),
            instead,
        }
    }
}

fn keywords(nearest: Option<&str>) -> String {
    let all = Keyword::ALL.iter().map(Into::into);
    one_of(nearest, "keywords", all.collect())
}

fn attributes(found: &str, nearest: Option<&str>) -> String {
    match found.contains(',') {
        true => "a | stands between two attributes".into(),
        false => {
            let all = Attribute::VARIANTS.iter().map(Into::into);
            one_of(nearest, "attributes", all.collect())
        }
    }
}

/// The word that was probably meant, or all of them.
fn one_of(nearest: Option<&str>, what: &str, all: Vec<&str>) -> String {
    match nearest {
        Some(word) => format!("the nearest is {word}"),
        None => format!("the {what} are {}", all.join(", ")),
    }
}

impl std::error::Error for CpusetError {}
