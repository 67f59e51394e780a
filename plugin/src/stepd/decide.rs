//! slurmstepd decides a wish that looks at other steps, under the ledger's lock: a `--binding`, a cpuset, a
//! `--mem-bind`. What it decides is written into the ledger before the lock is free. Only its own step waits for it.

use std::thread::sleep;
use std::time::{Duration, Instant};

use berth_host::ledger::{Entry, GRACE, Kind, Session, StepKey};
use berth_host::{LedgerError, StateDir};
use berth_placement::{
    Binding, Claims, CpusetFail, Node, Plan, Refusal, Request, plan, plan_batch,
};
use slurm_sys::views::StepKind;
use slurm_sys::{StepId, StepRecord};

use crate::site::node::state_dir;
use crate::site::standing::Abi;
use crate::step::Step;
use crate::step::handover::{InCpuset, InPool};
use crate::step::ledger::{self, Planner};
use crate::stepd::job_cpuset::{self, CpusetQuery, JobCpuset};
use crate::stepd::ledger_entry::LedgerEntry;
use crate::stepd::{own_node, pool};

/// The time to wait for others who write the ledger, on a node without pools.
pub(super) const PATIENCE: Duration = Duration::from_secs(2);
/// slurmctld suspends a job and launches the one that preempts it at the same time. A binding that fails because the other
/// job has not stopped yet waits this long for it. With OverSubscribe=FORCE the stop never comes, and such a step starts
/// this much later.
const STOPPING: Duration = Duration::from_millis(60);
/// The pause between two looks for a binding, and for a cpuset, which waits for [`GRACE`].
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);
const BETWEEN_CPUSETS: Duration = Duration::from_millis(200);

/// For the user of a step that begins while its job waits.
pub(super) const WAITS: &str = "the CPUs of this job's cpuset are used by others since the job was suspended; the step's \
                                tasks run when the job has its CPUs";

/// The step's facts that its decision needs beside the request.
pub(super) struct StepContext<'a> {
    pub node_name: &'a str,
    pub dir: StateDir,
    pub key: StepKey,
    pub kind: Kind,
    pub uid: u32,
    pub tasks: u32,
    /// Whether its job is in a pool, and has its place there.
    pub is_in_pool: bool,
    /// The time to wait for the ledger.
    pub patience: Duration,
}

/// A decision.
pub(super) struct Decided {
    /// The step, inside its cpuset.
    pub step: Step,
    pub plan: Plan,
    pub cpuset: Option<InCpuset>,
    /// The step's entries in the ledger.
    pub ledger_entries: Vec<LedgerEntry>,
    /// The note to the user about the ledger.
    pub note: Option<String>,
    /// Whether slurmd counts this node in cores.
    pub counts_cores: bool,
}

/// The reason why it could not be decided.
pub(super) enum Failed {
    /// The user's request, which must not be changed.
    Refused(String),
    /// A problem of the node.
    Broken(String),
}

impl Failed {
    /// A problem of the node refuses the step if something is `requested` that must be served or refused.
    pub(super) fn strictly(self, requested: Option<String>) -> Self {
        match (self, requested) {
            (Self::Broken(why), Some(requested)) => Self::Refused(format!(
                "{requested} must be served or refused, and this node cannot serve it: {why}; ask for another node, \
                 or ask the administrator"
            )),
            (other, _) => other,
        }
    }
}

/// Whether a `--binding` must be served or refused, where the site may refuse each that fails.
pub(super) fn is_strict(binding: &Binding, site_refuses: bool) -> bool {
    binding.strict || site_refuses
}

/// One look at the ledger.
enum Attempt {
    Decided(Box<Decided>),
    Refused(Refusal),
    /// Others may leave what they have; then this pause is over.
    Wait(Duration),
}

impl<'a> StepContext<'a> {
    pub(super) fn of(
        record: &StepRecord<'_>,
        step: Option<&Step>,
        pool: Option<&InPool>,
        node_name: &'a str,
    ) -> Result<Self, String> {
        let id: StepId = record.step_id();
        let overlaps = step.is_some_and(|step| step.overlaps);
        Ok(Self {
            node_name,
            dir: state_dir(node_name)?,
            key: ledger::step(id),
            kind: match id.kind {
                StepKind::Batch => Kind::Batch,
                _ if overlaps => Kind::Overlap,
                _ => Kind::Regular,
            },
            uid: record.uid(),
            tasks: record.node_tasks(),
            is_in_pool: pool.is_some_and(|pool| pool.member.is_some()),
            patience: pool.map_or(PATIENCE, |_| pool::PATIENCE),
        })
    }

    /// The ledger, locked.
    pub(super) fn locked<T>(
        &self,
        work: impl FnOnce(&mut Session<'_>) -> Result<T, LedgerError>,
    ) -> Result<T, String> {
        let text = |why: LedgerError| why.to_string();
        let ledger = ledger::open(&self.dir)?;
        let mut session = ledger.session(self.patience).map_err(text)?;
        session.ask_for_pool(self.is_in_pool);
        work(&mut session).map_err(text)
    }

    fn planner(&self) -> Planner {
        match self.kind {
            Kind::Batch => plan_batch,
            Kind::Regular | Kind::Overlap => plan,
        }
    }

    /// Writes an entry of this step. `line` is that of its cpuset.
    pub(super) fn hold(
        &self,
        session: &mut Session<'_>,
        entry: Entry,
        line: Option<String>,
    ) -> Result<LedgerEntry, LedgerError> {
        let entry = Entry {
            uid: self.uid,
            tasks: self.tasks,
            ..entry
        };
        Ok(LedgerEntry::new(
            session.hold(entry)?,
            self.dir.clone(),
            line,
        ))
    }
}

/// Decides the step.
///
/// # Errors
/// [`Failed`]
pub(super) fn decide(slurm: Abi, context: &StepContext<'_>, step: Step) -> Result<Decided, Failed> {
    let node = own_node::now(slurm, context.node_name).map_err(Failed::Broken)?;
    decide_on(context, step, node)
}

/// Decides the step on a node that is already known.
///
/// # Errors
/// [`Failed`]
pub(super) fn decide_on(
    context: &StepContext<'_>,
    step: Step,
    node: Node,
) -> Result<Decided, Failed> {
    Case {
        context,
        step,
        node,
    }
    .decide()
}

/// The refusal after so long a time.
fn refused(why: &Refusal, waited: Duration) -> Failed {
    let grace = GRACE.as_secs();
    Failed::Refused(match waited < GRACE {
        true => why.to_string(),
        false => format!("{why}; berth has waited {grace} s for these to be free"),
    })
}

struct Case<'a> {
    context: &'a StepContext<'a>,
    step: Step,
    node: Node,
}

impl Case<'_> {
    fn decide(self) -> Result<Decided, Failed> {
        let since = Instant::now();
        let mut others = Claims::default();
        loop {
            let attempt =
                |session: &mut Session<'_>| self.attempt(session, &mut others, since.elapsed());
            match self.context.locked(attempt) {
                Ok(Attempt::Decided(decided)) => return Ok(*decided),
                Ok(Attempt::Refused(why)) => return Err(refused(&why, since.elapsed())),
                Ok(Attempt::Wait(pause)) => sleep(pause),
                Err(why) => return self.without_ledger(&why, &others),
            }
        }
    }

    fn cpuset_query(&self) -> Option<CpusetQuery<'_>> {
        self.step.cpuset.as_ref().map(|wish| CpusetQuery {
            wish,
            key: self.context.key,
            uid: self.context.uid,
            dir: &self.context.dir,
            node: &self.node,
        })
    }

    /// Decides beside the ledger's entries; `claims` are those of others, for when the entry cannot be written.
    fn attempt(
        &self,
        session: &mut Session<'_>,
        claims: &mut Claims,
        waited: Duration,
    ) -> Result<Attempt, LedgerError> {
        let ask = &self.step.request;
        let (mut request, mut notes) = (ask.clone(), Vec::new());
        if let Some(wanted) = self.cpuset_query() {
            match wanted.inside(session, ask) {
                Ok(inside) => (request, notes) = (inside.request, inside.notes),
                Err(why) if waited < GRACE && self.may_become_free(session, &wanted, &why) => {
                    return Ok(Attempt::Wait(BETWEEN_CPUSETS));
                }
                Err(why) => return Ok(Attempt::Refused(why)),
            }
        }
        let others = ledger::others(session, self.context.key, (&request, &self.node));
        let found = ledger::plan_beside(&others, (&request, &self.node, self.context.planner()));
        let is_served = request.binding.is_none() || ledger::chosen(&found).is_some();
        if !is_served && waited < STOPPING {
            return Ok(Attempt::Wait(BETWEEN_LOOKS));
        }
        match found {
            Err(why) => Ok(Attempt::Refused(why)),
            Ok(mut plan) => {
                plan.notes.extend(notes);
                *claims = others.all_running();
                let decided = self.write_entries(session, request, plan)?;
                Ok(Attempt::Decided(Box::new(decided)))
            }
        }
    }

    fn may_become_free(
        &self,
        session: &Session<'_>,
        wanted: &CpusetQuery<'_>,
        why: &Refusal,
    ) -> bool {
        let is_refused = self.node.rules().cpuset_fail == CpusetFail::Refuse;
        is_refused
            && session.has_service()
            && wanted.may_become_free(session, &self.step.request, why)
    }

    /// Writes the step's entries, while nobody else does.
    fn write_entries(
        &self,
        session: &mut Session<'_>,
        request: Request,
        plan: Plan,
    ) -> Result<Decided, LedgerError> {
        let mut decided = self.decided(request, plan);
        let step = (self.context.key, self.context.kind);
        if let Some(entry) = ledger::entry(step, &decided.step.request, &decided.plan) {
            decided
                .ledger_entries
                .push(self.context.hold(session, entry, None)?);
        }
        let Some(cpuset) = &decided.cpuset else {
            return Ok(decided);
        };
        let job_cpus = ledger::job_cpus(&self.step.request, &self.node);
        let StepContext { key, uid, .. } = self.context;
        let living = session.cpuset_of(key.job, *uid, &job_cpus);
        if let Some(entry) = job_cpuset::entry(*key, cpuset, job_cpus, living.as_ref()) {
            match self.context.hold(session, entry, Some(cpuset.line.clone())) {
                Ok(entry) => decided.ledger_entries.push(entry),
                Err(why) => {
                    decided
                        .ledger_entries
                        .drain(..)
                        .for_each(LedgerEntry::take_back);
                    return Err(why);
                }
            }
        }
        self.write_job_cpuset(cpuset);
        let waits = living.is_some_and(|living| living.waits);
        decided.note = waits.then(|| WAITS.into());
        Ok(decided)
    }

    /// The next step of the job takes the same CPUs.
    fn write_job_cpuset(&self, cpuset: &InCpuset) {
        if let (Some(wish), Some(held)) = (&self.step.cpuset, cpuset.held)
            && held.of_job
        {
            let kept = JobCpuset {
                request: wish.request.clone(),
                cpus: cpuset.cpus.clone(),
                line: cpuset.line.clone(),
            };
            kept.keep(&self.context.dir, self.context.uid, self.context.key.job);
        }
    }

    fn decided(&self, request: Request, plan: Plan) -> Decided {
        let set = self.cpuset_query().zip(plan.cpuset.as_ref());
        let ask = &self.step.request;
        Decided {
            cpuset: set.map(|(wanted, set)| wanted.fence(ask, set, self.context.node_name)),
            step: Step {
                request,
                ..self.step.clone()
            },
            plan,
            ledger_entries: Vec::new(),
            note: None,
            counts_cores: self.node.counts_cores(),
        }
    }

    /// The decision where the step's entry cannot be written. A wish that must not share is refused. `others` is empty
    /// where the ledger could not be read either.
    fn without_ledger(&self, why: &str, others: &Claims) -> Result<Decided, Failed> {
        let ask = &self.step.request;
        let rules = self.node.rules();
        let binding = ask.binding.as_ref();
        let is_strict = binding.is_some_and(|one| is_strict(one, rules.refuse_failed_binding));
        // The site's own cpusets are shared.
        let is_chosen = job_cpuset::is_chosen_here(ask);
        let refuses_cpuset = is_chosen && rules.cpuset_fail == CpusetFail::Refuse;
        log::error!("{why}; this step has no entry in the ledger, so others may get its cores");
        if is_strict || refuses_cpuset {
            return Err(Failed::Refused(ledger::NOT_KNOWN.into()));
        }
        let refused = |why: Refusal| Failed::Refused(why.to_string());
        let plan = self.context.planner()(ask, &self.node, others).map_err(refused)?;
        let mut decided = self.decided(ask.clone(), plan);
        decided.note = (is_chosen || ask.binding.is_some()).then(|| ledger::UNKNOWN_OTHERS.into());
        Ok(decided)
    }
}

#[cfg(test)]
#[path = "decide_laws.rs"]
mod laws;
