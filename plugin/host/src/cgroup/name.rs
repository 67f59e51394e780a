//! The names of our own cgroups. They say whose they are, so that nobody else's is ever removed.

use std::fmt;
use std::str::FromStr;

/// The first part of every such name.
const PREFIX: &str = "berth_";

/// The name of a task's cgroup: `berth_12.0.3_4567`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name {
    /// The job.
    pub job: u32,
    /// The step, by Slurm's number.
    pub step: u32,
    /// The task, by its number in the step.
    pub task: u32,
    /// The slurmstepd with this process number made the cgroup, and removes it.
    pub maker: u32,
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            job,
            step,
            task,
            maker,
        } = self;
        write!(f, "{PREFIX}{job}.{step}.{task}_{maker}")
    }
}

impl FromStr for Name {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (ids, maker) = text
            .strip_prefix(PREFIX)
            .and_then(|rest| rest.split_once('_'))
            .ok_or(())?;
        let mut ids = ids.split('.').map(|id| id.parse().ok());
        let mut id = || ids.next().flatten().ok_or(());
        let found = Self {
            job: id()?,
            step: id()?,
            task: id()?,
            maker: maker.parse().map_err(|_| ())?,
        };
        // Only the spelling that we write is ours.
        (found.to_string() == text).then_some(found).ok_or(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_spelling_is_ours() {
        let name = Name {
            job: 12,
            step: u32::MAX - 4,
            task: 3,
            maker: 4567,
        };
        assert_eq!(name.to_string().parse(), Ok(name));
        for other in [
            "",
            "berth",
            "berth_",
            "task_0",
            "berth_12.0.3_",
            "berth_12.0.3_+7",
            "berth_012.0.3_7",
            "berth_12.0_7",
            "berth_12.0.3.4_7",
            "berth_12.0.3_7/..",
            "berth_12.0.3_99999999999",
            "xberth_12.0.3_7",
        ] {
            assert_eq!(other.parse::<Name>(), Err(()), "{other}");
        }
    }
}
