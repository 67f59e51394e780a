//! slurmstepd decides a `--binding` that slurmd could not decide without waiting: it
//! plans the step again from the handover, the machine file and the ledger. Only its own step waits
//! for slurmstepd.

use std::thread::sleep;
use std::time::Duration;

use berth_host::ledger::{Entry, Held, Kind, StepKey};
use berth_host::{LedgerError, StateDir};
use berth_placement::request::cpuset::{Attributes, Dynamic, Given};
use berth_placement::{
    Allocation, Claims, CoreIdx, CpuSet, CpusetRequest, Node, Plan, Refusal, Request, StepCpuset,
    plan, plan_batch,
};
use slurm_sys::StepRecord;
use slurm_sys::views::StepKind;

use crate::message::handover::{Handover, InCpuset, Settle};
use crate::planning::ledger;
use crate::planning::ledger::Door;
use crate::site::settings;
use crate::site::standing::Abi;
use crate::stepd::account::Account;
use crate::stepd::own_node;

/// The time to wait for others who write the ledger.
const PATIENCE: Duration = Duration::from_secs(2);
/// slurmctld suspends a job and launches the one that preempts it at the same time. If a
/// binding fails because the other job has not stopped yet, slurmstepd waits this long for it. With
/// OverSubscribe=FORCE the stop never comes, and such a step starts this much later.
const LOOKS: u32 = 6;
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);

/// The result.
pub(crate) struct Settled {
    pub request: Request,
    pub plan: Plan,
    pub account: Option<Account>,
    /// The note to the user about the ledger.
    pub said: Option<String>,
}

/// The reason why it could not be decided.
pub(crate) enum Failed {
    /// The user's request, which must not be changed.
    Refused(String),
    /// A problem of the node.
    Broken(String),
}

/// Plans the step again.
///
/// # Errors
/// [`Failed`]
pub(crate) fn again(
    slurm: Abi,
    record: &StepRecord<'_>,
    (settle, heard): (&Settle, &Handover),
    node_name: &str,
) -> Result<Settled, Failed> {
    let dir = StateDir::new(&settings::current().state_dir, node_name);
    let dir = dir.map_err(|why| Failed::Broken(why.to_string()))?;
    let node = own_node::now(slurm, node_name).map_err(Failed::Broken)?;
    let mut ask = request(record, settle, &node).map_err(Failed::Broken)?;
    ask.mem_bind = heard.memory.clone().unwrap_or_default();
    ask.cpuset = heard.cpuset.as_ref().map(given);
    let id = record.step_id();
    let kind = match id.kind {
        StepKind::Batch => Kind::Batch,
        _ if settle.overlaps => Kind::Overlap,
        _ => Kind::Regular,
    };
    let refused = |why: Refusal| Failed::Refused(why.to_string());
    let step = (ledger::step(id), kind);
    let is_in_pool = heard
        .pool
        .as_ref()
        .is_some_and(|pool| pool.member.is_some());
    match written(&dir, (step, record.uid(), is_in_pool), (&ask, &node)) {
        Ok(Ok((plan, held))) => Ok(Settled {
            account: held.map(|held| Account::new(held, dir)),
            request: ask,
            plan,
            said: None,
        }),
        Ok(Err(why)) => Err(refused(why)),
        Err(why) => {
            log::error!("{why}; berth binds cores without knowing which cores other steps have");
            Ok(Settled {
                plan: door(kind)(&ask, &node, &Claims::default()).map_err(refused)?,
                account: None,
                request: ask,
                said: Some(ledger::UNKNOWN_OTHERS.into()),
            })
        }
    }
}

/// The cpuset that slurmd has chosen: only its CPUs matter for a binding.
fn given(cpuset: &InCpuset) -> StepCpuset {
    StepCpuset::Given(Given {
        asked: CpusetRequest::Dynamic(Dynamic::default()),
        cpus: cpuset.cpus.clone(),
        mems: None,
        attributes: Attributes::default(),
    })
}

fn door(kind: Kind) -> Door {
    match kind {
        Kind::Batch => plan_batch,
        Kind::Regular | Kind::Overlap => plan,
    }
}

fn request(record: &StepRecord<'_>, settle: &Settle, node: &Node) -> Result<Request, String> {
    let cores = match record.is_batch() {
        true => record.job_alloc_cores(),
        false => record.step_alloc_cores(),
    };
    let cores = CpuSet::from_list(&cores.unwrap_or_default()).map_err(|why| why.to_string())?;
    Ok(Request {
        tasks: settle.tasks,
        cpus_per_task: settle.cpus_per_task.max(1),
        threads_per_core: settle.threads_per_core,
        core_spec: settle.core_spec,
        core_kind: settle.core_kind,
        near: settle.near.clone(),
        gres: settle.gres.clone(),
        binding: Some(settle.binding.clone()),
        allocation: Allocation::Cores {
            cores: cores.iter().map(|core| CoreIdx(core.0)).collect(),
            configured: node.shape().core_count(),
        },
        reserved: settings::current().reserved.clone(),
        ..Request::default()
    })
}

type Written = (Plan, Option<Held>);

/// Plans and writes while nobody else does; between two tries others may.
fn written(
    dir: &StateDir,
    (step, uid, is_in_pool): ((StepKey, Kind), u32, bool),
    (ask, node): (&Request, &Node),
) -> Result<Result<Written, Refusal>, String> {
    let text = |why: LedgerError| why.to_string();
    for look in 1.. {
        let mut ledger = ledger::open(dir)?;
        let mut session = ledger.session(PATIENCE).map_err(text)?;
        session.ask_for_pool(is_in_pool);
        let found = ledger::within(&mut session, step, (ask, node, door(step.1)));
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
