//! A job's cpuset on this node, and the step inside it: the step's own wish places its tasks as if the
//! cpuset were the allocation. In: the request, the node, what others claim. Out: [`CpusetPart`]. Pure.

mod best_fit;
mod candidates;
mod choose;
mod groups;
mod job;
mod resume;

use crate::answer::cpuset::{ChosenSet, CpusetNote, CpusetRefusal, SetFrom, SetMemory};
use crate::answer::note::Note;
use crate::answer::plan::{Plan, TaskPlan};
use crate::answer::refusal::Refusal;
use crate::owned::Owned;
use crate::request::cpuset::{Attribute, CpusetFail, CpusetRequest, ExistingCpuset, StepCpuset};
use crate::request::{Claims, Request};
use crate::sets::cpuset::NodeSet;
use crate::strategy::cpuset::job::{Job, memory_of};
use crate::topology::node::Node;

pub use groups::most_of_radius;
pub use job::memory_of_cpuset;
pub use resume::{Resume, Resumed, moved};

/// A step's part of its job's cpuset.
#[derive(Debug)]
pub(crate) struct CpusetPart {
    /// The CPUs that it may use.
    pub(crate) owned: Owned,
    set: Option<ChosenSet>,
    notes: Vec<CpusetNote>,
    /// Why there is no cpuset, where the site lets such steps run.
    pub(crate) without: Option<String>,
}

impl CpusetPart {
    /// The step's part of the cpuset.
    ///
    /// # Errors
    /// [`Refusal::Cpuset`] if the cpuset cannot be had, or the step needs more than it has.
    pub(crate) fn of(
        request: &Request,
        node: &Node,
        claims: &Claims,
        owned: Owned,
    ) -> Result<Self, Refusal> {
        let mut inside = Self {
            owned,
            set: None,
            notes: Vec::new(),
            without: None,
        };
        let Some(requested) = &request.cpuset else {
            return Ok(inside);
        };
        let job = Job::of(request, node, &inside.owned);
        let found = match requested {
            StepCpuset::Choose(choice) => choose::choose(choice, &job, request, claims),
            StepCpuset::Given(set) => existing(set, &job, claims).map(|set| (set, Vec::new())),
        };
        let is_unbound = node.rules().cpuset_fail == CpusetFail::Unbound;
        match found {
            Ok((set, notes)) => {
                inside.owned = part_of_step(request, &job, &inside.owned, &set)?;
                inside.notes = notes;
                inside.set = Some(set);
            }
            Err(why) if is_unbound && !matches!(why, CpusetRefusal::SeveralNodes(_)) => {
                inside.without = Some(why.to_string());
            }
            Err(why) => return Err(Refusal::Cpuset(why)),
        }
        Ok(inside)
    }

    /// Puts the cpuset into a plan, with its notes.
    ///
    /// # Errors
    /// [`Refusal::Cpuset`] if a task's memory is outside mandatory memory.
    pub(crate) fn put_into(self, plan: &mut Plan) -> Result<(), Refusal> {
        let Some(set) = self.set else {
            return Ok(());
        };
        if matches!(set.memory, SetMemory::Only { .. }) {
            let outside = plan
                .tasks
                .iter()
                .filter_map(|task| outside(task, &set.mems));
            if let Some(outside) = outside.into_iter().next() {
                let mems = set.mems;
                return Err(Refusal::Cpuset(CpusetRefusal::MemoryOutside {
                    outside,
                    mems,
                }));
            }
        }
        plan.notes.extend(self.notes.into_iter().map(Note::Cpuset));
        plan.cpuset = Some(set);
        Ok(())
    }
}

/// A task's memory nodes outside some.
fn outside(task: &TaskPlan, mems: &NodeSet) -> Option<NodeSet> {
    let outside = task.mems.as_ref()?.difference(mems);
    (!outside.is_empty()).then_some(outside)
}

/// Whether another request for the job's cpuset would give it so many CPUs.
fn has_room(request: &Request, job: &Job<'_>, count: u32) -> bool {
    let requested = match &request.cpuset {
        Some(StepCpuset::Choose(choice)) => &choice.requested,
        Some(StepCpuset::Given(ExistingCpuset {
            requested: CpusetRequest::Dynamic(requested),
            ..
        })) => requested,
        _ => return false,
    };
    choose::has_room(requested, count, job, request)
}

/// The step's part of the cpuset, if that is enough for its tasks.
fn part_of_step(
    request: &Request,
    job: &Job<'_>,
    step: &Owned,
    set: &ChosenSet,
) -> Result<Owned, Refusal> {
    let part = step.inside(&set.cpus, job.node);
    let limit = job.limit.unwrap_or(u32::MAX);
    let has = part.count_within(job.node.table(), limit);
    let needed = u64::from(request.tasks) * u64::from(request.cpus_per_task);
    let needed = match request.overcommit {
        true => 1,
        false => u32::try_from(needed).unwrap_or(u32::MAX),
    };
    // Where the cpuset takes nothing from the step, the step's own wish has the say.
    if has >= needed || part.count == step.count && has > 0 {
        return Ok(part);
    }
    Err(Refusal::Cpuset(match needed <= set.count {
        true => CpusetRefusal::StepElsewhere {
            needed,
            own: step.cpus.clone(),
            set: set.cpus.clone(),
        },
        false => CpusetRefusal::StepTooLarge {
            needed,
            has,
            job: job.units,
            fits: has_room(request, job, needed),
        },
    }))
}

/// The cpuset that a job has of an existing one.
fn existing(
    set: &ExistingCpuset,
    job: &Job<'_>,
    claims: &Claims,
) -> Result<ChosenSet, CpusetRefusal> {
    let cpus = set.cpus.intersection(&job.owned.cpus);
    let count = job.units_in(&cpus);
    if let CpusetRequest::Static(requested) = &set.requested {
        let needed = requested.ncpus.unwrap_or(1).min(job.units.max(1));
        if count < needed {
            return Err(CpusetRefusal::Static {
                name: requested.name.clone(),
                needed,
                has: count,
                set: set.cpus.clone(),
            });
        }
    }
    let list = match &set.requested {
        CpusetRequest::Dynamic(requested) => requested.mem_list.as_ref(),
        CpusetRequest::Static(_) => set.mems.as_ref(),
        CpusetRequest::None => None,
    };
    let found = memory_of(job.node, &cpus, list, (set.attributes, &claims.memory));
    Ok(ChosenSet {
        requested: set.requested.clone(),
        count,
        counts_cores: job.limit == Some(1),
        mems: set.mems.clone().unwrap_or(found.mems),
        memory: found.memory,
        radius: job.node.distances().radius_of(&cpus),
        exclusive: set.attributes.has(Attribute::CpuExclusive),
        from: SetFrom::Given,
        rejected: Vec::new(),
        cpus,
    })
}
