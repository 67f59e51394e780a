//! The decision: which rule a request falls under, and what every task gets.
//! In: request, host. Out: `Plan`, or a refusal. Pure: no other inputs.
//! Source: `lllp_distribution`; `berth plan` and the shared object both call this.

use crate::cpu_bind::{CpuBind, Level, Mode};
use crate::cpuset::{CpuSet, NodeSet};
use crate::host::Host;
use crate::mem_bind::MemBind;
use crate::planner::Planner;
use crate::refusal::{Note, Refusal};
use crate::request::Request;
use crate::rule::Rule;

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
    /// Comma list of masks, one a task; shorter lists wrap.
    Masks {
        /// The list.
        text: String,
        /// task/affinity leaves the level's bit beside the masks here.
        keep_level: Option<Level>,
    },
}

impl Plan {
    /// The tasks' NUMA nodes as hexadecimal masks in local-id order, one a task;
    /// `None` where memory is left to the kernel.
    #[must_use]
    pub fn memory_masks(&self) -> Option<String> {
        let masks: Option<Vec<String>> = self
            .tasks
            .iter()
            .map(|task| task.mems.as_ref().map(NodeSet::to_hex))
            .collect();
        masks.map(|masks| masks.join(","))
    }

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
            Self::AsAsked(text) | Self::Masks { text, .. } => Some(text),
        }
    }
}

/// Plans a step on a host.
///
/// # Errors
/// [`Refusal`] where the step must not run as asked.
pub fn plan(ask: &Request, on: &Host) -> Result<Plan, Refusal> {
    let planner = Planner::new(ask, on)?;
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
    let script = Request {
        tasks: 1,
        cpus_per_task: 1,
        cpu_bind: CpuBind {
            mode: Some(Mode::Free),
            one_thread: ask.cpu_bind.one_thread,
            ..CpuBind::default()
        },
        mem_bind: MemBind::default(),
        ..ask.clone()
    };
    if script.binding.is_some() {
        return plan(&script, on);
    }
    let planner = Planner::new(&script, on)?;
    planner.owns_any()?;
    Ok(planner.all_to_all(Rule::Batch, vec![]))
}
