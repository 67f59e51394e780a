//! slurmd at the ledger: a step with a `--binding` is planned with what others are bound to, and
//! written down, while nobody else writes. Other steps never come here.
//! slurmd waits for nobody: what it cannot settle at once is settled by the step's slurmstepd
//! ([`crate::stepd::settle`]). A ledger that fails costs the step its accounting, never its launch;
//! it is said.

use std::sync::{Mutex, PoisonError};

use berth_host::ledger::{Entry, Kind, Others, Session, Step};
use berth_host::{Ledger, LedgerError, StateDir};
use berth_placement::owned::Available;
use berth_placement::{Host, Note, Plan, PuTable, Refusal, Request};
use slurm_sys::StepId;
use slurm_sys::views::StepKind;

use crate::message::handover::Settle;
use crate::message::seal;
use crate::site::settings::Settings;
use crate::slurmd::launching;

/// Kept open between launches, with descriptors of the slurmstepds it names.
static LEDGER: Mutex<Option<(StateDir, Ledger)>> = Mutex::new(None);

/// Whose step it is.
pub(crate) struct Who<'a> {
    pub settings: &'a Settings,
    pub node_name: &'a str,
    pub step: Step,
    pub kind: Kind,
}

/// A step's number in the ledger's words.
pub(crate) fn step(id: StepId) -> Step {
    Step {
        job: id.job_id,
        step: id.step_id,
        component: id.het_component.unwrap_or(u32::MAX),
    }
}

/// A plan as slurmd passes it on.
pub(crate) struct Planned {
    pub plan: Plan,
    /// What the user should know of the ledger.
    pub said: Option<String>,
    /// Whether slurmstepd is to plan it again: another step was at the ledger, or it depends on a
    /// job that may just be stopping.
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

    /// The plan's notes, where they hold.
    pub(crate) fn notes(&self) -> &[Note] {
        if self.unsettled {
            &[]
        } else {
            &self.plan.notes
        }
    }
}

/// Plans with `plan`, and accounts for it.
pub(crate) fn plan(
    who: &Who<'_>,
    ask: &mut Request,
    (host, table): (&Host, &PuTable),
    plan: impl Fn(&Request) -> Result<Plan, Refusal>,
) -> Result<Planned, Refusal> {
    let accounted = accounted(who, ask, (host, table), &plan);
    launching::begins(who.step);
    match accounted {
        Ok(planned) => planned,
        Err(why) => {
            log::error!("{why}; cores are bound without knowing what other steps are bound to");
            let mut planned = Planned::alone(plan(ask)?);
            planned.said = Some(UNKNOWN_OTHERS.into());
            Ok(planned)
        }
    }
}

/// slurmd has done with the launch of a step.
pub(crate) fn let_go(step: Step) {
    let mut kept = LEDGER.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, ledger)) = kept.as_mut() {
        ledger.let_go(step);
    }
}

/// What the user is told where the ledger cannot be used.
pub(crate) const UNKNOWN_OTHERS: &str = "the node's ledger could not be used: other steps may be \
     bound to the same cores; ask the administrator; the reason is in slurmd's log";

fn accounted(
    who: &Who<'_>,
    ask: &mut Request,
    (host, table): (&Host, &PuTable),
    plan: &impl Fn(&Request) -> Result<Plan, Refusal>,
) -> Result<Result<Planned, Refusal>, String> {
    let dir = StateDir::new(&who.settings.state_dir, who.node_name);
    let dir = dir.map_err(|why| why.to_string())?;
    let text = |why: LedgerError| why.to_string();
    let mut kept = LEDGER.lock().unwrap_or_else(PoisonError::into_inner);
    let current = kept
        .as_ref()
        .is_some_and(|(of, ledger)| *of == dir && ledger.is_current());
    if !current {
        *kept = None;
        let opened = open(&dir);
        seal::put_back(who.node_name, &dir);
        *kept = Some((dir.clone(), opened?));
    }
    let Some((_, ledger)) = kept.as_mut() else {
        return Err("the ledger is not open".into());
    };
    let mut session = ledger.session_now().map_err(text)?;
    let step = (who.step, who.kind);
    settled_now(&mut session, step, ask, (host, table), plan).map_err(text)
}

/// Plans a step with what the ledger says at this moment, and writes it down if that settles it.
fn settled_now(
    session: &mut Session<'_>,
    (step, kind): (Step, Kind),
    ask: &mut Request,
    (host, table): (&Host, &PuTable),
    plan: &impl Fn(&Request) -> Result<Plan, Refusal>,
) -> Result<Result<Planned, Refusal>, LedgerError> {
    let near = Available::of(ask, host, table).cpus;
    let others = session.others(step, &near);
    ask.occupied = others.all_running();
    let running = plan(ask);
    let depends = others.has_jobs() && {
        ask.occupied = others.all_suspended();
        let suspended = plan(ask);
        ask.occupied = others.all_running();
        chosen(&suspended) != chosen(&running)
    };
    if depends || !session.is_locked() {
        let plan = running.or_else(|why| unplanned(ask, plan, why));
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

/// Where a strict binding fails for now, what the step has until slurmstepd has settled it: all of
/// its CPUs.
fn unplanned(
    ask: &Request,
    plan: &impl Fn(&Request) -> Result<Plan, Refusal>,
    why: Refusal,
) -> Result<Plan, Refusal> {
    let mut lenient = ask.clone();
    lenient.rules.refuse_failed_binding = false;
    if let Some(binding) = &mut lenient.binding {
        binding.strict = false;
    }
    plan(&lenient).map_err(|_| why)
}

fn chosen(plan: &Result<Plan, Refusal>) -> Option<&berth_placement::Chosen> {
    plan.as_ref().ok()?.chosen.as_ref()
}

fn entry((step, kind): (Step, Kind), ask: &Request, plan: &Plan) -> Option<Entry> {
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

/// What slurmstepd needs to plan the step again.
pub(crate) fn settle(ask: &Request, host: &Host, overlaps: bool) -> Settle {
    let one = ask.cpu_bind.one_thread || host.shape.cpus_are_cores;
    Settle {
        binding: ask
            .binding
            .as_ref()
            .map(ToString::to_string)
            .unwrap_or_default(),
        tasks: ask.tasks,
        threads_per_core: ask.threads_per_core.or(one.then_some(1)),
        core_spec: ask.core_spec,
        overlaps,
    }
}

/// A plan, and where a `--binding` chose cores, the entry with its slot.
pub(crate) type Written = (Plan, Option<(usize, Entry)>);

/// slurmstepd's: plans a step while the ledger is held, with the other jobs as they are now, and
/// writes it down there.
pub(crate) fn within(
    session: &mut Session<'_>,
    step: (Step, Kind),
    ask: &mut Request,
    (host, table): (&Host, &PuTable),
    plan: &impl Fn(&Request) -> Result<Plan, Refusal>,
) -> Result<Result<Written, Refusal>, LedgerError> {
    let near = Available::of(ask, host, table).cpus;
    let others = session.others(step.0, &near);
    let plan = match plan_beside(&others, ask, plan) {
        Ok(plan) => plan,
        Err(why) => return Ok(Err(why)),
    };
    let Some(entry) = entry(step, ask, &plan) else {
        return Ok(Ok((plan, None)));
    };
    let slot = session.add(entry.clone())?;
    Ok(Ok((plan, Some((slot, entry)))))
}

/// Plans beside what others are bound to. Whether a job is suspended costs a look at one of its
/// tasks, so that is only asked where it decides.
fn plan_beside(
    others: &Others,
    ask: &mut Request,
    plan: &impl Fn(&Request) -> Result<Plan, Refusal>,
) -> Result<Plan, Refusal> {
    ask.occupied = others.all_running();
    let running = plan(ask);
    if !others.has_jobs() {
        return running;
    }
    ask.occupied = others.all_suspended();
    if chosen(&plan(ask)) == chosen(&running) {
        ask.occupied = others.all_running();
        return running;
    }
    ask.occupied = others.now();
    plan(ask)
}

/// Opens a node's ledger, and makes its directory where it is missing.
pub(crate) fn open(dir: &StateDir) -> Result<Ledger, String> {
    let ledger = match Ledger::open(dir) {
        Ok(ledger) => ledger,
        Err(_) => {
            dir.prepare().map_err(|why| why.to_string())?;
            Ledger::open(dir).map_err(|why| why.to_string())?
        }
    };
    if ledger.was_foreign() {
        log::error!(
            "what stood in {} was no ledger of berth's; it is begun anew",
            dir.path().display()
        );
    }
    Ok(ledger)
}

/// The kind of a step that srun or slurmd starts; others are never bound by us.
pub(crate) fn kind(id: StepId, overlaps: bool) -> Kind {
    match id.kind {
        StepKind::Batch => Kind::Batch,
        _ if overlaps => Kind::Overlap,
        _ => Kind::Regular,
    }
}
