//! A cgroup of our own for one task, below the one in which Slurm keeps it: only where Slurm itself
//! makes none. In the unified hierarchy it is a threaded one, so that Slurm still sees the task in its
//! own leaf, by which it signals, freezes and counts. In v1 Slurm does that by other hierarchies.
//! Its name says whose it is, so that nobody else's is ever removed.

use std::str::FromStr;
use std::{fmt, io};

use libc::pid_t;

use super::write::Trace;
use super::{Fence, FenceError, Folder, Mounts, Place, Version, Written};

const PROCESSES: &str = "cgroup.procs";
const CONTROLLERS: &str = "cgroup.subtree_control";
const TYPE: &str = "cgroup.type";
const FILES: [&str; 2] = ["cpuset.mems", "cpuset.cpus"];

/// A cgroup that we made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Child {
    above: Place,
    name: Name,
}

impl Child {
    /// Makes it with these sets, and moves the process there. If anything fails, it is removed.
    ///
    /// # Errors
    /// [`FenceError`]
    pub fn make(
        above: &Place,
        name: Name,
        (pid, fence): (pid_t, &Fence<'_>),
        mounts: &Mounts,
        trace: Trace<'_>,
    ) -> Result<Self, FenceError> {
        let leaf = above.open()?;
        let text = name.to_string();
        let own = leaf.make(&text)?;
        let made = match above.version {
            Version::V1 => copied(&leaf, &own, trace),
            Version::V2 if above.folders.is_empty() => controlled(&leaf, trace),
            Version::V2 => threaded(&own, trace).and_then(|()| controlled(&leaf, trace)),
        };
        let child = Self {
            above: above.clone(),
            name,
        };
        made.and_then(|()| fence.mems(&own, above.version, trace))
            .and_then(|()| fence.cpus(&own, above.version, trace))
            .and_then(|()| child.take_in(&own, pid, mounts, trace))
            .inspect_err(|_| {
                // Moves the process back, if it was moved at all.
                let _ = leaf.write(PROCESSES, &pid.to_string());
                let _ = leaf.remove(&text);
            })?;
        Ok(child)
    }

    /// Moves the process in, and asks the kernel where it is.
    fn take_in(
        &self,
        own: &Folder,
        pid: pid_t,
        mounts: &Mounts,
        trace: Trace<'_>,
    ) -> Result<(), FenceError> {
        own.write(PROCESSES, &pid.to_string())?;
        let place = Place::of(pid, mounts)?;
        trace(&Written {
            file: own.file(PROCESSES),
            value: pid.to_string(),
            now: place.to_string(),
        });
        match place == self.above.below(&self.name.to_string()) {
            true => Ok(()),
            false => Err(FenceError::Place(format!(
                "process {pid} was moved to {}, but it is in {place}",
                own.path
            ))),
        }
    }

    /// The cgroup in which Slurm had put the task.
    #[must_use]
    pub fn above(&self) -> &Place {
        &self.above
    }

    /// The task's number in its step.
    #[must_use]
    pub fn task(&self) -> u32 {
        self.name.task
    }

    /// Removes it, once nobody lives there.
    ///
    /// # Errors
    /// The kernel's answer: `EBUSY` while somebody lives there.
    pub fn remove(&self) -> io::Result<()> {
        match self.above.open() {
            Ok(leaf) => Ok(leaf.remove(&self.name.to_string())?),
            // Slurm has removed the folder above, so nothing was left in it.
            Err(why) if why.errno() == Some(libc::ENOENT) => Ok(()),
            Err(why) => Err(io::Error::other(why.to_string())),
        }
    }
}

/// A new v1 cgroup has no CPUs and takes no process until it has its parent's.
fn copied(leaf: &Folder, own: &Folder, trace: Trace<'_>) -> Result<(), FenceError> {
    FILES
        .iter()
        .try_for_each(|file| own.put(file, &leaf.read(file)?).map(|done| trace(&done)))
}

/// A folder whose processes still count as those of the one above.
fn threaded(own: &Folder, trace: Trace<'_>) -> Result<(), FenceError> {
    own.put(TYPE, "threaded").map(|done| trace(&done))
}

/// Children of the leaf have cpusets.
fn controlled(leaf: &Folder, trace: Trace<'_>) -> Result<(), FenceError> {
    let has = leaf.read(CONTROLLERS)?;
    match has.split_whitespace().any(|one| one == "cpuset") {
        true => Ok(()),
        false => leaf.put(CONTROLLERS, "+cpuset").map(|done| trace(&done)),
    }
}

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
