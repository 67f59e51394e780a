//! slurmd's use of the ledger: it plans a step with a `--binding` beside the bindings of others, and
//! records it, while nobody else writes. Other steps never come here.
//! slurmd waits for nobody: the step's slurmstepd decides what slurmd cannot decide at once
//! (`settle.rs` of slurmstepd). If the ledger fails, the step starts without accounting, and the log
//! reports it.

use berth_host::ledger::{Kind, Session, StepKey};
use berth_host::{LedgerError, StateDir};
use berth_placement::{Claims, Node, Note, Plan, Refusal, Request, Rules};

use crate::message::handover::{InCpuset, Settle};
use crate::planning::ledger::{Door, UNKNOWN_OTHERS, chosen, entry, others};
use crate::site::settings::Settings;
use crate::slurmd::step_cpuset::Wanted;
use crate::slurmd::{in_cpuset, launching, open_ledger};

/// The owner of the step.
pub(crate) struct Who<'a> {
    pub settings: &'a Settings,
    pub node_name: &'a str,
    pub step: StepKey,
    pub kind: Kind,
    /// The cpuset that its job requests.
    pub cpuset: Option<&'a Wanted>,
}

impl Who<'_> {
    /// What slurmstepd is told of the cpuset that the step is planned in.
    pub(crate) fn handed(&self, plan: &Plan) -> Option<InCpuset> {
        let (wanted, set) = self.cpuset.zip(plan.cpuset.as_ref())?;
        Some(wanted.handed(set, (self.node_name, self.step.job)))
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
}

impl Planned {
    /// A plan that depends on nobody.
    pub(crate) fn alone(plan: Plan) -> Self {
        Self {
            plan,
            said: None,
            unsettled: false,
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

/// Plans a step, and accounts for it.
pub(crate) fn plan(
    who: &Who<'_>,
    (ask, node, door): (&Request, &Node, Door),
) -> Result<Planned, Refusal> {
    let accounted = accounted(who, (ask, node, door));
    launching::begins(who.step);
    match accounted {
        Ok(planned) => planned,
        Err(why) => {
            log::error!("{why}; berth binds cores without knowing which cores other steps have");
            let mut planned = Planned::alone(door(ask, node, &Claims::default())?);
            planned.said = Some(UNKNOWN_OTHERS.into());
            Ok(planned)
        }
    }
}

fn accounted(
    who: &Who<'_>,
    asked: (&Request, &Node, Door),
) -> Result<Result<Planned, Refusal>, String> {
    let dir = StateDir::new(&who.settings.state_dir, who.node_name);
    let dir = dir.map_err(|why| why.to_string())?;
    let text = |why: LedgerError| why.to_string();
    open_ledger::with(&dir, who.node_name, |ledger| {
        let mut session = ledger.session_now().map_err(text)?;
        let planned = match who.cpuset {
            Some(wanted) => in_cpuset::settled_now(&mut session, (who, wanted), asked),
            None => settled_now(&mut session, (who.step, who.kind), asked),
        };
        planned.map_err(text)
    })
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
            plan,
            said: None,
            unsettled: true,
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

/// The facts that slurmstepd needs to plan a step with a `--binding` again.
pub(crate) fn settle(ask: &Request, node: &Node, overlaps: bool) -> Option<Settle> {
    let one = ask.cpu_bind.one_thread || node.counts_cores();
    Some(Settle {
        binding: ask.binding.clone()?,
        tasks: ask.tasks,
        cpus_per_task: ask.cpus_per_task,
        threads_per_core: ask.threads_per_core.or(one.then_some(1)),
        core_spec: ask.core_spec,
        core_kind: ask.core_kind,
        near: ask.near.clone(),
        gres: ask.gres.clone().filter(|_| ask.near.is_some()),
        overlaps,
    })
}
