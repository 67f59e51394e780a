//! slurmd at the ledger: a step with a `--binding` is planned with what others are bound to, and
//! written down, while nobody else writes. Other steps never come here.
//! A ledger that fails costs the step its accounting, never its launch; it is said.

use std::sync::{Mutex, PoisonError};
use std::thread::sleep;
use std::time::Duration;

use berth_host::ledger::{Entry, Kind, Others, Session, Step};
use berth_host::{Ledger, LedgerError, StateDir};
use berth_placement::available::Available;
use berth_placement::{Host, Plan, PuTable, Refusal, Request};
use slurm_sys::StepId;
use slurm_sys::views::StepKind;

use crate::settings::Settings;

/// slurmd holds its prolog lock while we wait: others hold the ledger for microseconds.
const PATIENCE: Duration = Duration::from_millis(200);

/// slurmctld suspends a job and launches the one that preempts it in the same breath: where a
/// binding would fail for want of a stop, that is waited for. (With OverSubscribe=FORCE the stop never
/// comes, and a binding that fails so takes its launch 50 ms longer.)
const LOOKS: u32 = 6;
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);

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

/// Plans with `plan`, and accounts for it. Beside the plan what the user should know.
pub(crate) fn plan(
    who: &Who<'_>,
    ask: &mut Request,
    (host, table): (&Host, &PuTable),
    plan: impl Fn(&Request) -> Result<Plan, Refusal>,
) -> Result<(Plan, String), Refusal> {
    match accounted(who, ask, (host, table), &plan) {
        Ok(planned) => planned.map(|planned| (planned, String::new())),
        Err(why) => {
            log::error!("{why}; cores are bound without knowing what other steps are bound to");
            let note = "the node's ledger could not be used: other steps may be bound to the same \
                        cores; its administrator finds the reason in slurmd's log";
            plan(ask).map(|planned| (planned, note.into()))
        }
    }
}

fn accounted(
    who: &Who<'_>,
    ask: &mut Request,
    (host, table): (&Host, &PuTable),
    plan: &impl Fn(&Request) -> Result<Plan, Refusal>,
) -> Result<Result<Plan, Refusal>, String> {
    let dir = StateDir::new(&who.settings.state_dir, who.node_name);
    let dir = dir.map_err(|why| why.to_string())?;
    let text = |why: LedgerError| why.to_string();
    let mut kept = LEDGER.lock().unwrap_or_else(PoisonError::into_inner);
    let current = kept
        .as_ref()
        .is_some_and(|(of, ledger)| *of == dir && ledger.is_current());
    if !current {
        *kept = None;
        *kept = Some((dir.clone(), open(&dir)?));
    }
    let Some((_, ledger)) = kept.as_mut() else {
        return Err("the ledger is not open".into());
    };
    let mut session = ledger.session(PATIENCE).map_err(text)?;
    let step = (who.step, who.kind);
    let planned = within(&mut session, step, ask, (host, table), plan).map_err(text)?;
    Ok(planned.map(|(plan, _)| plan))
}

/// A plan, and where a `--binding` chose cores, the entry with its slot.
pub(crate) type Planned = (Plan, Option<(usize, Entry)>);

/// Plans a step while the ledger is held, and writes it down there.
pub(crate) fn within(
    session: &mut Session<'_>,
    (step, kind): (Step, Kind),
    ask: &mut Request,
    (host, table): (&Host, &PuTable),
    plan: &impl Fn(&Request) -> Result<Plan, Refusal>,
) -> Result<Result<Planned, Refusal>, LedgerError> {
    let near = Available::of(ask, host, table).cpus;
    let others = session.others(step, &near);
    let plan = match plan_beside(&others, ask, plan) {
        Ok(plan) => plan,
        Err(why) => return Ok(Err(why)),
    };
    let Some(chosen) = &plan.chosen else {
        return Ok(Ok((plan, None)));
    };
    let request = ask.binding.as_ref().map(ToString::to_string);
    let entry = Entry {
        step,
        kind,
        tasks: ask.tasks,
        request: request.unwrap_or_default(),
        cpus: chosen.cpus(),
        ..Entry::default()
    };
    let slot = session.add(entry.clone())?;
    Ok(Ok((plan, Some((slot, entry)))))
}

/// Plans beside what others are bound to. Whether a job is suspended costs a look at one of its
/// tasks, so that is only asked where it decides: where the plan would be another if all were.
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
    let chosen =
        |plan: &Result<Plan, Refusal>| plan.as_ref().ok().and_then(|plan| plan.chosen.clone());
    ask.occupied = others.all_suspended();
    if chosen(&plan(ask)) == chosen(&running) {
        ask.occupied = others.all_running();
        return running;
    }
    for _ in 1..LOOKS {
        ask.occupied = others.now();
        let now = plan(ask);
        if chosen(&now).is_some() {
            return now;
        }
        sleep(BETWEEN_LOOKS);
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
