//! The decision: which rule a request falls under, and what every task gets.
//! In: request, host. Out: `Plan`, or a refusal. Pure: no other inputs.
//! Source: `lllp_distribution`; `berth plan` and the shared object both call this.

use crate::available::Available;
use crate::binding::{Binding, Scope, Strategy};
use crate::cpu_bind::{Level, Mode};
use crate::cpuset::CpuSet;
use crate::cpuset_text::join_masks;
use crate::explicit;
use crate::host::{Host, PuTable};
use crate::linear::FreeCores;
use crate::place::{NoPlace, Walk, cpus_per_task_that_fit, place};
use crate::refusal::{Note, Refusal};
use crate::request::{Compat, CoreSpec, Request};
use crate::rule::{Chosen, Rule};

/// What every task of a step gets on this host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// By local id: what the kernel is told; empty sets where nothing is bound.
    pub tasks: Vec<TaskPlan>,
    /// The rule that decided.
    pub rule: Rule,
    /// `-c` as it could be served.
    pub cpus_per_task: u32,
    /// What goes into the launch message.
    pub message: Message,
    /// What the user should know.
    pub notes: Vec<Note>,
}

/// One task's part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskPlan {
    /// CPUs by kernel number.
    pub cpus: CpuSet,
}

/// The launch message's `cpu_bind` after planning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// Bind nothing: the type stays `none`.
    Free,
    /// A list of CPU numbers, as the user wrote it.
    Map(String),
    /// Comma list of masks, one a task; shorter lists wrap.
    Masks {
        /// The list.
        text: String,
        /// task/affinity leaves the level's bit beside the masks here.
        keep_level: bool,
    },
}

impl Plan {
    /// Whether any task is bound.
    #[must_use]
    pub fn is_bound(&self) -> bool {
        self.message != Message::Free
    }
}

impl Message {
    /// The text as it stands in the message; `None` where nothing is bound.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Free => None,
            Self::Map(text) | Self::Masks { text, .. } => Some(text),
        }
    }
}

/// Plans a step on a host.
///
/// # Errors
/// [`Refusal`] where the step must not run as asked.
pub fn plan(ask: &Request, on: &Host) -> Result<Plan, Refusal> {
    if ask.tasks == 0 {
        return Err(Refusal::NoTasks);
    }
    let table = PuTable::new(on, ask.rules.compat);
    let available = Available::of(ask, on, &table);
    if available.count == 0 {
        return Err(Refusal::NothingOwned);
    }
    let planner = Planner {
        ask,
        on,
        table,
        available,
    };
    match (&ask.binding, &ask.cpu_bind.mode) {
        (Some(binding), mode) => planner.by_binding(binding, mode.as_ref()),
        (None, Some(mode)) => planner.by_mode(mode),
        (None, None) => planner.by_level(),
    }
}

/// Plans a batch script: one task on all CPUs of its allocation, or, if the job
/// has a single task, as its `--binding` says.
///
/// # Errors
/// [`Refusal`] as for a step.
pub fn plan_batch(ask: &Request, on: &Host) -> Result<Plan, Refusal> {
    let script = Request {
        tasks: 1,
        cpus_per_task: 1,
        cpu_bind: crate::cpu_bind::CpuBind {
            // Not the job's `--cpu-bind`: that is for its steps.
            mode: Some(Mode::Free),
            one_thread: ask.cpu_bind.one_thread,
            ..Default::default()
        },
        ..ask.clone()
    };
    if script.binding.is_some() {
        return plan(&script, on);
    }
    let table = PuTable::new(on, ask.rules.compat);
    let available = Available::of(&script, on, &table);
    if available.count == 0 {
        return Err(Refusal::NothingOwned);
    }
    let planner = Planner {
        ask: &script,
        on,
        table,
        available,
    };
    Ok(planner.all_to_all(Rule::Batch, vec![]))
}

/// One planning under way.
struct Planner<'a> {
    ask: &'a Request,
    on: &'a Host,
    table: PuTable,
    available: Available,
}

impl Planner<'_> {
    fn own(&self) -> &CpuSet {
        &self.available.cpus
    }

    fn width(&self) -> u32 {
        self.on.shape.mask_width()
    }

    fn affinity(&self) -> bool {
        self.ask.rules.compat == Compat::Affinity
    }

    /// At most so many hardware threads of a core: asked for, or by a hint or
    /// the node's configuration.
    fn threads_per_core(&self) -> Option<u32> {
        let one = self.ask.cpu_bind.one_thread || self.on.shape.cpus_are_cores;
        self.ask.threads_per_core.or(one.then_some(1))
    }

    /// An explicit mode.
    fn by_mode(&self, mode: &Mode) -> Result<Plan, Refusal> {
        let listed = matches!(mode, Mode::MapCpu(_) | Mode::MaskCpu(_));
        let whole = self.available.owned.whole_host;
        let special = self.ask.core_spec != CoreSpec::None;
        if !listed && !whole && !special {
            return match mode {
                Mode::Free => Ok(self.all_to_all(Rule::Free { whole: false }, vec![])),
                _ => Err(Refusal::NeedsWholeHost {
                    asked: mode.clone(),
                    own: self.own().clone(),
                }),
            };
        }
        // task/affinity trusts every list when cores are specialised; root does not.
        if listed && !(special && self.affinity()) {
            let named = explicit::named(mode);
            if !named.is_subset(self.own()) {
                return Err(Refusal::outside(mode, &named, self.own()));
            }
        }
        let tasks = explicit::tasks(
            mode,
            self.ask.tasks,
            self.own(),
            self.on,
            self.ask.rules.compat,
        )?;
        let Some(tasks) = tasks else {
            return Ok(self.free());
        };
        let message = match mode {
            Mode::MapCpu(list) => Message::Map(
                list.iter()
                    .map(ToString::to_string)
                    .collect::<Vec<_>>()
                    .join(","),
            ),
            Mode::MaskCpu(list) => masks(normalised(list)),
            _ => masks(join_masks(&tasks, self.width())),
        };
        Ok(self.finish(tasks, Rule::Asked(mode.word()), message, vec![]))
    }

    fn free(&self) -> Plan {
        Plan {
            tasks: vec![
                TaskPlan {
                    cpus: CpuSet::new()
                };
                self.ask.tasks as usize
            ],
            rule: Rule::Free { whole: true },
            cpus_per_task: self.ask.cpus_per_task,
            message: Message::Free,
            notes: vec![],
        }
    }

    /// A level, asked for or found.
    fn by_level(&self) -> Result<Plan, Refusal> {
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
        let mut walk = Walk {
            tasks: self.ask.tasks,
            cpus_per_task: self.ask.cpus_per_task.max(1),
            threads_per_core: self.threads_per_core(),
            ntasks_per_core: self.ask.ntasks_per_core,
            ntasks_per_socket: self.ask.ntasks_per_socket,
            level,
            order,
        };
        let threads = self.on.shape.threads;
        let placed =
            cpus_per_task_that_fit(&walk, threads, &self.table, &self.available).and_then(|fit| {
                walk.cpus_per_task = fit;
                place(&walk, &self.table, &self.available)
            });
        match placed {
            Ok(slots) => self.placed(slots, &walk, rule),
            Err(_) if self.ask.overcommit => Ok(self.overcommitted(rule)),
            Err(why) => Err(self.no_place(why, &walk)),
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

    fn placed(&self, slots: Vec<Vec<u32>>, walk: &Walk, rule: Rule) -> Result<Plan, Refusal> {
        let mut notes = Vec::new();
        let mut tasks: Vec<CpuSet> = slots
            .into_iter()
            .map(|task| self.table.cpus(task))
            .collect();
        if walk.level == Level::Ldoms {
            // task/affinity widens beyond the allocation; no task of ours leaves it.
            let within = (!self.affinity()).then_some(self.own());
            for cpus in &mut tasks {
                *cpus = explicit::widen_to_domains(cpus, self.on, within)?;
            }
        }
        if walk.cpus_per_task < self.ask.cpus_per_task {
            notes.push(Note::CpusPerTaskShrunk {
                asked: self.ask.cpus_per_task,
                given: walk.cpus_per_task,
                tasks: self.ask.tasks,
                own: self.available.count,
            });
        }
        let message = masks(join_masks(&tasks, self.width()));
        let mut plan = self.finish(tasks, rule, message, notes);
        plan.cpus_per_task = walk.cpus_per_task;
        Ok(plan)
    }

    fn overcommitted(&self, rule: Rule) -> Plan {
        let mut plan = self.all_to_all(Rule::Overcommit, vec![Note::Overcommitted]);
        if let (true, Rule::Level { .. }, Message::Masks { keep_level, .. }) =
            (self.affinity(), rule, &mut plan.message)
        {
            *keep_level = true;
        }
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
    fn all_to_all(&self, rule: Rule, notes: Vec<Note>) -> Plan {
        let text = self.own().to_hex(self.width());
        let tasks = vec![self.own().clone(); self.ask.tasks as usize];
        self.finish(tasks, rule, masks(text), notes)
    }

    fn finish(&self, tasks: Vec<CpuSet>, rule: Rule, message: Message, notes: Vec<Note>) -> Plan {
        Plan {
            tasks: tasks.into_iter().map(|cpus| TaskPlan { cpus }).collect(),
            rule,
            cpus_per_task: self.ask.cpus_per_task,
            message,
            notes,
        }
    }

    /// Grid Engine's core binding: it decides alone.
    fn by_binding(&self, binding: &Binding, mode: Option<&Mode>) -> Result<Plan, Refusal> {
        if let Some(text) = binding.unsupported() {
            return Err(Refusal::BindingFailed(text));
        }
        if let Some(list) = mode.filter(|mode| **mode != Mode::Free) {
            return Err(Refusal::BindingBesideList {
                binding: binding.to_string(),
                list: list.clone(),
            });
        }
        let Strategy::Linear { amount, .. } = binding.strategy else {
            return mode.map_or_else(|| self.by_level(), |mode| self.by_mode(mode));
        };
        let takers = match binding.scope {
            Scope::Task => self.ask.tasks,
            Scope::Host => 1,
        };
        let free = FreeCores::of(&self.table, &self.available, self.on.shape.threads);
        let found = free.count();
        match free.linear(takers, amount) {
            Some(cores) => Ok(self.bound(binding, &cores)),
            None => self.not_bound(binding, amount, found),
        }
    }

    fn bound(&self, binding: &Binding, cores: &[Vec<u32>]) -> Plan {
        let limit = self.threads_per_core().unwrap_or(u32::MAX) as usize;
        let cpus_of = |core: &u32| {
            let first = core * self.table.stride;
            let pus = self.available.among(first..first + self.table.stride);
            self.table.cpus(pus.take(limit))
        };
        let mut sets = cores.iter().map(|cores| {
            let mut all = CpuSet::new();
            cores.iter().for_each(|core| all.insert_all(&cpus_of(core)));
            all
        });
        let tasks: Vec<CpuSet> = match binding.scope {
            Scope::Task => sets.collect(),
            Scope::Host => {
                let shared = sets.next().unwrap_or_default();
                vec![shared; self.ask.tasks as usize]
            }
        };
        let message = masks(join_masks(&tasks, self.width()));
        self.finish(tasks, Rule::Binding(binding.to_string()), message, vec![])
    }

    fn not_bound(&self, binding: &Binding, amount: u32, found: usize) -> Result<Plan, Refusal> {
        let tasks = self.ask.tasks;
        let asked = match binding.scope {
            Scope::Task => format!("{tasks} tasks × {amount} cores"),
            Scope::Host => format!("{amount} cores"),
        };
        let instead = better_line(binding, tasks, amount, found);
        let text = format!(
            "--binding={binding} asks for {asked}; this step has {found} whole free cores here{instead}"
        );
        if binding.strict || self.ask.rules.refuse_failed_binding {
            return Err(Refusal::BindingFailed(text));
        }
        let text = format!("{text}; not bound, every task may use all CPUs of the step");
        Ok(self.all_to_all(Rule::BindingFailed, vec![Note::NotBound(text)]))
    }
}

/// The line that would have fitted, if there is one.
fn better_line(binding: &Binding, tasks: u32, amount: u32, found: usize) -> String {
    let strict = if binding.strict { "strict:" } else { "" };
    let per_task = found / tasks.max(1) as usize;
    if binding.scope == Scope::Task && tasks > 1 && amount as usize <= found {
        format!("; --binding=host:{strict}linear:{amount} would fit")
    } else if binding.scope == Scope::Task && per_task > 0 {
        format!("; --binding={strict}linear:{per_task} would fit")
    } else if found > 0 {
        format!("; --binding=host:{strict}linear:{found} would fit")
    } else {
        String::new()
    }
}

fn masks(text: String) -> Message {
    Message::Masks {
        text,
        keep_level: false,
    }
}

/// A user's mask list as task/affinity rewrites it: no `0x`, no leading zeros.
fn normalised(list: &[CpuSet]) -> String {
    let digits = |mask: &CpuSet| mask.to_short_hex().split_off(2);
    list.iter().map(digits).collect::<Vec<_>>().join(",")
}
