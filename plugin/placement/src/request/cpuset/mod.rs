//! LSF's cpusets: `--cpuset=CPUSET[KEYWORD=VALUE;…]`. Only the text is read here.
//! In: what stands behind `bsub -extsched`. Out: [`CpusetRequest`], or an error that shows what may
//! stand there. Pure.
//!
//! It is read in two steps: a text becomes [`Words`], in which a keyword may have no value, and words,
//! perhaps merged with those of a partition, become a [`CpusetRequest`]. Blanks do not matter, nor do a
//! last `;`, an attribute that is repeated, and the case of anything but a cpuset's name.

mod check;
mod keyword;
#[cfg(test)]
mod tests;
mod words;

use std::fmt;
use std::str::FromStr;

use derive_more::Display;
use strum::EnumString;

use crate::sets::cpuset::CpuSet;
use crate::sets::cpuset::NodeSet;
use crate::sets::ids::CpuId;
use crate::sets::limits::WORD_BYTES;
use crate::sets::text::{TextError, write_ranges};

pub use keyword::{Attribute, Attributes, CpusetError, Keyword};
pub use words::Words;

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
            Self::None => in_brackets(f, [(Keyword::Type, "none")]),
            Self::Static(set) => set.fmt(f),
            Self::Dynamic(set) => set.fmt(f),
        }
    }
}

impl fmt::Display for Static {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = [
            (Keyword::Type, Some("static".into())),
            (Keyword::Name, Some(self.name.to_string())),
            (Keyword::Ncpus, self.ncpus.map(|count| count.to_string())),
        ];
        in_brackets(f, given(words))
    }
}

impl fmt::Display for Dynamic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = |number: Option<u32>| number.map(|number| number.to_string());
        let whole = self.node_ex.map(|whole| if whole { "Y" } else { "N" });
        let options = Some(self.attributes).filter(|all| !all.is_empty());
        let words = [
            (Keyword::Ncpus, number(self.ncpus)),
            (
                Keyword::CpuList,
                self.cpu_list.as_ref().map(CpuList::to_string),
            ),
            (Keyword::MaxRadius, number(self.max_radius)),
            (Keyword::MaxCpuPerNode, number(self.max_cpu_per_node)),
            (Keyword::NodeEx, whole.map(String::from)),
            (
                Keyword::MemList,
                self.mem_list.as_ref().map(NodeSet::to_string),
            ),
            (
                Keyword::ResumeOption,
                self.orig_cpus.then(|| "ORIG_CPUS".into()),
            ),
            (Keyword::Options, options.map(|all| all.to_string())),
        ];
        let cleared = self.cleared.iter().map(|keyword| (*keyword, String::new()));
        in_brackets(f, given(words).chain(cleared))
    }
}

/// The words that have a value.
fn given<const N: usize>(
    words: [(Keyword, Option<String>); N],
) -> impl Iterator<Item = (Keyword, String)> {
    let words = words.into_iter();
    words.filter_map(|(keyword, value)| Some((keyword, value?)))
}

/// Writes words as LSF has them: `CPUSET[KEYWORD=VALUE;…]`.
fn in_brackets<V: fmt::Display>(
    f: &mut fmt::Formatter<'_>,
    words: impl IntoIterator<Item = (Keyword, V)>,
) -> fmt::Result {
    let words = words.into_iter();
    let words: Vec<_> = words
        .map(|(keyword, value)| format!("{keyword}={value}"))
        .collect();
    write!(f, "CPUSET[{}]", words.join(";"))
}

/// Different CPUs in an order, as runs of successive numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct CpuList {
    /// The first and last number of each run.
    runs: Vec<(u32, u32)>,
    cpus: CpuSet,
}

impl CpuList {
    /// Appends a CPU, unless the list has it.
    fn push(&mut self, cpu: CpuId) {
        if self.cpus.contains(cpu) {
            return;
        }
        self.cpus.insert(cpu);
        match self.runs.last_mut() {
            Some((_, last)) if *last + 1 == cpu.0 => *last = cpu.0,
            _ => self.runs.push((cpu.0, cpu.0)),
        }
    }

    /// The CPUs in the list's order.
    pub fn iter(&self) -> impl Iterator<Item = CpuId> + '_ {
        let runs = self.runs.iter();
        runs.flat_map(|(first, last)| (*first..=*last).map(CpuId))
    }

    /// The CPUs without their order.
    #[must_use]
    pub fn cpus(&self) -> &CpuSet {
        &self.cpus
    }
}

impl fmt::Display for CpuList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_ranges(f, self.runs.iter().copied())
    }
}

/// The name of a cpuset in the site's file. It stands in logs, in the ledger and in variables of tasks.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Display)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct CpusetName(String);

impl CpusetName {
    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for CpusetName {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        let is_letter = |letter: u8| letter.is_ascii_alphanumeric() || b"_-.@+".contains(&letter);
        let first = text.bytes().next();
        let fits = text.len() <= WORD_BYTES
            && first.is_some_and(|first| first.is_ascii_alphanumeric() || first == b'_')
            && text.bytes().all(is_letter);
        match fits {
            true => Ok(Self(text.into())),
            false => Err(TextError::new(
                text,
                "the name of a cpuset: letters, digits and any of _ - . @ +, 64 at the most, the \
                 first one a letter, a digit or _",
            )),
        }
    }
}

/// The cpuset of a step's job on this node.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum StepCpuset {
    /// It is chosen with this step, the first one of its job here.
    Choose(Choice),
    /// It exists: an earlier step of the job chose it, or the site's file has it.
    Given(ExistingCpuset),
}

/// A cpuset to choose.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Choice {
    /// The checked request.
    pub requested: Dynamic,
    /// Number of nodes of the job; 0 if it is unknown.
    pub job_nodes: u32,
    /// Whether the user wrote the number of CPUs, and no command worked it out.
    pub is_count_typed: bool,
}

/// A cpuset that exists.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ExistingCpuset {
    /// The request that led to it.
    pub requested: CpusetRequest,
    /// Its CPUs. Those that the job does not own count for nothing.
    pub cpus: CpuSet,
    /// Its memory nodes; without them the nodes of its CPUs.
    pub mems: Option<NodeSet>,
    /// Its attributes: the request's, or those of the site's file.
    pub attributes: Attributes,
}

impl StepCpuset {
    /// Whether the request that leads to it lists CPUs.
    #[must_use]
    pub fn has_cpu_list(&self) -> bool {
        match self {
            Self::Choose(choice) => choice.requested.cpu_list.is_some(),
            Self::Given(given) => given.requested.has_cpu_list(),
        }
    }
}

/// The request that leads to it.
impl fmt::Display for StepCpuset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Choose(choice) => choice.requested.fmt(f),
            Self::Given(given) => given.requested.fmt(f),
        }
    }
}

/// The consequence of a cpuset that cannot be had.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, strum::Display, EnumString)]
#[strum(serialize_all = "lowercase", parse_err_ty = TextError, parse_err_fn = no_cpuset_fail)]
pub enum CpusetFail {
    /// The step is refused.
    #[default]
    Refuse,
    /// The step runs without a cpuset and without a binding, with a note.
    Unbound,
}

fn no_cpuset_fail(text: &str) -> TextError {
    let wanted = "refuse or unbound; no step waits for CPUs, because Slurm queues jobs";
    TextError::new(text, wanted)
}
