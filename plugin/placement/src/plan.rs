//! The one door: a request on a node gives a plan. Pure: no other inputs.
//! `berth plan` and the shared object both call this. Source: `lllp_distribution`.

use crate::answer::memory;
use crate::answer::plan::Plan;
use crate::answer::refusal::Refusal;
use crate::owned::Owned;
use crate::request::Request;
use crate::request::claims::Claims;
use crate::request::cpu_bind::{CpuBind, Mode};
use crate::request::grid_engine::Instance;
use crate::request::mem_bind::MemBind;
use crate::strategy::{self, situation::Situation};
use crate::topology::node::Node;

/// Plans a step on a node, beside what others claim there.
///
/// ```
/// use berth_placement::*;
///
/// let machine = Machine::regular(2, 4, 2, Numbering::Block).unwrap();
/// let node = Node::of(machine, SocketKind::Package, Rules::default());
/// let request = Request {
///     tasks: 2,
///     cpu_bind: CpuBind {
///         level: Some(Level::Cores),
///         ..CpuBind::default()
///     },
///     ..Request::default()
/// };
/// let plan = plan(&request, &node, &Claims::default()).unwrap();
/// assert_eq!(plan.text().unwrap(), "0x0003,0x0300");
/// ```
///
/// # Errors
/// [`Refusal`] if the step must not run as requested.
pub fn plan(request: &Request, node: &Node, claims: &Claims) -> Result<Plan, Refusal> {
    if request.tasks == 0 {
        return Err(Refusal::NoTasks);
    }
    let owned = &Owned::of(request, node);
    let here = Situation {
        request,
        node,
        claims,
        owned,
    };
    let mut plan = strategy::choose(&here)?;
    memory::bind(&mut plan, request, node, owned)?;
    Ok(plan)
}

/// Plans a batch script: one task on all CPUs of its allocation, or, if the job
/// has a single task, as its `--binding` says. The job's `--cpu-bind` is for its steps.
///
/// ```
/// use berth_placement::*;
///
/// let machine = Machine::regular(1, 4, 2, Numbering::Block).unwrap();
/// let node = Node::of(machine, SocketKind::Package, Rules::default());
/// let mut job = Request {
///     tasks: 4,
///     allocation: Allocation::Cpus(CpuSet::from_list("0-3").unwrap()),
///     ..Request::default()
/// };
/// let script = plan_batch(&job, &node, &Claims::default()).unwrap();
/// assert_eq!(script.tasks.len(), 1);
/// assert_eq!(script.tasks[0].cpus.to_string(), "0-3");
///
/// job.binding = Some("linear:1".parse().unwrap());
/// let bound = plan_batch(&job, &node, &Claims::default()).unwrap();
/// assert_eq!(bound.tasks[0].cpus.to_string(), "0-1");
/// ```
///
/// # Errors
/// [`Refusal`] as for a step.
pub fn plan_batch(request: &Request, node: &Node, claims: &Claims) -> Result<Plan, Refusal> {
    // A parallel environment will start all tasks of the node from the script.
    let is_pe = matches!(&request.binding, Some(binding) if binding.instance == Instance::Pe);
    let script = Request {
        tasks: if is_pe { request.tasks } else { 1 },
        cpus_per_task: 1,
        cpu_bind: CpuBind {
            mode: request.binding.is_none().then_some(Mode::Free),
            one_thread: request.cpu_bind.one_thread,
            ..CpuBind::default()
        },
        mem_bind: MemBind::default(),
        ..request.clone()
    };
    if script.binding.is_some() {
        return plan(&script, node, claims);
    }
    let here = Situation {
        request: &script,
        node,
        claims,
        owned: &Owned::of(&script, node),
    };
    here.batch()
}
