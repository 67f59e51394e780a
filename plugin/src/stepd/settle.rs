//! slurmstepd at the ledger, for a `--binding` that slurmd could not settle without waiting: it
//! plans the step again from the handover, the machine file and the ledger. Nobody waits for
//! slurmstepd but its own step.

use std::thread::sleep;
use std::time::Duration;

use berth_host::ledger::{Entry, Held, Kind, StepKey};
use berth_host::{LedgerError, StateDir, machine_file};
use berth_placement::{
    Allocation, CoreIdx, CpuSet, Host, MemBind, Plan, PuTable, Refusal, Request, plan, plan_batch,
};
use slurm_sys::views::StepKind;
use slurm_sys::{SlurmdConf, StepRecord};

use crate::message::handover::Settle;
use crate::planning::{convert, ledger};
use crate::site::standing::Abi;
use crate::site::{node, settings};
use crate::stepd::account::Account;

/// How long for others who write the ledger.
const PATIENCE: Duration = Duration::from_secs(2);
/// slurmctld suspends a job and launches the one that preempts it in the same breath: where a
/// binding fails for want of a stop, that is waited for. With OverSubscribe=FORCE the stop never
/// comes, and a binding that fails so starts its step this much later.
const LOOKS: u32 = 6;
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);

/// What came of it.
pub(crate) struct Settled {
    pub request: Request,
    pub plan: Plan,
    pub account: Option<Account>,
    /// What the user should know of the ledger.
    pub said: Option<String>,
}

/// Why it could not be settled.
pub(crate) enum Failed {
    /// The user's wish, which must not be changed.
    Refused(String),
    /// Something of the node's.
    Broken(String),
}

/// Plans the step again.
///
/// # Errors
/// [`Failed`]
pub(crate) fn again(
    slurm: Abi,
    record: &StepRecord<'_>,
    (settle, memory): (&Settle, Option<&MemBind>),
    node_name: &str,
) -> Result<Settled, Failed> {
    let dir = StateDir::new(&settings::current().state_dir, node_name);
    let dir = dir.map_err(|why| Failed::Broken(why.to_string()))?;
    let host = host(slurm, &dir).map_err(Failed::Broken)?;
    let mut ask = request(slurm, record, settle, &host).map_err(Failed::Broken)?;
    ask.mem_bind = memory.cloned().unwrap_or_default();
    let id = record.step_id();
    let kind = match id.kind {
        StepKind::Batch => Kind::Batch,
        _ if settle.overlaps => Kind::Overlap,
        _ => Kind::Regular,
    };
    let refused = |why: Refusal| Failed::Refused(why.to_string());
    match written(
        &dir,
        ((ledger::step(id), kind), record.uid()),
        &mut ask,
        &host,
    ) {
        Ok(Ok((plan, held))) => Ok(Settled {
            account: held.map(|held| Account::new(held, dir)),
            request: ask,
            plan,
            said: None,
        }),
        Ok(Err(why)) => Err(refused(why)),
        Err(why) => {
            log::error!("{why}; cores are bound without knowing what other steps are bound to");
            Ok(Settled {
                plan: planned(&ask, kind, &host).map_err(refused)?,
                account: None,
                request: ask,
                said: Some(ledger::UNKNOWN_OTHERS.into()),
            })
        }
    }
}

fn planned(ask: &Request, kind: Kind, host: &Host) -> Result<Plan, Refusal> {
    match kind {
        Kind::Batch => plan_batch(ask, host),
        Kind::Regular | Kind::Overlap => plan(ask, host),
    }
}

/// The node as slurmd counts it, with the machine that slurmd found.
fn host(slurm: Abi, dir: &StateDir) -> Result<Host, String> {
    // SAFETY: the layout is the running release's, and the view ends here.
    let conf = unsafe { SlurmdConf::current(slurm.layout, slurm.symbols) };
    let conf = conf.ok_or("slurmstepd has no settings of slurmd (conf)")?;
    node::sane(&conf)?;
    let machine = machine_file::read(dir.machine_path()).ok();
    Ok(node::host_of(
        slurm,
        &conf,
        machine.map(|file| file.machine.into()),
    ))
}

fn request(
    slurm: Abi,
    record: &StepRecord<'_>,
    settle: &Settle,
    host: &Host,
) -> Result<Request, String> {
    let cores = match record.is_batch() {
        true => record.job_alloc_cores(),
        false => record.step_alloc_cores(),
    };
    let cores = CpuSet::from_list(&cores.unwrap_or_default()).map_err(|why| why.to_string())?;
    Ok(Request {
        tasks: settle.tasks,
        threads_per_core: settle.threads_per_core,
        core_spec: settle.core_spec,
        binding: Some(settle.binding.clone()),
        allocation: Allocation::Cores {
            cores: cores.iter().map(|core| CoreIdx(core.0)).collect(),
            configured: host.shape.core_count(),
        },
        rules: convert::rules(slurm, &settings::current()),
        ..Request::default()
    })
}

type Written = (Plan, Option<Held>);

/// Plans and writes while nobody else does; between two looks others may.
fn written(
    dir: &StateDir,
    (step, uid): ((StepKey, Kind), u32),
    ask: &mut Request,
    host: &Host,
) -> Result<Result<Written, Refusal>, String> {
    let table = PuTable::new(host, ask.rules.fixes);
    let text = |why: LedgerError| why.to_string();
    for look in 1.. {
        let mut ledger = ledger::open(dir)?;
        let mut session = ledger.session(PATIENCE).map_err(text)?;
        let plan = |ask: &Request| planned(ask, step.1, host);
        let found = ledger::within(&mut session, step, ask, (host, &table), &plan);
        drop(session);
        match found.map_err(text)? {
            Ok((plan, Some((slot, entry)))) => {
                let held = ledger.hold(slot, Entry { uid, ..entry }).map_err(text)?;
                return Ok(Ok((plan, Some(held))));
            }
            failed if look == LOOKS => return Ok(failed.map(|(plan, _)| (plan, None))),
            _ => sleep(BETWEEN_LOOKS),
        }
    }
    Err("the ledger was never looked at".into())
}
