//! The cpuset of a process's cgroup, by which a task is confined: an affinity mask can be widened by
//! the task itself, and this cannot.
//! In: a process, a set of CPUs. Out: the kernel's own files written and read back, or a cgroup of
//! ours below the one in which the process lives.
//!
//! Nothing here builds a path from a job's number. The place comes from `/proc/PID/cgroup`, is below a
//! mount of `/proc/self/mountinfo`, and is opened folder by folder without following links.

mod child;
mod cleanup;
mod exclusive;
#[cfg(test)]
pub(crate) mod fake;
mod folder;
pub mod freezer;
mod job;
pub mod jobs;
mod live;
pub mod members;
mod mounts;
mod place;
pub mod scopes;
mod write;

pub use child::Child;
pub use child::Name;
pub use cleanup::{leftovers_around, leftovers_in};
pub use exclusive::held_by_others;
pub use folder::Folder;
pub use job::remove_slurms_step;
pub use job::{JobFolders, USUAL_WEIGHT, nice_obstacle};
pub use live::{StepNow, Waiting};
pub use members::is_slurmstepd;
pub use mounts::Mounts;
pub use place::Place;
pub use write::{Fence, Written, no_swap};

/// Which interface the kernel has for cpusets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// A hierarchy of its own.
    V1,
    /// The unified hierarchy.
    V2,
}

/// Why a task is not confined.
#[derive(Debug, thiserror::Error)]
pub enum FenceError {
    /// The kernel does not say where the process lives.
    #[error("{0}")]
    Place(String),
    /// A file or folder of a cgroup.
    #[error("{path}: {what}: {why}")]
    File {
        /// The cgroup's folder and its file.
        path: String,
        /// The attempt.
        what: &'static str,
        /// The kernel's answer.
        why: std::io::Error,
    },
    /// The kernel gives the cgroup other CPUs.
    #[error(
        "{path}: CPUs {requested} were written, but the cgroup has CPUs {now}; compare with \
         cpuset.cpus.effective of the folder above"
    )]
    Wider {
        /// The cgroup's folder.
        path: String,
        /// The value that was written.
        requested: String,
        /// The kernel's value.
        now: String,
    },
}

impl FenceError {
    /// The kernel's error number, if a file gave one.
    fn errno(&self) -> Option<i32> {
        match self {
            Self::File { why, .. } => why.raw_os_error(),
            _ => None,
        }
    }
}
