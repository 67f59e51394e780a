//! A step with a `--binding` is planned beside what other steps are bound to, and written down in
//! the node's ledger.

use berth_host::ledger::{Entry, Kind, Others, Session, StepKey};
use berth_host::{Ledger, StateDir};
use berth_placement::{Claims, CpuSet, Node, Owned, Plan, Refusal, Request, planned_on};
use slurm_sys::StepId;

/// The note if the ledger cannot be used.
pub(crate) const UNKNOWN_OTHERS: &str = "the node's ledger could not be used: other steps may be \
                                         bound to the same cores; ask the administrator; the \
                                         reason is in slurmd's log";

/// What a user reads whose request would share what it must not.
pub(crate) const NOT_KNOWN: &str = "the node's ledger could not be used, so nobody knows which CPUs other steps have, and \
                                    this step must not share its own; start it again, or ask the administrator; the \
                                    reason is in slurmd's log";

/// A step's number in the ledger's form.
pub(crate) fn step(id: StepId) -> StepKey {
    StepKey {
        job: id.job_id,
        step: id.step_id,
        component: id.het_component.unwrap_or(u32::MAX),
    }
}

/// The cores that a plan chose.
pub(crate) fn chosen(plan: &Result<Plan, Refusal>) -> Option<&berth_placement::Chosen> {
    plan.as_ref().ok()?.chosen.as_ref()
}

/// The ledger's entry for a planned step; none if no cores were chosen.
pub(crate) fn entry((step, kind): (StepKey, Kind), ask: &Request, plan: &Plan) -> Option<Entry> {
    let chosen = plan.chosen.as_ref()?;
    let request = ask.binding.as_ref().map(ToString::to_string);
    Some(Entry {
        step,
        kind,
        tasks: ask.tasks,
        request: request.unwrap_or_default(),
        cpus: chosen.cpus(),
        ..Entry::default()
    })
}

/// A function that plans a step or a batch script.
pub(crate) type Planner = fn(&Request, &Node, &Claims) -> Result<Plan, Refusal>;

/// The CPUs, of those that a step may use, that other steps are bound to. Most ledgers are empty, and then
/// nobody asks which these are.
pub(crate) fn others<'a>(
    session: &'a Session<'_>,
    step: StepKey,
    (ask, node): (&Request, &Node),
) -> Others<'a> {
    if session.entries().is_empty() {
        return Others::default();
    }
    let memory = node.numa_nodes_of(&session.memory_cpus(step.job));
    session
        .others(step, &job_cpus(ask, node))
        .with_memory(memory)
}

/// The CPUs that a step may use; where a cpuset is chosen for it, all those of its job.
pub(crate) fn job_cpus(ask: &Request, node: &Node) -> CpuSet {
    let node = planned_on(ask, node);
    let Some(job) = &ask.job_allocation else {
        return Owned::of(ask, node).cpus;
    };
    let of_job = Request {
        allocation: job.clone(),
        cpuset: None,
        ..ask.clone()
    };
    Owned::of(&of_job, node).cpus
}

/// Plans beside what others are bound to. Whether a job is suspended costs a look at one of its
/// tasks, so that is only asked where it decides.
pub(crate) fn plan_beside(
    others: &Others<'_>,
    (ask, node, door): (&Request, &Node, Planner),
) -> Result<Plan, Refusal> {
    let running = door(ask, node, &others.all_running());
    if !others.has_jobs() {
        return running;
    }
    let suspended = door(ask, node, &others.all_suspended());
    if chosen(&suspended) == chosen(&running) {
        return running;
    }
    door(ask, node, &others.now())
}

/// Opens a node's ledger, and makes its directory where it is missing.
pub(crate) fn open(dir: &StateDir) -> Result<Ledger, String> {
    Ledger::open(dir).or_else(|_| {
        dir.prepare().map_err(|why| why.to_string())?;
        Ledger::open(dir).map_err(|why| why.to_string())
    })
}
