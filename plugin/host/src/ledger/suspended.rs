//! Whether Slurm has suspended a step: it stops the tasks, and freezes them two seconds later (`proctrack/cgroup`).
//! In: what its entry says. Out: yes, or no where that is not certain, and its cores stay taken.

use super::entry::Entry;
use super::process::Task;
use super::step_cgroup;

impl Entry {
    /// Whether its tasks do not run: Slurm has suspended them, frozen or stopped, or they wait for CPUs.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.waits || self.is_frozen() == Some(true) || self.has_stopped()
    }

    /// Whether Slurm has suspended it. Where Slurm has a freezer for it a stop alone means nothing, because everybody may
    /// stop his own tasks.
    pub(super) fn is_suspended(&self) -> bool {
        self.waits || self.is_frozen().unwrap_or_else(|| self.has_stopped())
    }

    /// Nothing where Slurm keeps the step in no cgroup.
    fn is_frozen(&self) -> Option<bool> {
        self.cgroup.as_deref().map(step_cgroup::is_frozen)
    }

    fn has_stopped(&self) -> bool {
        self.task.is_some_and(Task::has_stopped)
    }
}
