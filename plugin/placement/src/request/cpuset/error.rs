//! A cpuset request that cannot be read, or whose keywords contradict each other: what was found, what
//! is allowed, what to do. Every text is bounded, and no control character of a user's is in it.

use std::fmt;

use derive_more::Display;
use strum::VariantArray;

use crate::request::cpuset::attributes::Attribute;
use crate::request::cpuset::keyword::Keyword;
use crate::sets::limits::{CPUSET_BYTES, MAX_ENTRIES};

/// A wrong `--cpuset`.
#[derive(Clone, Debug, PartialEq, Eq, Display)]
pub enum CpusetError {
    /// It is longer than anything that is read.
    #[display(
        "the cpuset request is longer than {CPUSET_BYTES} bytes; write ranges such as 0-63 in its lists"
    )]
    TooLong,
    /// It has no word at all.
    #[display(
        "the cpuset request is empty; CPUSET[] requests a cpuset of all CPUs that the job has on a node"
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
        /// What to do.
        instead: &'static str,
    },
    /// The list of candidates is shorter than the number of CPUs.
    #[display(
        "CPU_LIST names {listed} CPUs, and the cpuset needs {ncpus} on each node; list at least as many, or \
         request fewer"
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
