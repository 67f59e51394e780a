//! slurmd chooses a job's cpuset, or finds the one that the job has, plans the step inside it, and records
//! both in the ledger.

use berth_host::LedgerError;
use berth_host::ledger::{Cpuset, Entry, Others, Session};
use berth_placement::{
    ChosenSet, Claims, CpuBind, CpusetFail, MemBind, Mode, Node, Note, Plan, Refusal, Request,
    StepCpuset, plan,
};

use crate::planning::ledger::{self, Door};
use crate::slurmd::job_cpusets::{self, JobCpuset};
use crate::slurmd::settled::{self, Planned, Who};
use crate::slurmd::step_cpuset::Wanted;

/// Plans a step in its cpuset beside the ledger's entries at this moment, and records the cpuset.
pub(super) fn settled_now(
    session: &mut Session<'_>,
    (who, wanted): (&Who<'_>, &Wanted),
    (ask, node, door): (&Request, &Node, Door),
) -> Result<Result<Planned, Refusal>, LedgerError> {
    let Inside {
        inside,
        notes,
        once_stopped,
    } = match inside(session, (who, wanted), (ask, node)) {
        Ok(inside) => inside,
        Err(why) => return Ok(Err(why)),
    };
    if let Some(claims) = once_stopped {
        let planned = held((who, wanted), (&inside, node, door), &claims);
        return Ok(planned.map(|mut planned| {
            planned.plan.notes.extend(notes);
            planned
        }));
    }
    let step = (who.step, who.kind);
    let mut planned = match settled::settled_now(session, step, (&inside, node, door))? {
        Ok(planned) => planned,
        Err(why) => return Ok(Err(why)),
    };
    planned.plan.notes.extend(notes);
    // slurmstepd plans bindings again, and nothing else.
    planned.unsettled &= ask.binding.is_some();
    if let Some(set) = planned
        .plan
        .cpuset
        .as_ref()
        .filter(|_| wanted.is_chosen_here())
    {
        record(session, (who, wanted), (ask, set))?;
    }
    Ok(Ok(planned))
}

/// The request with the cpuset that holds.
struct Inside {
    inside: Request,
    /// The notes on its choice.
    notes: Vec<Note>,
    /// What the step meets once the jobs that have some of its CPUs are suspended.
    once_stopped: Option<Claims>,
}

impl Inside {
    fn of(inside: Request) -> Self {
        Self {
            inside,
            notes: Vec::new(),
            once_stopped: None,
        }
    }
}

fn inside(
    session: &mut Session<'_>,
    (who, wanted): (&Who<'_>, &Wanted),
    (ask, node): (&Request, &Node),
) -> Result<Inside, Refusal> {
    let mut inside = ask.clone();
    if wanted.is_remembered && session.cpuset_of(who.step.job).is_none() {
        (inside.cpuset, inside.job_allocation) = (None, None);
        return Ok(Inside::of(inside));
    }
    if !wanted.is_chosen_here() {
        return Ok(Inside::of(inside));
    }
    let others = ledger::others(session, who.step, (ask, node));
    let claims = others.all_running();
    let own = ledger::job_cpus(ask, node);
    if let Some(given) = wanted.of_job_already(session, who.step.job, (&own, &claims))? {
        inside.cpuset = Some(StepCpuset::Given(given));
        return Ok(Inside::of(inside));
    }
    let (chosen, once_stopped) = match chosen((ask, node), &others) {
        Ok(chosen) => (chosen, None),
        Err(why) if wanted.is_debugged => return Err(why),
        Err(why) => once_stopped((ask, node), &others, why)?,
    };
    // Where the site lets the step run without its cpuset, the step's own plan says so.
    let Some(set) = chosen.cpuset else {
        return Ok(Inside::of(inside));
    };
    inside.cpuset = Some(StepCpuset::Given(wanted.given(set.cpus)));
    let of_cpuset = |note: &Note| matches!(note, Note::Cpuset(_));
    let notes = chosen.notes.into_iter().filter(of_cpuset).collect();
    Ok(Inside {
        inside,
        notes,
        once_stopped,
    })
}

/// The cpuset that a step gets once the jobs that have its CPUs are suspended: slurmctld suspends a job and launches the
/// one that preempts it at the same time. A `--binding` would have to be planned again then, and its tasks' variables
/// with it: such a step is refused.
fn once_stopped(
    asked: (&Request, &Node),
    others: &Others,
    why: Refusal,
) -> Result<(Plan, Option<Claims>), Refusal> {
    let (ask, node) = asked;
    let is_held = match &why {
        Refusal::Cpuset(of) => of.held().is_some(),
        _ => false,
    };
    let is_refused = node.rules().cpuset_fail == CpusetFail::Refuse;
    if !is_held || !is_refused || ask.binding.is_some() || !others.has_jobs() {
        return Err(why);
    }
    let claims = others.all_suspended();
    match choice(asked, &claims) {
        Ok(plan) => Ok((plan, Some(claims))),
        Err(_) => Err(why),
    }
}

/// The plan of a step whose cpuset others have: its slurmstepd looks whether they leave it. Nothing is recorded until
/// then.
fn held(
    (who, wanted): (&Who<'_>, &Wanted),
    (inside, node, door): (&Request, &Node, Door),
    claims: &Claims,
) -> Result<Planned, Refusal> {
    let plan = door(inside, node, claims)?;
    if let Some(set) = &plan.cpuset {
        remember((who, wanted), set);
    }
    Ok(Planned {
        is_held: true,
        ..Planned::alone(plan)
    })
}

/// A plan that binds nothing and chooses the cpuset. CPUs of suspended jobs are free; whether a job is
/// suspended costs a look at one of its tasks, so that is only asked where it decides.
fn chosen(asked: (&Request, &Node), others: &Others) -> Result<Plan, Refusal> {
    let with = |claims: Claims| choice(asked, &claims);
    let cpus = |plan: &Result<Plan, Refusal>| {
        let set = plan.as_ref().ok()?.cpuset.as_ref()?;
        Some(set.cpus.clone())
    };
    let running = with(others.all_running());
    if !others.has_jobs() || cpus(&running) == cpus(&with(others.all_suspended())) {
        return running;
    }
    with(others.now())
}

/// The same beside these claims.
fn choice((ask, node): (&Request, &Node), claims: &Claims) -> Result<Plan, Refusal> {
    let ask = Request {
        cpu_bind: CpuBind {
            mode: Some(Mode::Free),
            one_thread: ask.cpu_bind.one_thread,
            ..CpuBind::default()
        },
        binding: None,
        mapping: None,
        near: None,
        mem_bind: MemBind::default(),
        ..ask.clone()
    };
    plan(&ask, node, claims)
}

/// Remembers the cpuset of a job.
fn remember((who, wanted): (&Who<'_>, &Wanted), set: &ChosenSet) {
    if wanted.of_job {
        job_cpusets::keep(JobCpuset {
            job: who.step.job,
            request: wanted.request.clone(),
            cpus: set.cpus.clone(),
        });
    }
}

/// Writes the cpuset into the ledger, and remembers the job's. If another process has the ledger, the step's
/// slurmstepd writes it.
fn record(
    session: &mut Session<'_>,
    (who, wanted): (&Who<'_>, &Wanted),
    (ask, set): (&Request, &ChosenSet),
) -> Result<(), LedgerError> {
    remember((who, wanted), set);
    if !session.is_locked() {
        return Ok(());
    }
    let living = session.cpuset_of(who.step.job).filter(|_| wanted.of_job);
    session.add(Entry {
        generation: living.map_or(0, |living| living.generation),
        step: who.step,
        kind: who.kind,
        cpuset: Some(Cpuset {
            exclusive: set.exclusive,
            of_job: wanted.of_job,
            memory: wanted.wants_memory(),
        }),
        tasks: ask.tasks,
        request: wanted.request.to_string(),
        mark: wanted.mark(),
        cpus: set.cpus.clone(),
        ..Entry::default()
    })?;
    Ok(())
}
