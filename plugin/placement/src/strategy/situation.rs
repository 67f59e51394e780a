//! The input of a strategy: request, node, claims, what the step owns. Pure.

use std::ops::Range;

use crate::answer::cpuset::CpusetNote;
use crate::answer::decision::{Decision, Rule};
use crate::answer::note::{Note, ReservedNote};
use crate::answer::plan::{Message, Plan, TaskPlan};
use crate::answer::refusal::{Narrowed, NoCpu, NoPlace, Refusal};
use crate::owned::{Owned, Reserved};
use crate::request::cpu_bind::Level;
use crate::request::fixes::Fix;
use crate::request::grid_engine::Binding;
use crate::request::keyword_options::CoreKindWish;
use crate::request::{Allocation, Claims, CoreSpec, Request};
use crate::sets::cpuset::CpuSet;
use crate::topology::node::Node;

/// One planning under way.
pub(crate) struct Situation<'a> {
    pub(crate) request: &'a Request,
    pub(crate) node: &'a Node,
    pub(crate) claims: &'a Claims,
    pub(crate) owned: &'a Owned,
}

impl Situation<'_> {
    /// `--cpu-bind=none`: on a part of the node the mask is all of the step's CPUs.
    pub(crate) fn unbound(&self) -> Result<Plan, Refusal> {
        let whole = self.is_whole();
        if !whole {
            self.may_bind()?;
        }
        Ok(self.unbound_by(Rule::Unbound { whole }))
    }

    /// No task is bound beyond the allocation.
    pub(crate) fn unbound_by(&self, rule: Rule) -> Plan {
        if !self.is_whole() {
            return self.all_to_all(rule);
        }
        let tasks = vec![TaskPlan::on(CpuSet::new()); self.request.tasks as usize];
        self.plan(tasks, rule, Message::Unbound)
    }

    /// Whether the step has the whole node, so that its allocation is no mask.
    fn is_whole(&self) -> bool {
        let is_narrowed =
            self.request.core_kind != CoreKindWish::Any || self.request.cpuset.is_some();
        self.owned.counts.whole_node || self.request.core_spec.is_given() && !is_narrowed
    }

    /// The cpuset cannot be had, and the site lets the step run without it.
    pub(crate) fn without_cpuset(&self, why: &str) -> Plan {
        let mut plan = self.all_to_all(Rule::CpusetFailed);
        plan.notes = vec![Note::Cpuset(CpusetNote::Without(why.into()))];
        plan
    }

    /// A batch script gets all CPUs of its allocation.
    pub(crate) fn batch(&self) -> Result<Plan, Refusal> {
        self.owns_any()?;
        Ok(self.all_to_all(Rule::Batch))
    }

    /// The step's CPUs as all tasks get them and lists are checked against: beside
    /// `ldoms` task/affinity takes whole memory domains here too (`_alloc_mask`).
    pub(crate) fn shared(&self) -> CpuSet {
        let own = &self.owned.cpus;
        let beyond = self.request.cpu_bind.level == Some(Level::Ldoms);
        match self.node.ldoms() {
            Some(ldoms) if beyond && !self.has(Fix::LdomsInside) => ldoms.around(own),
            _ => own.clone(),
        }
    }

    pub(crate) fn width(&self) -> u32 {
        self.node.shape().mask_width()
    }

    pub(crate) fn has(&self, fix: Fix) -> bool {
        self.node.rules().fixes.has(fix)
    }

    /// The most hardware threads of a core to count: from an option, a hint or
    /// the node's configuration.
    pub(crate) fn threads_per_core(&self) -> Option<u32> {
        let requested = self.threads_of_bound_core();
        requested.or(self.node.counts_cores().then_some(1))
    }

    /// The most hardware threads of a core that a wish of berth's own binds a task to: from an option or a
    /// hint. Where slurm.conf counts cores, a core brings all of them, as with `--cpu-bind=cores`.
    pub(crate) fn threads_of_bound_core(&self) -> Option<u32> {
        let one = self.request.cpu_bind.one_thread;
        self.request.threads_per_core.or(one.then_some(1))
    }

    /// The hardware threads that `-c` requests for each task, if at most `limit` of a core are used: where
    /// slurm.conf counts cores, so does `-c`. 1 requests nothing.
    pub(crate) fn threads_each(&self, limit: Option<u32>) -> u32 {
        let requested = self.request.cpus_per_task.max(1);
        let of_core = self.node.shape().threads.min(limit.unwrap_or(u32::MAX));
        match requested > 1 && self.node.counts_cores() {
            true => requested.saturating_mul(of_core.max(1)),
            false => requested,
        }
    }

    /// Refuses a step without a CPU, for every rule that chooses among the step's CPUs.
    pub(crate) fn owns_any(&self) -> Result<(), Refusal> {
        match self.owned.count {
            0 if !self.owned.is_cut => Err(self.nothing_owned()),
            _ => Ok(()),
        }
    }

    /// Why the tasks do not fit.
    pub(crate) fn no_place(&self, why: NoPlace) -> Refusal {
        Refusal::NoPlace {
            why,
            tasks: self.request.tasks,
            cpus_per_task: self.request.cpus_per_task,
            threads_per_core: self.threads_per_core(),
            own: self.owned.cpus.clone(),
        }
    }

    /// Why the step has no CPU of this node.
    pub(crate) fn nothing_owned(&self) -> Refusal {
        let request = self.request;
        let table = self.node.table();
        Refusal::NothingOwned(match (request.core_spec, &request.allocation) {
            (CoreSpec::Threads(count), _) if count > 0 && self.has_without_spec() => {
                NoCpu::Specialised(count)
            }
            (_, Allocation::Cpus(named)) => NoCpu::NotHere {
                named: named.clone(),
                node: table.cpus(table.pus()),
            },
            _ => NoCpu::Credential,
        })
    }

    /// Whether the step would have a CPU if its job kept no hardware threads to itself.
    fn has_without_spec(&self) -> bool {
        let request = Request {
            core_spec: CoreSpec::None,
            ..self.request.clone()
        };
        Owned::of(&request, self.node).count > 0
    }

    /// The option or setting that takes these CPUs away from the step, if it would own them otherwise. Without CPUs: the
    /// one that leaves only a part of the node to a step that would own all of it.
    pub(crate) fn narrowed_from(&self, lost: Option<&CpuSet>) -> Option<Narrowed> {
        let request = Request {
            core_kind: CoreKindWish::Any,
            ..self.request.clone()
        };
        let owned = Owned::without_reserve(&request, self.node);
        let reserved = &self.request.reserved;
        let (is_owned, is_reserved) = match lost {
            Some(lost) => (lost.is_subset(&owned.cpus), lost.intersects(reserved)),
            None => (owned.counts.whole_node, true),
        };
        let narrowed = match self.request.core_kind {
            _ if is_reserved && self.owned.reserved == Reserved::Some => Narrowed::Reserved,
            _ if self.request.cpuset.is_some() => Narrowed::Cpuset,
            CoreKindWish::Any => return None,
            kind => Narrowed::Kind(kind),
        };
        is_owned.then_some(narrowed)
    }

    /// Refuses the same for steps; task/affinity goes on with empty masks.
    pub(crate) fn may_bind(&self) -> Result<(), Refusal> {
        if self.has(Fix::NoCpuLeft) {
            self.owns_any()?;
        }
        Ok(())
    }

    /// A `--binding` that cannot be served, with the reason: the step is refused or runs unbound.
    pub(crate) fn binding_failed(&self, binding: &Binding, text: String) -> Result<Plan, Refusal> {
        match binding.strict {
            true => Err(Refusal::BindingFailed(text)),
            false => self.wish_failed(text),
        }
    }

    /// A wish that cannot be served and is not strict: the site decides.
    pub(crate) fn wish_failed(&self, text: String) -> Result<Plan, Refusal> {
        if self.node.rules().refuse_failed_binding {
            return Err(Refusal::BindingFailed(text));
        }
        let text = format!("{text}; no task is bound, and every task may use all CPUs of the step");
        let mut plan = self.all_to_all(Rule::BindingFailed);
        plan.notes = vec![Note::NotBound(text)];
        Ok(plan)
    }

    /// Every task gets all of the step's CPUs: there is one mask, which wraps.
    pub(crate) fn all_to_all(&self, rule: Rule) -> Plan {
        let message = Message::Shared {
            width: self.width(),
            keep_level: None,
        };
        let tasks = vec![TaskPlan::on(self.shared()); self.request.tasks as usize];
        self.plan(tasks, rule, message)
    }

    /// The tasks share what the site does not keep free of the CPUs that Slurm granted, with a note.
    pub(crate) fn too_many_reserved(&self) -> Plan {
        let mut plan = self.all_to_all(Rule::TooManyReserved);
        plan.notes.push(self.unreserved());
        plan
    }

    /// The note that tasks share what the site does not keep free, where these CPUs are fewer than the tasks request.
    pub(crate) fn shares_unreserved(&self) -> Option<Note> {
        let request = self.request;
        let wanted = u64::from(request.tasks) * u64::from(request.cpus_per_task);
        let is_short = u64::from(self.owned.count) < wanted && !request.overcommit;
        let is_reserved = self.owned.reserved == Reserved::Some;
        (is_short && is_reserved).then(|| self.unreserved())
    }

    fn unreserved(&self) -> Note {
        Note::Reserved(ReservedNote::TooManyReserved {
            tasks: self.request.tasks,
            own: self.owned.cpus.clone(),
        })
    }

    /// The plan has one mask for each task, as wide as the node.
    pub(crate) fn each(&self, tasks: Vec<TaskPlan>, rule: Rule) -> Plan {
        let width = self.width();
        self.plan(tasks, rule, Message::Each { width })
    }

    pub(crate) fn plan(&self, tasks: Vec<TaskPlan>, rule: Rule, message: Message) -> Plan {
        let request = self.request;
        Plan {
            tasks,
            decision: Decision {
                rule,
                tried: Vec::new(),
                wanted: u64::from(request.tasks) * u64::from(request.cpus_per_task),
                cpus_per_task: request.cpus_per_task,
                owned: self.owned.counts,
                own: self.owned.cpus.clone(),
                reserved: self.owned.reserved,
            },
            message,
            notes: Vec::new(),
            chosen: None,
            cpuset: None,
            near: None,
            own: self.owned.all.clone(),
        }
    }
}

/// Hardware threads that a task has as CPUs of `-c`, which needs so many threads for its own number of CPUs.
pub(crate) fn in_cpus(threads: u32, (requested, needed): (u32, u32)) -> u32 {
    let cpus = u64::from(threads) * u64::from(requested) / u64::from(needed.max(1));
    u32::try_from(cpus).unwrap_or(u32::MAX)
}

/// The first task with fewer hardware threads than `least`, and how many it has.
pub(crate) fn first_short(tasks: &[TaskPlan], least: u32) -> Option<(u32, u32)> {
    let given = tasks.iter().map(|task| task.cpus.count() as u32);
    (0..).zip(given).find(|(_, given)| *given < least)
}

/// Runs of neighbours of nearly equal length, the longer ones first.
pub(crate) fn even_runs(
    within: Range<usize>,
    count: usize,
) -> impl ExactSizeIterator<Item = Range<usize>> {
    let (each, more) = (within.len() / count.max(1), within.len() % count.max(1));
    let start = move |run: usize| within.start + run * each + run.min(more);
    (0..count).map(move |run| start(run)..start(run + 1))
}
