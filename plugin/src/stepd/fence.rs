//! slurmstepd after a task was forked, in the parent, as root: confines the task to its CPUs, by the
//! cpuset of the cgroup in which Slurm itself keeps it. Where Slurm keeps all tasks in one cgroup,
//! Slurm's own function makes one for each; elsewhere it is a cgroup of ours below Slurm's, which is
//! removed before Slurm tidies up.

use std::thread::sleep;
use std::time::Duration;

use berth_host::cgroup::{self, Child, Fence, FenceError, Mounts, Name, Place, Version, Written};
use berth_host::ledger::TaskCgroup;
use berth_placement::SetMemory;
use slurm_sys::views::TaskInfo;
use slurm_sys::{StepId, StepRecord};

use crate::step::handover::InCpuset;
use crate::step::words::name;

/// The last process of a task may still be on its way out: so often, and so long each time.
const TRIES: u32 = 20;
const A_MOMENT: Duration = Duration::from_millis(1);
/// Slurm's tree of v1 above a step: `slurm_NODE/uid_U/job_J/step_X`.
const V1_LEVELS: usize = 3;

/// The fences of a step's tasks.
#[derive(Default)]
pub(crate) struct Fences {
    step: StepId,
    /// The step's cpuset.
    cpuset: Option<InCpuset>,
    /// Whether each task is confined to its own CPUs, and not only to the cpuset.
    to_own: bool,
    mounts: Mounts,
    children: Vec<Child>,
    /// Slurm's own cgroups of the tasks in the unified hierarchy, which a service can move.
    leaves: Vec<TaskCgroup>,
    /// Tasks that are confined.
    pub made: u32,
    /// Tasks that are not, although they should be.
    pub missed: u32,
    /// The last task, and whether it is confined: a task whose mask the kernel refuses comes twice.
    last: Option<(u32, bool)>,
    /// Why the first of those is not.
    why: Option<String>,
    /// Why the memory of the first task whose memory should be confined is not.
    why_memory: Option<String>,
    /// Why the first task that should not swap may.
    why_swap: Option<String>,
}

impl Fences {
    /// Before the first task.
    pub(crate) fn new(step: StepId, cpuset: Option<InCpuset>, to_own: bool) -> Self {
        Self {
            step,
            cpuset,
            to_own,
            ..Self::default()
        }
    }

    /// Confines a task that waits for its first instruction. Its affinity must be set afterwards,
    /// because kernels before 6.2 reset it at such a write. Without Slurm's record of the step, as for a SPANK plugin,
    /// Slurm's function cannot be called.
    pub(crate) fn around(
        &mut self,
        task: TaskInfo,
        fence: &Fence<'_>,
        record: Option<&StepRecord<'_>>,
    ) {
        let mask = fence.cpus.clone();
        match self.last {
            Some((last, true)) if last == task.gtid => {
                let leaf = self.leaves.last_mut();
                leaf.into_iter().for_each(|leaf| leaf.cpus = mask.clone());
                return;
            }
            Some((last, false)) if last == task.gtid => self.missed -= 1,
            _ => {}
        }
        let cpuset = self.cpuset.clone();
        let outer = cpuset.as_ref().filter(|_| !self.to_own);
        let is_mandatory = |cpuset: &&InCpuset| matches!(cpuset.memory, SetMemory::Only { .. });
        let mandatory = cpuset.as_ref().filter(is_mandatory);
        let has_own_memory = fence.mems.is_some();
        let fence = Fence {
            cpus: outer.map_or(fence.cpus, |cpuset| &cpuset.cpus),
            mems: fence.mems.or(mandatory.map(|cpuset| &cpuset.mems)),
        };
        let done = self.confine(task, &fence, record).map(|place| {
            let place = place.filter(|place| place.version == Version::V2);
            let leaf = place.and_then(|place| {
                Some(TaskCgroup {
                    name: place.name()?.to_owned(),
                    cpus: mask,
                    fence: fence.cpus.clone(),
                    has_own_memory,
                })
            });
            self.leaves.extend(leaf);
        });
        self.last = Some((task.gtid, done.is_ok()));
        match done {
            Ok(()) => self.made += 1,
            Err(why) => {
                self.missed += 1;
                let step = name(self.step);
                log::debug!("{step}: task {} is not confined: {why}", task.gtid);
                self.why.get_or_insert_with(|| why.to_string());
            }
        }
    }

    /// The tasks' cgroups that a service can move.
    pub(crate) fn take_leaves(&mut self) -> Vec<TaskCgroup> {
        std::mem::take(&mut self.leaves)
    }

    /// The step's cpuset.
    pub(crate) fn cpuset(&self) -> Option<&InCpuset> {
        self.cpuset.as_ref()
    }

    /// The note to the user; empty if every task is confined.
    pub(crate) fn note(&self) -> String {
        let tasks = self.why.iter().map(|why| {
            let all = self.made + self.missed;
            format!(
                "{} of {all} tasks on this node are bound, but not confined to their CPUs, because no cpuset of a \
                 cgroup could be written for them ({why}); a task can change its binding; leave --confine out, or \
                 ask the administrator",
                self.missed
            )
        });
        let memory = self.why_memory.iter();
        let memory =
            memory.map(|why| format!("the tasks' memory is bound, but not confined: {why}"));
        let swap = self.why_swap.iter();
        let swap =
            swap.map(|why| format!("the tasks may swap, whatever CPUSET_POLICY_KILL says: {why}"));
        let all = tasks.chain(memory).chain(swap);
        all.collect::<Vec<_>>().join("; ")
    }

    /// Returns the task's own cgroup, if that is Slurm's.
    fn confine(
        &mut self,
        task: TaskInfo,
        fence: &Fence<'_>,
        record: Option<&StepRecord<'_>>,
    ) -> Result<Option<Place>, FenceError> {
        if self.mounts == Mounts::default() {
            self.mounts = Mounts::read()?;
        }
        let mut place = Place::of(task.pid, &self.mounts)?;
        if let Some(record) = record
            && place.is_slurms_common()
        {
            // SAFETY: the task is in a leaf that only Slurm's plugin makes, so it works here.
            if let Err(why) = unsafe { record.add_to_cgroup(task) } {
                log::debug!("{}: task {}: {why}", name(self.step), task.gtid);
            }
            place = Place::of(task.pid, &self.mounts)?;
        }
        match place.slurms_task() {
            // 22.05 takes the local number for some of its settings.
            Some(own) if own == task.gtid || i64::from(own) == i64::from(task.id) => {
                self.in_slurms(&place, fence).map(|()| Some(place))
            }
            _ => self.in_ours(&place, task, fence).map(|()| None),
        }
    }

    /// In the task's own leaf.
    fn in_slurms(&mut self, place: &Place, fence: &Fence<'_>) -> Result<(), FenceError> {
        let folder = place.open()?;
        let own = name(self.step);
        let mut trace = trace(&own);
        if let Err(why) = fence.mems(&folder, place.version, &mut trace) {
            self.why_memory.get_or_insert_with(|| why.to_string());
        }
        if self.has_no_swap()
            && let Err(why) = cgroup::no_swap(&folder, &mut trace)
        {
            self.why_swap.get_or_insert_with(|| why.to_string());
        }
        fence.cpus(&folder, place.version, &mut trace)
    }

    /// Whether the cpuset says `CPUSET_POLICY_KILL`.
    fn has_no_swap(&self) -> bool {
        let cpuset = self.cpuset.as_ref();
        cpuset.is_some_and(|cpuset| cpuset.memory == SetMemory::Only { swap: false })
    }

    /// In a cgroup of ours.
    fn in_ours(
        &mut self,
        place: &Place,
        task: TaskInfo,
        fence: &Fence<'_>,
    ) -> Result<(), FenceError> {
        if self.children.is_empty() {
            self.tidy(place);
        }
        if self.has_no_swap() {
            let why = || "a cgroup of berth has no limits of memory".into();
            self.why_swap.get_or_insert_with(why);
        }
        let own = Name {
            job: self.step.job_id,
            step: self.step.step_id,
            task: task.gtid,
            maker: std::process::id(),
        };
        let make = |fence: &Fence<'_>| {
            let inside = (task.pid, fence);
            Child::make(
                place,
                own,
                inside,
                &self.mounts,
                &mut trace(&name(self.step)),
            )
        };
        let made = make(fence).or_else(|why| {
            if fence.mems.is_none() {
                return Err(why);
            }
            let cpus_alone = Fence {
                mems: None,
                ..*fence
            };
            let made = make(&cpus_alone)?;
            self.why_memory.get_or_insert_with(|| why.to_string());
            Ok(made)
        });
        self.children.push(made?);
        Ok(())
    }

    /// Removes what slurmstepds left that were killed.
    fn tidy(&self, place: &Place) {
        // A step's own folder is new; what is left is in those of other steps.
        let removed = match place.is_slurms_step() {
            true => cgroup::leftovers_in(&place.above(V1_LEVELS), V1_LEVELS + 1),
            false => cgroup::leftovers_in(place, 1),
        };
        for path in removed {
            log::info!(
                "{}: removed {path}, left by a killed slurmstepd",
                name(self.step)
            );
        }
    }

    /// A task has ended. Its orphans may live on.
    pub(crate) fn ended(&mut self, task: u32) {
        self.children
            .retain(|child| child.task() != task || !is_removed(child));
    }

    /// The step has ended: nothing of ours may be there when Slurm tidies up.
    pub(crate) fn clear(&mut self) {
        let place = self.children.first().map(|child| child.above().clone());
        for _ in 0..TRIES {
            self.children.retain(|child| !is_removed(child));
            if self.children.is_empty() {
                // Slurm may have tried before.
                place.iter().for_each(cgroup::remove_slurms_step);
                return;
            }
            sleep(A_MOMENT);
        }
        log::debug!(
            "{}: {} cgroups of berth still have processes; the next launch removes them",
            name(self.step),
            self.children.len()
        );
        self.children.clear();
    }
}

/// Each write is a line of slurmstepd's log.
fn trace(step: &str) -> impl FnMut(&Written) {
    move |written| log::debug!("{step}: {written}")
}

fn is_removed(child: &Child) -> bool {
    child.remove().is_ok()
}
