//! The decision: which rule a request falls under, and what every task gets.
//! In: request, host. Out: `Plan`, or a refusal. Pure: no other inputs.
//! Source: `lllp_distribution`; `berth plan` and the shared object both call this.

use crate::answer::cores::Chosen;
use crate::answer::message::MaskList;
use crate::answer::refusal::{Note, Refusal};
use crate::answer::rule::Rule;
use crate::request::Request;
use crate::request::cpu_bind::{CpuBind, Level, Mode};
use crate::request::grid_engine::{Binding, Instance};
use crate::request::mem_bind::MemBind;
use crate::sets::cpuset::CpuSet;
use crate::sets::cpuset_text::Digits;
use crate::sets::nodeset::NodeSet;
use crate::strategy::planner::Planner;
use crate::topology::host::{Host, PuTable};

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
    /// The cores that a `--binding` chose.
    pub chosen: Option<Chosen>,
    /// Every CPU of the step's cores here. Lists that task/affinity trusts, and its memory
    /// domains, can lead beyond; no task is bound there.
    pub own: CpuSet,
}

/// One task's part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskPlan {
    /// CPUs by kernel number.
    pub cpus: CpuSet,
    /// NUMA nodes its memory comes from; `None` leaves it to the kernel.
    pub mems: Option<NodeSet>,
    /// The one node in `mems` comes first, others when it is full.
    pub prefer: bool,
}

impl TaskPlan {
    /// A task whose memory is left to the kernel.
    pub(crate) fn on(cpus: CpuSet) -> Self {
        Self {
            cpus,
            mems: None,
            prefer: false,
        }
    }
}

/// The launch message's `cpu_bind` after planning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// Bind nothing: the type stays `none`.
    Free,
    /// The user's own list, which stays as it is written.
    AsAsked(String),
    /// List of masks, one a task; shorter lists begin again ([`MaskList`]).
    Masks {
        /// The list; empty where [`plan_unwritten`] left it to its caller.
        text: String,
        /// Then the bits that each mask is padded to.
        unwritten: Option<u32>,
        /// task/affinity leaves the level's bit beside the masks here.
        keep_level: Option<Level>,
    },
}

impl Plan {
    /// The tasks' NUMA nodes as hexadecimal masks in local-id order, one a task;
    /// `None` where memory is left to the kernel.
    #[must_use]
    pub fn memory_masks(&self) -> Option<String> {
        let mut masks = Vec::with_capacity(self.tasks.len());
        for task in &self.tasks {
            masks.push(task.mems.as_ref()?.as_cpus());
        }
        Some(MaskList::new(masks.into_iter(), 1, Digits::Lower).text())
    }

    /// The tasks' masks, each padded to `width` bits.
    #[must_use]
    pub fn masks(&self, width: u32) -> MaskList<'_> {
        let masks = self.tasks.iter().map(|task| &task.cpus);
        MaskList::new(masks, width, Digits::Upper)
    }

    /// Writes the list into the message where it was left out.
    fn write(&mut self) {
        if let Message::Masks {
            unwritten: Some(width),
            ..
        } = self.message
        {
            let text = self.masks(width).text();
            self.message = Message::written(text, self.message.keep_level());
        }
    }

    /// Whether any task is bound.
    #[must_use]
    pub fn is_bound(&self) -> bool {
        self.message != Message::Free
    }
}

impl Message {
    /// A list as it goes into the message.
    pub(crate) fn written(text: String, keep_level: Option<Level>) -> Self {
        Self::Masks {
            text,
            unwritten: None,
            keep_level,
        }
    }

    /// One mask a task, each padded to `width` bits, to be written later.
    pub(crate) fn one_a_task(width: u32) -> Self {
        Self::Masks {
            text: String::new(),
            unwritten: Some(width),
            keep_level: None,
        }
    }

    fn keep_level(&self) -> Option<Level> {
        match self {
            Self::Masks { keep_level, .. } => *keep_level,
            _ => None,
        }
    }

    /// The text as it stands in the message; `None` where nothing is bound.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Free => None,
            Self::AsAsked(text) | Self::Masks { text, .. } => Some(text),
        }
    }
}

/// Plans a step on a host.
///
/// # Errors
/// [`Refusal`] where the step must not run as asked.
pub fn plan(ask: &Request, on: &Host) -> Result<Plan, Refusal> {
    let table = PuTable::new(on, ask.rules.fixes);
    let mut plan = plan_unwritten(ask, on, &table)?;
    plan.write();
    Ok(plan)
}

/// [`plan`] for a caller that writes the list of the tasks' masks where it is to be
/// ([`Plan::masks`]): on a large host that takes longer than planning. `table` is that of
/// the host with the request's fixes.
///
/// # Errors
/// [`Refusal`] where the step must not run as asked.
pub fn plan_unwritten(ask: &Request, on: &Host, table: &PuTable) -> Result<Plan, Refusal> {
    let planner = Planner::new(ask, on, table)?;
    let mut plan = match (&ask.binding, &ask.cpu_bind.mode) {
        (Some(binding), mode) => planner.by_binding(binding, mode.as_ref()),
        (None, Some(mode)) => planner.by_mode(mode),
        (None, None) => planner.by_level(),
    }?;
    planner.bind_memory(&mut plan)?;
    Ok(plan)
}

/// Plans a batch script: one task on all CPUs of its allocation, or, if the job
/// has a single task, as its `--binding` says. The job's `--cpu-bind` is for its steps.
///
/// # Errors
/// [`Refusal`] as for a step.
pub fn plan_batch(ask: &Request, on: &Host) -> Result<Plan, Refusal> {
    // A parallel environment will start all tasks of the node from the script.
    let pe = |binding: &Binding| binding.instance == Instance::Pe;
    let script = Request {
        tasks: if ask.binding.as_ref().is_some_and(pe) {
            ask.tasks
        } else {
            1
        },
        cpus_per_task: 1,
        cpu_bind: CpuBind {
            mode: ask.binding.is_none().then_some(Mode::Free),
            one_thread: ask.cpu_bind.one_thread,
            ..CpuBind::default()
        },
        mem_bind: MemBind::default(),
        ..ask.clone()
    };
    if script.binding.is_some() {
        return plan(&script, on);
    }
    let table = PuTable::new(on, script.rules.fixes);
    let planner = Planner::new(&script, on, &table)?;
    planner.owns_any()?;
    Ok(planner.all_to_all(Rule::Batch, vec![]))
}
