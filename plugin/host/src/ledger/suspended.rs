//! Whether Slurm has suspended a step: it stops the tasks, and freezes them two seconds later (`proctrack/cgroup`).
//! In: what its entry says. Out: yes, or no where that is not certain, and its cores stay taken.

use std::path::{Path, PathBuf};

use super::entry::Entry;
use super::process::Task;
use super::step_cgroup;

/// What shows whether a step is suspended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Signs {
    pub(super) waits: bool,
    pub(super) task: Option<Task>,
    cgroup: Option<PathBuf>,
}

impl Signs {
    pub(super) fn of(entry: &Entry) -> Self {
        Self {
            waits: entry.waits,
            task: entry.task,
            cgroup: entry.cgroup.clone(),
        }
    }

    /// Whether its tasks do not run: frozen, or stopped.
    pub(super) fn is_stopped(&self) -> bool {
        self.waits || is_frozen(self.cgroup.as_deref()) == Some(true) || self.has_stopped()
    }

    fn has_stopped(&self) -> bool {
        self.task.is_some_and(Task::has_stopped)
    }
}

impl Entry {
    /// Whether its tasks do not run: Slurm has suspended them, or they wait for CPUs.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        Signs::of(self).is_stopped()
    }

    /// Whether Slurm has suspended it. Where Slurm has a freezer for it a stop alone means nothing, because everybody may
    /// stop his own tasks.
    pub(super) fn is_suspended(&self) -> bool {
        let stopped = || self.task.is_some_and(Task::has_stopped);
        self.waits || is_frozen(self.cgroup.as_deref()).unwrap_or_else(stopped)
    }
}

/// Nothing where Slurm keeps the step in no cgroup.
fn is_frozen(cgroup: Option<&Path>) -> Option<bool> {
    cgroup.map(step_cgroup::is_frozen)
}
