//! Words of a cpuset request become a request: every value is read, and what does not go together is
//! refused. In: [`Words`]. Out: [`CpusetRequest`], or an error. Pure.

use std::str::FromStr;

use crate::request::cpuset::keyword::{Attribute, CpusetError, Keyword};
use crate::request::cpuset::words::{Value, Words};
use crate::request::cpuset::{CpusetRequest, Dynamic, Static};

/// `CPUSET_TYPE` names one of these.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Type {
    Dynamic,
    Static,
    None,
}

/// A request as a user types it.
impl FromStr for CpusetRequest {
    type Err = CpusetError;

    fn from_str(text: &str) -> Result<Self, CpusetError> {
        Self::of(&text.parse()?)
    }
}

impl CpusetRequest {
    /// The request of some words. Keywords without a value request nothing.
    ///
    /// # Errors
    /// [`CpusetError`] for a wrong value, and for words that do not go together.
    pub fn of(words: &Words) -> Result<Self, CpusetError> {
        let of_keyword = |keyword| {
            let text = words.get(keyword).filter(|text| !text.is_empty())?;
            Some(Value { keyword, text })
        };
        let known = [
            ("dynamic", Type::Dynamic),
            ("static", Type::Static),
            ("none", Type::None),
        ];
        let named = of_keyword(Keyword::Name);
        let typed = of_keyword(Keyword::Type).map(|value| value.word(known));
        let is_of = typed.transpose()?;
        let default = match named {
            Some(_) => Type::Static,
            None => Type::Dynamic,
        };
        match is_of.unwrap_or(default) {
            Type::None => {
                let is_type = |keyword| keyword == Keyword::Type;
                only(words, is_type, "CPUSET_TYPE=none")?;
                Ok(Self::None)
            }
            Type::Static => {
                let what = match named {
                    Some(_) => "CPUSET_NAME, a cpuset that the site defines,",
                    None => "CPUSET_TYPE=static",
                };
                only(words, Keyword::goes_with_static, what)?;
                Ok(Self::Static(Static {
                    name: named.ok_or(CpusetError::NoName)?.name()?,
                    ncpus: of_keyword(Keyword::Ncpus)
                        .map(|value| value.number(1))
                        .transpose()?,
                }))
            }
            Type::Dynamic if named.is_some() => Err(CpusetError::together(
                "CPUSET_TYPE=dynamic",
                Keyword::Name,
                "a name is that of a cpuset of the site (CPUSET_TYPE=static): leave one of the two out",
            )),
            Type::Dynamic => {
                let cleared = words.iter().filter(|(_, value)| value.is_empty());
                Ok(Self::Dynamic(Dynamic {
                    cleared: cleared.map(|(keyword, _)| keyword).collect(),
                    ..dynamic(of_keyword)?
                }))
            }
        }
    }
}

/// Refuses every keyword but some.
fn only(words: &Words, allowed: impl Fn(Keyword) -> bool, what: &str) -> Result<(), CpusetError> {
    let some = words.iter().filter(|(_, value)| !value.is_empty());
    let other = some
        .map(|(keyword, _)| keyword)
        .find(|keyword| !allowed(*keyword));
    match other {
        Some(other) => Err(CpusetError::together(
            what,
            other,
            "leave one of the two out",
        )),
        None => Ok(()),
    }
}

fn dynamic<'a>(of: impl Fn(Keyword) -> Option<Value<'a>>) -> Result<Dynamic, CpusetError> {
    let number = |keyword, least| of(keyword).map(|value| value.number(least)).transpose();
    let yes_or_no = |value: Value<'_>| value.word([("Y", true), ("N", false)]);
    let original = |value: Value<'_>| value.word([("ORIG_CPUS", true)]);
    let set = Dynamic {
        ncpus: number(Keyword::Ncpus, 1)?,
        cpu_list: of(Keyword::CpuList).map(Value::cpu_list).transpose()?,
        max_radius: number(Keyword::MaxRadius, 0)?,
        max_cpu_per_node: number(Keyword::MaxCpuPerNode, 1)?,
        node_ex: of(Keyword::NodeEx).map(yes_or_no).transpose()?,
        mem_list: of(Keyword::MemList).map(Value::nodes).transpose()?,
        orig_cpus: of(Keyword::ResumeOption)
            .map(original)
            .transpose()?
            .unwrap_or(false),
        attributes: of(Keyword::Options)
            .map(Value::attributes)
            .transpose()?
            .unwrap_or_default(),
        cleared: Vec::new(),
    };
    goes_together(&set)?;
    Ok(set)
}

fn goes_together(set: &Dynamic) -> Result<(), CpusetError> {
    let has = |attribute| set.has(attribute);
    if set.max_cpu_per_node.is_some() && set.node_ex == Some(true) {
        let (one, other) = (Keyword::MaxCpuPerNode, "NODE_EX=Y");
        return Err(CpusetError::together(
            one,
            other,
            "leave one of the two out",
        ));
    }
    if has(Attribute::MemoryMandatory) {
        let whole = "mandatory memory implies whole NUMA nodes: leave one of the two out";
        if set.max_cpu_per_node.is_some() {
            let (one, other) = (Attribute::MemoryMandatory, Keyword::MaxCpuPerNode);
            return Err(CpusetError::together(one, other, whole));
        }
        if set.node_ex == Some(false) {
            let (one, other) = (Attribute::MemoryMandatory, "NODE_EX=N");
            return Err(CpusetError::together(one, other, whole));
        }
    }
    let policies = [Attribute::PolicyPage, Attribute::PolicyKill];
    let [one, other] = policies;
    if has(one) && has(other) {
        return Err(CpusetError::together(one, other, "choose one of the two"));
    }
    if let Some(policy) = policies.into_iter().find(|policy| has(*policy))
        && !has(Attribute::MemoryMandatory)
    {
        return Err(CpusetError::together(
            policy,
            "memory that is not mandatory",
            "add CPUSET_MEMORY_MANDATORY to CPUSET_OPTIONS, or leave the policy out",
        ));
    }
    let listed = set.cpu_list.as_ref().map(|list| list.cpus().count() as u32);
    match (listed, set.ncpus) {
        (Some(listed), Some(ncpus)) if listed < ncpus => {
            Err(CpusetError::FewCandidates { listed, ncpus })
        }
        _ => Ok(()),
    }
}
