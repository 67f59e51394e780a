//! A cgroup of our own for one task, below the one in which Slurm keeps it: only where Slurm itself
//! makes none. In the unified hierarchy it is a threaded one, so that Slurm still sees the task in its
//! own leaf, by which it signals, freezes and counts. In v1 Slurm does that by other hierarchies.

use std::io;

use libc::pid_t;

use super::write::Trace;
use super::{Fence, FenceError, Folder, Mounts, Name, Place, Version, Written};

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
