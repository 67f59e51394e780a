//! One planning under way: an explicit mode, a level, or what fits exactly.
//! In: request, host. Out: the parts of a plan. Pure.
//! Source: `lllp_distribution`; the order of its checks is kept.

use std::borrow::Cow;

use crate::answer::memory::Memory;
use crate::answer::refusal::{Note, Refusal};
use crate::answer::rule::{Chosen, Rule};
use crate::owned::Available;
use crate::plan::{Message, Plan, TaskPlan};
use crate::request::cpu_bind::{Level, Mode};
use crate::request::distribution::Order;
use crate::request::fixes::Fix;
use crate::request::{CoreSpec, Request};
use crate::sets::cpuset::CpuSet;
use crate::sets::cpuset_text::hex_length;
use crate::sets::ids::LocalId;
use crate::sets::list::List;
use crate::strategy::level::place::{cpus_per_task_that_fit, place};
use crate::strategy::level::walk::{NoPlace, Walk};
use crate::strategy::list;
use crate::topology::host::{Host, PuTable};

/// One planning under way.
pub(crate) struct Planner<'a> {
    pub(crate) ask: &'a Request,
    pub(crate) on: &'a Host,
    pub(crate) table: &'a PuTable,
    pub(crate) available: Available,
}

impl<'a> Planner<'a> {
    /// Looks up what the step owns.
    pub(crate) fn new(ask: &'a Request, on: &'a Host, table: &'a PuTable) -> Result<Self, Refusal> {
        if ask.tasks == 0 {
            return Err(Refusal::NoTasks);
        }
        let available = Available::of(ask, on, table);
        Ok(Self {
            ask,
            on,
            table,
            available,
        })
    }

    fn own(&self) -> &CpuSet {
        &self.available.cpus
    }

    /// The step's CPUs as all tasks get them and lists are checked against: beside
    /// `ldoms` task/affinity takes whole memory domains here too (`_alloc_mask`).
    fn shared(&self) -> CpuSet {
        let own = self.own();
        let inside = self.ask.cpu_bind.level != Some(Level::Ldoms) || self.has(Fix::LdomsInside);
        if inside {
            return own.clone();
        }
        list::widen_to_domains(own, self.on, None).unwrap_or_else(|_| own.clone())
    }

    pub(crate) fn width(&self) -> u32 {
        self.on.shape.mask_width()
    }

    fn has(&self, fix: Fix) -> bool {
        self.ask.rules.fixes.has(fix)
    }

    /// At most so many hardware threads of a core: asked for, or by a hint or
    /// the node's configuration.
    pub(crate) fn threads_per_core(&self) -> Option<u32> {
        let one = self.ask.cpu_bind.one_thread || self.on.shape.cpus_are_cores;
        self.ask.threads_per_core.or(one.then_some(1))
    }

    /// An explicit mode.
    pub(crate) fn by_mode(&self, mode: &Mode) -> Result<Plan, Refusal> {
        let listed = matches!(mode, Mode::MapCpu(_) | Mode::MaskCpu(_));
        let whole = self.available.owned.whole_host;
        let special = self.ask.core_spec != CoreSpec::None;
        if !listed && !whole && !special {
            self.may_bind()?;
            return match mode {
                Mode::Free => Ok(self.all_to_all(Rule::Free { whole: false }, vec![])),
                _ => Err(Refusal::NeedsWholeHost {
                    asked: mode.clone(),
                    own: self.own().clone(),
                }),
            };
        }
        // task/affinity trusts every list when cores are specialised; root does not.
        if listed && (!special || self.has(Fix::SpecLists)) {
            let named = list::named(mode);
            let shared = self.shared();
            if !named.is_subset(&shared) {
                return Err(Refusal::outside(mode, &named, &shared));
            }
        }
        let read = self.as_read(mode, special && !self.has(Fix::SpecLists));
        let Some(tasks) = list::tasks(&read, self.ask, self.own(), self.on)? else {
            return Ok(self.free());
        };
        let message = match &*read {
            Mode::MapCpu(list) => {
                let mut numbers = String::new();
                // A String takes everything.
                let _ = list.write(&mut numbers, |cpu, out| write!(out, "{cpu}"));
                Message::AsAsked(numbers)
            }
            // task/affinity writes a mask list anew where it has checked it.
            Mode::MaskCpu(list) if special && !self.has(Fix::SpecLists) => {
                Message::AsAsked(normalised(list))
            }
            Mode::MaskCpu(list) => Message::written(normalised(list), None),
            _ => Message::one_a_task(self.width()),
        };
        Ok(self.finish(tasks, Rule::Asked(mode.word()), message, vec![]))
    }

    /// A mode as task/affinity reads it where it checks lists (`_validate_mask`): a
    /// zero mask then means all of the step's CPUs.
    fn as_read<'m>(&self, mode: &'m Mode, trusted: bool) -> Cow<'m, Mode> {
        match mode {
            Mode::MaskCpu(list) if !trusted && !self.has(Fix::EmptyMask) => {
                let all = self.shared();
                let read = |mask: &CpuSet| if mask.is_empty() { &all } else { mask }.clone();
                Cow::Owned(Mode::MaskCpu(list.map(read)))
            }
            _ => Cow::Borrowed(mode),
        }
    }

    fn free(&self) -> Plan {
        Plan {
            tasks: vec![TaskPlan::on(CpuSet::new()); self.ask.tasks as usize],
            rule: Rule::Free { whole: true },
            cpus_per_task: self.ask.cpus_per_task,
            message: Message::Free,
            notes: vec![],
            chosen: None,
            own: self.available.all.clone(),
        }
    }

    /// For every rule that chooses among the step's CPUs: there must be one.
    pub(crate) fn owns_any(&self) -> Result<(), Refusal> {
        match self.available.count {
            0 => Err(Refusal::NothingOwned),
            _ => Ok(()),
        }
    }

    /// The same for steps; task/affinity goes on with empty masks.
    fn may_bind(&self) -> Result<(), Refusal> {
        if self.has(Fix::NoCpuLeft) {
            self.owns_any()?;
        }
        Ok(())
    }

    /// A level, asked for or found.
    pub(crate) fn by_level(&self) -> Result<Plan, Refusal> {
        self.may_bind()?;
        let (level, chosen) = match self.ask.cpu_bind.level {
            Some(level) => (level, Chosen::Asked),
            None => match self.auto_level() {
                Some(found) => found,
                None => return Ok(self.all_to_all(Rule::NoMatch, vec![])),
            },
        };
        let order = self.ask.distribution.order(self.ask.rules.block_by_default);
        let rule = Rule::Level {
            level,
            order,
            chosen,
        };
        let mut walk = self.walk(level, order);
        let threads = self.on.shape.threads;
        let fit = cpus_per_task_that_fit(&walk, threads, self.table, &self.available);
        let placed = fit.and_then(|fit| {
            walk.cpus_per_task = fit;
            match self.thread_chunk(&walk) {
                None => place(&walk, self.table, &self.available),
                Some(chunk) => {
                    let mut table = self.table.clone();
                    table.order_threads(chunk);
                    place(&walk, &table, &self.available)
                }
            }
        });
        match placed {
            Ok(tasks) => self.placed(tasks, &walk, rule),
            Err(_) if self.ask.overcommit => Ok(self.overcommitted(&walk)),
            Err(why) => Err(self.no_place(why, &walk)),
        }
    }

    fn walk(&self, level: Level, order: Order) -> Walk {
        Walk {
            tasks: self.ask.tasks,
            cpus_per_task: self.ask.cpus_per_task.max(1),
            threads_per_core: self.threads_per_core(),
            ntasks_per_core: self.ask.ntasks_per_core,
            ntasks_per_socket: self.ask.ntasks_per_socket,
            level,
            order,
            fixes: self.ask.rules.fixes,
        }
    }

    /// How many hardware threads of a core a task takes before the next core's
    /// turn, where the third level of `-m` says other than filling cores. Tasks
    /// that get whole cores have no threads to order.
    fn thread_chunk(&self, walk: &Walk) -> Option<u32> {
        if !self.has(Fix::ThirdLevel) || walk.gets_whole_cores() {
            return None;
        }
        match self.ask.distribution.cores? {
            Order::Block => None,
            Order::Cyclic => Some(walk.cpus_per_task),
            Order::Fcyclic => Some(1),
        }
    }

    /// Auto binding: the level whose whole objects the step's CPUs fill exactly,
    /// else the site's default (`autobind=`).
    fn auto_level(&self) -> Option<(Level, Chosen)> {
        let owned = self.available.owned;
        let wanted = u64::from(self.ask.tasks) * u64::from(self.ask.cpus_per_task);
        let is = |count: u32| wanted == u64::from(count);
        let special = matches!(self.ask.core_spec, CoreSpec::Threads(count) if count > 0);
        let fills =
            |whole: u32, part: u32| (is(whole) && part == 0) || (special && is(whole + part));
        let exact = if fills(owned.sockets, owned.part_sockets) {
            Some(Level::Sockets)
        } else if fills(owned.cores, owned.part_cores) {
            Some(Level::Cores)
        } else if is(owned.threads) {
            Some(Level::Threads)
        } else {
            None
        };
        exact
            .map(|level| (level, Chosen::Exact))
            .or_else(|| self.ask.rules.autobind.map(|level| (level, Chosen::Site)))
    }

    fn placed(&self, mut tasks: Vec<CpuSet>, walk: &Walk, rule: Rule) -> Result<Plan, Refusal> {
        let mut notes = Vec::new();
        if walk.level == Level::Ldoms {
            // task/affinity widens beyond the allocation; no task of ours leaves it.
            let within = self.has(Fix::LdomsInside).then_some(self.own());
            for cpus in &mut tasks {
                *cpus = list::widen_to_domains(cpus, self.on, within)?;
            }
        }
        if walk.cpus_per_task < self.ask.cpus_per_task && self.has(Fix::SayShrunk) {
            notes.push(Note::CpusPerTaskShrunk {
                asked: self.ask.cpus_per_task,
                given: walk.cpus_per_task,
                tasks: self.ask.tasks,
                own: self.available.count,
            });
        }
        let message = Message::one_a_task(self.width());
        let mut plan = self.finish(tasks, rule, message, notes);
        plan.cpus_per_task = walk.cpus_per_task;
        Ok(plan)
    }

    fn overcommitted(&self, walk: &Walk) -> Plan {
        let mut plan = self.all_to_all(Rule::Overcommit, vec![]);
        if let Message::Masks { keep_level, .. } = &mut plan.message {
            *keep_level = (!self.has(Fix::CleanType)).then_some(walk.level);
        }
        plan.cpus_per_task = walk.cpus_per_task;
        plan
    }

    fn no_place(&self, why: NoPlace, walk: &Walk) -> Refusal {
        Refusal::NoPlace {
            why,
            tasks: self.ask.tasks,
            cpus_per_task: self.ask.cpus_per_task,
            threads_per_core: walk.threads_per_core,
            own: self.own().clone(),
        }
    }

    /// Every task on all of the step's CPUs: one mask, which wraps.
    pub(crate) fn all_to_all(&self, rule: Rule, notes: Vec<Note>) -> Plan {
        let shared = self.shared();
        let text = shared.to_hex(self.width());
        let tasks = vec![shared; self.ask.tasks as usize];
        self.finish(tasks, rule, Message::written(text, None), notes)
    }

    /// Each task's NUMA nodes, by the CPUs that the plan gives it.
    pub(crate) fn bind_memory(&self, plan: &mut Plan) -> Result<(), Refusal> {
        let bind = &self.ask.mem_bind;
        let Some(policy) = &bind.policy else {
            return Ok(());
        };
        let job_cpus = self.ask.job_cpus.unwrap_or(self.available.count);
        let wraps_at = job_cpus.saturating_mul(self.on.shape.threads.max(1));
        let mut memory = Memory::new(policy, self.on, wraps_at)?;
        for (id, task) in (0..).zip(&mut plan.tasks) {
            let free = task.cpus.is_empty();
            let cpus = if free { self.own() } else { &task.cpus };
            let mut mems = memory.of_task(LocalId(id), cpus)?;
            if bind.prefer {
                // The kernel takes one; task/affinity tells it the lowest.
                mems = mems.lowest().into_iter().collect();
            }
            task.mems = Some(mems);
            task.prefer = bind.prefer;
        }
        Ok(())
    }

    pub(crate) fn finish(
        &self,
        tasks: Vec<CpuSet>,
        rule: Rule,
        message: Message,
        notes: Vec<Note>,
    ) -> Plan {
        Plan {
            tasks: tasks.into_iter().map(TaskPlan::on).collect(),
            rule,
            cpus_per_task: self.ask.cpus_per_task,
            message,
            notes,
            chosen: None,
            own: self.available.all.clone(),
        }
    }
}

/// A user's mask list as task/affinity rewrites it (`task_cpuset_to_str`): no `0x`, no leading
/// zeros, small digits.
fn normalised(list: &List<CpuSet>) -> String {
    let length = |(mask, _): (&CpuSet, u32)| hex_length(mask.width());
    let mut text = String::with_capacity(list.parts().map(length).sum());
    // A String takes everything.
    let _ = list.write(&mut text, |mask, mut out| mask.write_short(&mut out));
    text
}
