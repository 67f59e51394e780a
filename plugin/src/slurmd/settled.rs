//! A step's plan beside the ledger's entries at this moment, and its own entry, if the moment decides it.

use berth_host::LedgerError;
use berth_host::ledger::{Kind, Session, StepKey};
use berth_placement::{Claims, Node, Note, Plan, Refusal, Request, Rules};

use crate::message::handover::InCpuset;
use crate::message::in_pool::Member;
use crate::planning::ledger::{Door, chosen, entry, others};
use crate::planning::pool_fit::fits;
use crate::site::settings::Settings;
use crate::slurmd::step_cpuset::Wanted;

/// The owner of the step.
pub(crate) struct Who<'a> {
    pub settings: &'a Settings,
    pub node_name: &'a str,
    pub step: StepKey,
    pub kind: Kind,
    /// The cpuset that its job requests.
    pub cpuset: Option<&'a Wanted>,
    /// The pool of its job, if it fits in.
    pub member: Option<&'a Member>,
}

impl Who<'_> {
    /// Whether its job is in a pool, or fits in: a full pool's job is planned as a normal one. slurmstepd decides it.
    pub(super) fn is_in_pool(&self, session: &mut Session<'_>) -> bool {
        self.member.is_some_and(|member| {
            let all = session.pools();
            fits(&all, self.step.job, member).is_ok()
        })
    }

    /// What slurmstepd is told of the cpuset that the step is planned in.
    pub(crate) fn handed(&self, planned: &Planned) -> Option<InCpuset> {
        let (wanted, set) = self.cpuset.zip(planned.plan.cpuset.as_ref())?;
        Some(InCpuset {
            is_held: planned.is_held,
            ..wanted.handed(set, (self.node_name, self.step.job))
        })
    }
}

/// A plan as slurmd passes it on.
pub(crate) struct Planned {
    pub plan: Plan,
    /// The note to the user about the ledger.
    pub said: Option<String>,
    /// Whether slurmstepd must plan it again, because another step had the ledger, or because it
    /// depends on a job that may just be stopping.
    pub unsettled: bool,
    /// Whether others have CPUs of its cpuset, and may just be being suspended.
    pub is_held: bool,
}

impl Planned {
    /// A plan that depends on nobody.
    pub(crate) fn alone(plan: Plan) -> Self {
        Self {
            plan,
            said: None,
            unsettled: false,
            is_held: false,
        }
    }

    /// The plan's notes, if they hold.
    pub(crate) fn notes(&self) -> &[Note] {
        if self.unsettled {
            &[]
        } else {
            &self.plan.notes
        }
    }
}

/// Plans a step with the ledger's entries at this moment, and records it if that decides it.
pub(super) fn settled_now(
    session: &mut Session<'_>,
    (step, kind): (StepKey, Kind),
    (ask, node, door): (&Request, &Node, Door),
) -> Result<Result<Planned, Refusal>, LedgerError> {
    let others = others(session, step, (ask, node));
    let claims = others.all_running();
    let running = door(ask, node, &claims);
    let depends = others.has_jobs() && {
        let suspended = door(ask, node, &others.all_suspended());
        chosen(&suspended) != chosen(&running)
    };
    if depends || !session.is_locked() {
        let plan = running.or_else(|why| unplanned((ask, node, door), &claims, why));
        return Ok(plan.map(|plan| Planned {
            unsettled: true,
            ..Planned::alone(plan)
        }));
    }
    let plan = match running {
        Ok(plan) => plan,
        Err(why) => return Ok(Err(why)),
    };
    if let Some(entry) = entry((step, kind), ask, &plan) {
        session.add(entry)?;
    }
    Ok(Ok(Planned::alone(plan)))
}

/// If a strict binding fails for now, the step has all of its CPUs until slurmstepd has decided it.
fn unplanned(
    (ask, node, door): (&Request, &Node, Door),
    claims: &Claims,
    why: Refusal,
) -> Result<Plan, Refusal> {
    let mut lenient = ask.clone();
    let rules = Rules {
        refuse_failed_binding: false,
        ..node.rules()
    };
    if let Some(binding) = &mut lenient.binding {
        binding.strict = false;
    }
    if let Some(near) = &mut lenient.near {
        near.strict = false;
    }
    door(&lenient, &node.with_rules(rules), claims).map_err(|_| why)
}
