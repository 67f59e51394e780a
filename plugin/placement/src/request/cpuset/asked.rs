//! A checked cpuset request. Pure data; its text parses to itself.

use std::fmt;

use crate::request::cpuset::attributes::{Attribute, Attributes};
use crate::request::cpuset::cpu_list::CpuList;
use crate::request::cpuset::keyword::Keyword;
use crate::request::cpuset::name::CpusetName;
use crate::sets::nodeset::NodeSet;

/// A `--cpuset`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CpusetRequest {
    /// No cpuset, also not a partition's default one.
    None,
    /// A cpuset that the site defines.
    Static(Static),
    /// A cpuset that is chosen for the job.
    Dynamic(Dynamic),
}

/// A cpuset that the site defines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Static {
    /// Its name in the site's file.
    pub name: CpusetName,
    /// Number of CPUs that the job needs of it on each node.
    pub ncpus: Option<u32>,
}

/// A cpuset that is chosen for the job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dynamic {
    /// Number of CPUs on each node; without it all that the job has there.
    pub ncpus: Option<u32>,
    /// Candidates by kernel number, in the list's order.
    pub cpu_list: Option<CpuList>,
    /// The largest distance between two CPUs.
    pub max_radius: Option<u32>,
    /// The most CPUs in any one NUMA node.
    pub max_cpu_per_node: Option<u32>,
    /// Whether whole NUMA nodes are requested (`Y`) or excluded (`N`).
    pub node_ex: Option<bool>,
    /// Memory nodes beside the local ones.
    pub mem_list: Option<NodeSet>,
    /// Whether only CPUs of the original NUMA nodes are eligible when the job is resumed.
    pub orig_cpus: bool,
    /// Attributes.
    pub attributes: Attributes,
}

impl CpusetRequest {
    /// Number of CPUs on each node, if it is given.
    #[must_use]
    pub fn ncpus(&self) -> Option<u32> {
        match self {
            Self::None => None,
            Self::Static(set) => set.ncpus,
            Self::Dynamic(set) => set.ncpus,
        }
    }
}

impl Dynamic {
    /// Whether it has an attribute.
    #[must_use]
    pub fn has(&self, attribute: Attribute) -> bool {
        self.attributes.has(attribute)
    }

    /// Whether it has whole NUMA nodes: asked for, or implied by mandatory memory.
    #[must_use]
    pub fn has_whole_nodes(&self) -> bool {
        self.node_ex == Some(true) || self.has(Attribute::MemoryMandatory)
    }
}

impl fmt::Display for CpusetRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut words = Written { f, some: false };
        words.f.write_str("CPUSET[")?;
        match self {
            Self::None => words.add(Keyword::Type, Some("none"))?,
            Self::Static(set) => {
                words.add(Keyword::Type, Some("static"))?;
                words.add(Keyword::Name, Some(&set.name))?;
                words.add(Keyword::Ncpus, set.ncpus)?;
            }
            Self::Dynamic(set) => {
                words.add(Keyword::Ncpus, set.ncpus)?;
                words.add(Keyword::CpuList, set.cpu_list.as_ref())?;
                words.add(Keyword::MaxRadius, set.max_radius)?;
                words.add(Keyword::MaxCpuPerNode, set.max_cpu_per_node)?;
                let letter = |whole| if whole { "Y" } else { "N" };
                words.add(Keyword::NodeEx, set.node_ex.map(letter))?;
                words.add(Keyword::MemList, set.mem_list.as_ref())?;
                let original = set.orig_cpus.then_some("ORIG_CPUS");
                words.add(Keyword::ResumeOption, original)?;
                let some = Some(set.attributes).filter(|all| !all.is_empty());
                words.add(Keyword::Options, some)?;
            }
        }
        f.write_str("]")
    }
}

/// Words on their way into a text.
struct Written<'a, 'f> {
    f: &'a mut fmt::Formatter<'f>,
    some: bool,
}

impl Written<'_, '_> {
    fn add(&mut self, keyword: Keyword, value: Option<impl fmt::Display>) -> fmt::Result {
        let Some(value) = value else {
            return Ok(());
        };
        self.f.write_str(if self.some { ";" } else { "" })?;
        self.some = true;
        write!(self.f, "{keyword}={value}")
    }
}
