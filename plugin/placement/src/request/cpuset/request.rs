//! A checked cpuset request. Pure data; its text parses to itself.

use std::fmt;

use crate::request::cpuset::attributes::{Attribute, Attributes};
use crate::request::cpuset::cpu_list::CpuList;
use crate::request::cpuset::keyword::Keyword;
use crate::request::cpuset::name::CpusetName;
use crate::sets::nodeset::NodeSet;

/// A `--cpuset`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
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
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Static {
    /// Its name in the site's file.
    pub name: CpusetName,
    /// Number of CPUs that the job needs of it on each node.
    pub ncpus: Option<u32>,
}

/// A cpuset that is chosen for the job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
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
    /// Keywords with nothing behind their `=`: they take a partition's default away.
    pub cleared: Vec<Keyword>,
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

    /// Whether it lists its CPUs.
    #[must_use]
    pub fn has_cpu_list(&self) -> bool {
        matches!(self, Self::Dynamic(set) if set.cpu_list.is_some())
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
        match self {
            Self::None => Written::new(f)?.add(Keyword::Type, Some("none"))?.end(),
            Self::Static(set) => set.fmt(f),
            Self::Dynamic(set) => set.fmt(f),
        }
    }
}

impl fmt::Display for Static {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Written::new(f)?
            .add(Keyword::Type, Some("static"))?
            .add(Keyword::Name, Some(&self.name))?
            .add(Keyword::Ncpus, self.ncpus)?
            .end()
    }
}

impl fmt::Display for Dynamic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = self.node_ex.map(|whole| if whole { "Y" } else { "N" });
        let some = Some(self.attributes).filter(|all| !all.is_empty());
        let written = Written::new(f)?
            .add(Keyword::Ncpus, self.ncpus)?
            .add(Keyword::CpuList, self.cpu_list.as_ref())?
            .add(Keyword::MaxRadius, self.max_radius)?
            .add(Keyword::MaxCpuPerNode, self.max_cpu_per_node)?
            .add(Keyword::NodeEx, whole)?
            .add(Keyword::MemList, self.mem_list.as_ref())?
            .add(Keyword::ResumeOption, self.orig_cpus.then_some("ORIG_CPUS"))?
            .add(Keyword::Options, some)?;
        let cleared = self.cleared.iter();
        let written = cleared
            .copied()
            .try_fold(written, |written, keyword| written.add(keyword, Some("")));
        written?.end()
    }
}

/// Words on their way into a text.
struct Written<'a, 'f> {
    f: &'a mut fmt::Formatter<'f>,
    some: bool,
}

impl<'a, 'f> Written<'a, 'f> {
    fn new(f: &'a mut fmt::Formatter<'f>) -> Result<Self, fmt::Error> {
        f.write_str("CPUSET[")?;
        Ok(Self { f, some: false })
    }

    fn add(
        mut self,
        keyword: Keyword,
        value: Option<impl fmt::Display>,
    ) -> Result<Self, fmt::Error> {
        if let Some(value) = value {
            self.f.write_str(if self.some { ";" } else { "" })?;
            write!(self.f, "{keyword}={value}")?;
            self.some = true;
        }
        Ok(self)
    }

    fn end(self) -> fmt::Result {
        self.f.write_str("]")
    }
}
