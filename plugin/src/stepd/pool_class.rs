//! slurmstepd after a task was forked, in the parent, as root: what a node with pools gives each task beside its
//! CPUs. A task of a real-time pool becomes a real-time one, behind its fence and never without it; where cgroups
//! have no weights the tasks of all other jobs are nice.

use berth_host::priority;
use berth_placement::CpuSet;
use slurm_sys::views::TaskInfo;

use crate::message::in_pool::Member;

/// What each task of a step gets.
pub(crate) struct TaskClass {
    /// `step=12.0`, for the log.
    step: String,
    kind: Kind,
    /// Tasks that have it, and those that have not.
    given: u32,
    missed: u32,
    /// Why the first of those has it not.
    why: Option<String>,
}

enum Kind {
    /// The pool's name, and the job's CPUs.
    Realtime(String, CpuSet),
    Nice,
}

impl TaskClass {
    /// For the tasks of a real-time pool.
    pub(crate) fn realtime(step: &str, member: &Member) -> Self {
        Self::of(
            step,
            Kind::Realtime(member.name.clone(), member.cpus.clone()),
        )
    }

    /// For the tasks of other jobs.
    pub(crate) fn nice(step: &str) -> Self {
        Self::of(step, Kind::Nice)
    }

    fn of(step: &str, kind: Kind) -> Self {
        Self {
            step: step.into(),
            kind,
            given: 0,
            missed: 0,
            why: None,
        }
    }

    /// The CPUs behind whose fence even a task must be that is not bound.
    pub(crate) fn fence(&self) -> Option<&CpuSet> {
        match &self.kind {
            Kind::Realtime(_, cpus) => Some(cpus),
            Kind::Nice => None,
        }
    }

    /// A task has its CPUs and waits for its first instruction. `fenced` is why it is not confined.
    pub(crate) fn task(&mut self, task: TaskInfo, fenced: Result<(), String>) {
        let done = match self.kind {
            Kind::Realtime(..) => fenced.and_then(|()| realtime(task.pid)),
            Kind::Nice => priority::set_nicest(task.pid).map_err(|why| why.to_string()),
        };
        match done {
            Ok(()) => self.given += 1,
            Err(why) => {
                self.missed += 1;
                log::debug!("{}: task {}: {why}", self.step, task.gtid);
                self.why.get_or_insert(why);
            }
        }
    }

    /// What the user must know after the last task; the administrator has an error line then.
    pub(crate) fn note(&self) -> Option<String> {
        let (why, all) = (self.why.as_ref()?, self.given + self.missed);
        match &self.kind {
            Kind::Realtime(pool, _) => {
                log::error!(
                    "{}: the real-time pool {pool} gives {} of {all} tasks its weight alone: {why}",
                    self.step,
                    self.missed
                );
                Some(format!(
                    "{} of {all} tasks are no real-time tasks, and have the weight of the pool {pool} alone: {why}",
                    self.missed
                ))
            }
            Kind::Nice => None,
        }
    }

    /// For the step's line in the log; nothing where it has nothing to say.
    pub(crate) fn word(&self) -> String {
        match self.kind {
            Kind::Realtime(..) => format!(" realtime={}/{}", self.given, self.given + self.missed),
            Kind::Nice => String::new(),
        }
    }
}

/// Makes it a real-time one, unless the kernel would end it for that.
fn realtime(pid: libc::pid_t) -> Result<(), String> {
    if priority::has_bound(pid) {
        return Err("the kernel would end a busy real-time task at its limit RLIMIT_RTTIME".into());
    }
    let set = priority::set_realtime(pid);
    set.map_err(|why| format!("the kernel refuses SCHED_RR: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_fence_no_task_is_a_realtime_one() {
        let member = Member {
            name: "rt4".into(),
            cpus: CpuSet::from_list("0-3").unwrap(),
            ..Member::default()
        };
        let mut class = TaskClass::realtime("step=1.0", &member);
        assert_eq!(class.fence(), Some(&member.cpus));
        assert_eq!(class.note(), None);
        let own = TaskInfo {
            pid: std::process::id() as libc::pid_t,
            id: 0,
            gtid: 0,
        };
        class.task(own, Err("the leaf is gone".into()));
        assert!(!priority::is_realtime(own.pid));
        let note = class.note().unwrap();
        assert!(
            note.starts_with("1 of 1 tasks are no real-time tasks")
                && note.ends_with("the leaf is gone")
        );
        assert_eq!(class.word(), " realtime=0/1");
        assert_eq!(TaskClass::nice("step=1.0").fence(), None);
    }

    #[test]
    fn a_task_that_the_kernel_would_end_is_no_realtime_one() {
        // A minute, which it does not come near.
        let words = ["--rttime=60000000", "sleep", "60"];
        let child = std::process::Command::new("prlimit").args(words).spawn();
        let mut child = child.unwrap();
        let pid = child.id() as libc::pid_t;
        while !priority::has_bound(pid) {
            std::thread::yield_now();
        }
        let (told, is) = (realtime(pid), priority::is_realtime(pid));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(told.unwrap_err().contains("RLIMIT_RTTIME") && !is);
    }
}
