//! A cpuset request that cannot be read, or whose keywords contradict each other: what was found, what
//! is allowed, what to do. Every text is bounded, and no control character of a user's is in it.

use std::fmt;

use crate::request::cpuset::attributes::Attribute;
use crate::request::cpuset::keyword::Keyword;
use crate::sets::limits::{CPUSET_BYTES, MAX_ENTRIES};

/// A wrong `--cpuset`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CpusetError {
    /// It is longer than anything that is read.
    TooLong,
    /// It has no word at all.
    Empty,
    /// Its brackets are wrong.
    Brackets(String),
    /// A part is not `KEYWORD=VALUE`.
    NoEquals(String),
    /// There is no such keyword.
    UnknownKeyword {
        /// The word.
        found: String,
        /// The keyword that was probably meant.
        nearest: Option<&'static str>,
    },
    /// A keyword stands twice.
    Twice(Keyword),
    /// A value is not what may stand behind its keyword.
    Value {
        /// The keyword.
        keyword: Keyword,
        /// The value, or the part of it that is wrong.
        found: String,
    },
    /// A list names more CPUs than any node has, repeats counted.
    LongList(Keyword),
    /// There is no such attribute.
    UnknownAttribute {
        /// The word.
        found: String,
        /// The attribute that was probably meant.
        nearest: Option<&'static str>,
    },
    /// A cpuset that the site defines is requested without a name.
    NoName,
    /// Two words do not go together.
    Together {
        /// The one.
        one: String,
        /// The other.
        other: String,
        /// What to do.
        instead: &'static str,
    },
    /// The list of candidates is shorter than the number of CPUs.
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

const NO_NAME: &str = "CPUSET_TYPE=static requests a cpuset that the site defines; write its name too, as \
                       in CPUSET_NAME=MYSET";

impl fmt::Display for CpusetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong => write!(
                f,
                "the cpuset request is longer than {CPUSET_BYTES} bytes; write ranges such as 0-63 in its lists"
            ),
            Self::Empty => f.write_str(
                "the cpuset request is empty; CPUSET[] requests a cpuset of all CPUs that the job has \
                 on a node",
            ),
            Self::Brackets(found) => write!(
                f,
                "the brackets of \"{found}\" are wrong; write CPUSET[KEYWORD=VALUE;…], or the part \
                 between the brackets alone"
            ),
            Self::NoEquals(found) => {
                write!(f, "\"{found}\" is not KEYWORD=VALUE; a ; stands between two of them; ")?;
                one_of(f, None, "keywords", &Keyword::ALL.map(Keyword::word))
            }
            Self::UnknownKeyword { found, nearest } => {
                write!(f, "there is no keyword \"{found}\" in a cpuset request; ")?;
                one_of(f, *nearest, "keywords", &Keyword::ALL.map(Keyword::word))
            }
            Self::Twice(keyword) => write!(f, "{keyword} stands twice; write it once"),
            Self::Value { keyword, found } => write!(
                f,
                "\"{found}\" cannot stand behind {keyword}=; write {}",
                keyword.values()
            ),
            Self::LongList(keyword) => write!(
                f,
                "{keyword} names more than {MAX_ENTRIES} numbers, repeats counted; write a shorter list"
            ),
            Self::UnknownAttribute { found, nearest } => unknown_attribute(f, found, *nearest),
            Self::NoName => f.write_str(NO_NAME),
            Self::Together {
                one,
                other,
                instead,
            } => write!(f, "{one} and {other} do not go together; {instead}"),
            Self::FewCandidates { listed, ncpus } => few_candidates(f, *listed, *ncpus),
        }
    }
}

fn unknown_attribute(
    f: &mut fmt::Formatter<'_>,
    found: &str,
    nearest: Option<&str>,
) -> fmt::Result {
    write!(f, "there is no attribute \"{found}\" for CPUSET_OPTIONS; ")?;
    match found.contains(',') {
        true => f.write_str("a | stands between two attributes"),
        false => one_of(
            f,
            nearest,
            "attributes",
            &Attribute::ALL.map(Attribute::word),
        ),
    }
}

/// The word that was probably meant, or all of them.
fn one_of(
    f: &mut fmt::Formatter<'_>,
    nearest: Option<&str>,
    what: &str,
    all: &[&str],
) -> fmt::Result {
    match nearest {
        Some(word) => write!(f, "the nearest is {word}"),
        None => write!(f, "the {what} are {}", all.join(", ")),
    }
}

fn few_candidates(f: &mut fmt::Formatter<'_>, listed: u32, ncpus: u32) -> fmt::Result {
    write!(
        f,
        "CPU_LIST names {listed} CPUs, and the cpuset needs {ncpus} on each node; list at least as many, \
         or request fewer"
    )
}

impl std::error::Error for CpusetError {}
