//! slurmstepd's own decisions, which it puts into the step's record: the cpuset of the job for a step that requests none,
//! and a wish that slurmd has left open.

use berth_host::LedgerError;
use berth_host::ledger::Session;
use berth_placement::sets::limits::USER_TEXT;
use berth_placement::sets::text::shown;
use berth_placement::{CpuSet, CpusetFail, Message, Node, Plan};
use slurm_sys::{StepId, StepRecord};

use crate::site::settings;
use crate::site::standing::Abi;
use crate::step::handover::{Handover, Outcome};
use crate::step::words::{join, name};
use crate::step::{CpuBindWords, Step, convert, memory};
use crate::stepd::decide::{self, Decided, Failed, StepContext, WAITS};
use crate::stepd::job_cpuset::{self, JobCpuset};
use crate::stepd::ledger_entry::LedgerEntry;
use crate::stepd::own_node;

/// Decides a step, inside the cpuset of its job if it names none; returns its entries in the ledger.
pub(super) fn of(
    slurm: Abi,
    record: &mut StepRecord<'_>,
    handover: &mut Handover,
    node_name: &str,
) -> Vec<LedgerEntry> {
    if handover.outcome == Outcome::Refused {
        return Vec::new();
    }
    let undecided = handover.undecided.take();
    let context = StepContext::of(
        record,
        undecided.as_deref(),
        handover.pool.as_ref(),
        node_name,
    );
    let names_cpuset = undecided.as_ref().is_some_and(|step| step.cpuset.is_some());
    let mut entries = match &context {
        Ok(context) if !names_cpuset => joined(slurm, context, handover).into_iter().collect(),
        Ok(_) => Vec::new(),
        Err(why) => {
            log::error!("{}: {why}", name(record.step_id()));
            Vec::new()
        }
    };
    let Some(mut step) = undecided else {
        return entries;
    };
    if let Some(cpuset) = &handover.cpuset {
        job_cpuset::put_existing(cpuset, &mut step.request);
    }
    let strict = strict_request(&step);
    let decided = context.map_err(Failed::Broken);
    match decided.and_then(|context| decide::decide(slurm, &context, *step)) {
        Ok(decided) => entries.extend(applied(slurm, record, handover, decided)),
        Err(why) => not_decided(handover, record.step_id(), why.strictly(strict)),
    }
    entries
}

/// The `--binding` or `--cpuset` of a step that must be served or refused, as it is typed.
fn strict_request(step: &Step) -> Option<String> {
    let settings = settings::current();
    let binding = step.request.binding.as_ref();
    let binding = binding.filter(|one| decide::is_strict(one, settings.refuse_failed_binding));
    let cpuset = step.cpuset.as_ref();
    let cpuset = cpuset.filter(|_| settings.cpuset_fail == CpusetFail::Refuse);
    let cpuset = cpuset.map(|wish| format!("--cpuset={}", wish.request));
    binding.map(|one| format!("--binding={one}")).or(cpuset)
}

fn not_decided(handover: &mut Handover, step: StepId, why: Failed) {
    match why {
        Failed::Refused(why) => {
            handover.outcome = Outcome::Refused;
            handover.note = shown(USER_TEXT, why);
        }
        Failed::Broken(why) => {
            log::error!("{}: {why}; its request is not applied", name(step));
            handover.outcome = Outcome::Failed;
            handover.note = BROKEN.into();
        }
    }
}

const BROKEN: &str = "what this step requests is not applied on this node; ask the administrator; the reason is in \
                      slurmd's log";

fn applied(
    slurm: Abi,
    record: &mut StepRecord<'_>,
    handover: &mut Handover,
    decided: Decided,
) -> Vec<LedgerEntry> {
    add_note(handover, decided.note);
    if let Some(cpuset) = &decided.cpuset {
        log::info!("{} cpuset={:?}", name(record.step_id()), cpuset.line);
    }
    // A step that names no cpuset may be in its job's already.
    handover.cpuset = decided.cpuset.or(handover.cpuset.take());
    handover.decided(&decided.step, &decided.plan, settings::current().confine);
    let put = put(
        slurm,
        record,
        (&decided.step, &decided.plan),
        decided.counts_cores,
    );
    if let Err(why) = put {
        log::error!("{}: {why}", name(record.step_id()));
    }
    decided.ledger_entries
}

/// One note more for the user.
pub(super) fn add_note(handover: &mut Handover, note: Option<String>) {
    let before = std::mem::take(&mut handover.note);
    handover.note = join(&[], [before, note.unwrap_or_default()]);
}

/// Writes a plan's masks into the record, as slurmd does for a step that it decides.
fn put(
    slurm: Abi,
    record: &mut StepRecord<'_>,
    (step, plan): (&Step, &Plan),
    counts_cores: bool,
) -> Result<(), slurm_sys::Error> {
    match &step.came {
        Some(CpuBindWords { bits, list }) => {
            let bits = convert::cpu_bind_bits(*bits, plan, counts_cores, slurm.layout);
            match &plan.message {
                // A list of the user's own stays as it came.
                Message::AsAsked(_) => record.set_cpu_bind(bits, list.as_deref())?,
                _ => record.set_cpu_bind(bits, plan.text().as_deref())?,
            }
        }
        None => record.set_cpu_bind(record.cpu_bind_type(), plan.text().as_deref())?,
    }
    match plan.memory_masks() {
        Some(masks) if memory::is_masks(record.mem_bind_type(), slurm.layout) => {
            record.set_mem_bind(Some(&masks))
        }
        _ => Ok(()),
    }
}

/// The entry of a step that names no cpuset, if its job has one.
fn joined(slurm: Abi, context: &StepContext<'_>, handover: &mut Handover) -> Option<LedgerEntry> {
    let cpuset = JobCpuset::read(&context.dir, context.uid, context.key.job)?;
    let entry = own_node::now(slurm, context.node_name).and_then(|node| {
        context.locked(|session| inside_job(context, session, (handover, cpuset, &node)))
    });
    entry.unwrap_or_else(|why| {
        let step = context.key;
        log::error!(
            "step={}.{}: {why}; it may run outside of its job's cpuset",
            step.job,
            step.step
        );
        add_note(handover, Some(OUTSIDE.into()));
        None
    })
}

const OUTSIDE: &str = "the node's ledger could not be used, so this step may run outside of its job's cpuset; ask the \
                       administrator; the reason is in slurmd's log";

/// A step that requests no cpuset, in a job that has one (an srun from another shell): its tasks are fenced in it. A
/// slurmctld that begins again gives numbers of jobs again, so it counts only while a step of the job is in it.
fn inside_job(
    context: &StepContext<'_>,
    session: &mut Session<'_>,
    (handover, kept, node): (&mut Handover, JobCpuset, &Node),
) -> Result<Option<LedgerEntry>, LedgerError> {
    let Some(living) = session.cpuset_of(context.key.job, context.uid, &handover.own) else {
        return Ok(None);
    };
    let cpuset = kept.living(&living, node);
    handover.beyond = CpuSet::new();
    let inside = handover.own.intersection(&living.cpus);
    handover.own = if inside.is_empty() {
        living.cpus.clone()
    } else {
        inside
    };
    let entry = job_cpuset::entry(context.key, &cpuset, living.job_cpus.clone(), Some(&living));
    if living.waits {
        add_note(handover, Some(WAITS.into()));
    }
    let line = Some(cpuset.line.clone());
    handover.cpuset = Some(cpuset);
    entry
        .map(|entry| context.hold(session, entry, line))
        .transpose()
}

#[cfg(test)]
mod tests {
    use berth_placement::Request;

    use super::*;

    #[test]
    fn a_problem_of_the_node_refuses_what_must_be_served() {
        for (binding, outcome, note) in [
            ("linear:1", Outcome::Failed, "is not applied on this node"),
            (
                "strict:linear:1",
                Outcome::Refused,
                "--binding=strict:linear:1 must be served or refused, and this node cannot serve it: no map;",
            ),
        ] {
            let step = Step {
                request: Request {
                    binding: Some(binding.parse().unwrap()),
                    ..Request::default()
                },
                ..Step::default()
            };
            let mut handover = Handover::default();
            let why = Failed::Broken("no map".into()).strictly(strict_request(&step));
            not_decided(&mut handover, StepId::default(), why);
            assert_eq!(handover.outcome, outcome, "{binding}");
            assert!(handover.note.contains(note), "{}", handover.note);
        }
    }
}
