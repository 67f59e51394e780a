//! The submitting command's word about a `--cpuset` to the nodes: how many CPUs the job or step needs on each,
//! and whether the cpuset is the whole job's. In: a size. Out: its text, and back.

use std::ffi::CStr;
use std::fmt;
use std::str::FromStr;

/// The option by which it travels. Only berth itself gives it.
pub(crate) const OPTION: &CStr = c"berth-cpuset-size";
/// Bytes that its value may have.
pub(crate) const MOST: usize = 32;

/// StepIdentity cpuset it is, and how large. A user's own client may write anything here; it changes only which of
/// the job's own CPUs the job's own tasks get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    /// Whether it is the cpuset of all steps of the job.
    pub of_job: bool,
    /// CPUs on each node; all that the job has there if it is not known.
    pub cpus: Option<u32>,
}

/// A cpuset without such a word is the job's, with all CPUs unless its own text says how many.
impl Default for Size {
    fn default() -> Self {
        Self {
            of_job: true,
            cpus: None,
        }
    }
}

impl Size {
    /// The meaning of a text; one that cannot be read means nothing, because berth alone writes it.
    pub(crate) fn of(text: Option<&str>) -> Self {
        text.and_then(|text| text.parse().ok()).unwrap_or_default()
    }
}

const JOB: &str = "job";
const STEP: &str = "step";

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.of_job { JOB } else { STEP })?;
        self.cpus.map_or(Ok(()), |cpus| write!(f, ":{cpus}"))
    }
}

impl FromStr for Size {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (whose, cpus) = match text.split_once(':') {
            Some((whose, cpus)) => (whose, Some(cpus.parse().map_err(drop)?)),
            None => (text, None),
        };
        match whose {
            JOB | STEP => Ok(Self {
                of_job: whose == JOB,
                cpus,
            }),
            _ => Err(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_read_as_written() {
        for (of_job, cpus, text) in [
            (true, None, "job"),
            (true, Some(8), "job:8"),
            (false, Some(4_000_000_000), "step:4000000000"),
            (false, None, "step"),
        ] {
            let size = Size { of_job, cpus };
            assert_eq!(size.to_string(), text);
            assert_eq!(Size::of(Some(text)), size);
            assert!(text.len() <= MOST);
        }
        for wrong in [
            "",
            "8",
            "job:",
            "job:x",
            "job:-1",
            "node:3",
            "job:4000000000000",
        ] {
            assert_eq!(Size::of(Some(wrong)), Size::default(), "{wrong}");
        }
    }
}
