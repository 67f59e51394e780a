//! slurmd's batch hook: the script is bound to the job's cores on this node, or
//! as its `--binding` says. slurmd ignores the result, so a refusal travels on as
//! a mark that slurmstepd's `pre_launch` obeys.

use std::ffi::c_void;

use berth_host::ledger::Kind;
use berth_placement::{
    Binding, CpuBind, Plan, RefusalKind, Request,
    binding::{Instance, Strategy},
    plan_batch,
};
use libc::c_int;
use slurm_sys::{BatchRequest, SlurmConf};

use crate::guard::SUCCESS;
use crate::launch::{ENV_BOUND, ENV_NOTE, ENV_REQUEST, ENV_RULE, Stop, describe, here, join};
use crate::node_counts::each_node;
use crate::settings::{self, Settings};
use crate::standing::{self, Slurmish};
use crate::task_env::ENV_CHOSEN;
use crate::{accounting, convert, counting, node, spank_option};

/// Value of `BERTH_BOUND` with which slurmstepd must not start the script.
pub(crate) const REFUSED: &str = "refused";

/// `task_p_slurmd_batch_request`.
///
/// # Safety
/// The pointer is the one that slurmd passed to the running hook.
pub(crate) unsafe fn hook(request: *mut c_void) -> c_int {
    let Some(slurm) = standing::working() else {
        return SUCCESS;
    };
    // SAFETY: slurmd owns the request and keeps it until the hook returns; the
    // layout is the running release's.
    let batch = unsafe { BatchRequest::from_raw(request, slurm.layout, slurm.symbols) };
    let Some(mut batch) = batch else {
        return SUCCESS;
    };
    match script(slurm, &mut batch) {
        Ok(()) => {}
        Err(Stop::Aside(why)) => log::error!("step={}.batch: {why}", batch.job_id()),
        Err(Stop::Refused(_, why)) => {
            log::info!("step={}.batch bound=refused why={why:?}", batch.job_id());
            counting::refused(slurm);
            let marked = batch
                .env_set(ENV_BOUND, REFUSED)
                .and_then(|()| batch.env_set(ENV_NOTE, &why));
            if let Err(why) = marked {
                log::error!("{why}");
            }
        }
    }
    SUCCESS
}

fn script(slurm: Slurmish, batch: &mut BatchRequest<'_>) -> Result<(), Stop> {
    let settings = settings::current();
    let Some((conf, node_name)) = here(slurm, &settings)? else {
        counting::switched_off(slurm, 1);
        return Ok(());
    };
    let (allocation, core_spec, nodes) = {
        let cred = batch.cred()?;
        let cores = cred.node_cores(cred.node_index(&node_name)?)?;
        let spec = convert::core_spec(cred.job_core_spec());
        let own = convert::allocation(cred.job_cores(&cores)?, &cores);
        (own, spec, cred.job_nhosts())
    };
    let binding = binding(batch, &settings)?;
    let tasks = binding
        .as_ref()
        .and_then(|binding| tasks(binding, nodes, |name| batch.env_get(name)));
    let mut ask = Request {
        cpu_bind: CpuBind::default(),
        tasks: tasks.unwrap_or(1),
        binding,
        allocation,
        core_spec,
        rules: convert::rules(slurm, &settings),
        ..Request::default()
    };
    let host = node::host(slurm, &conf);
    let table = node::table(&host, ask.rules.fixes);
    let (plan, note) = if ask.binding.is_some() {
        let who = accounting::Who {
            settings: &settings,
            node_name: &node_name,
            step: accounting::step(batch.step_id()),
            kind: Kind::Batch,
        };
        accounting::plan(&who, &mut ask, (&host, &table), |ask| {
            plan_batch(ask, &host)
        })?
    } else {
        (plan_batch(&ask, &host)?, String::new())
    };
    write(slurm, batch, &ask, &plan, &note)
}

/// `--binding` binds the script of a job with one task; others keep the
/// allocation, and their sruns inherit the request.
fn binding(batch: &BatchRequest<'_>, settings: &Settings) -> Result<Option<Binding>, Stop> {
    let Some(text) = spank_option::of_batch(|name| batch.env_get(name)) else {
        return Ok(None);
    };
    let binding: Binding = text
        .parse()
        .map_err(|why| Stop::Refused(RefusalKind::Bind, format!("{why}")))?;
    let wanted = settings.binding && binding.strategy != Strategy::None;
    let serves = wanted && tasks(&binding, 1, |name| batch.env_get(name)).is_some();
    Ok(serves.then_some(binding))
}

/// For how many tasks of a node a script's `--binding` is planned: one, if the job has one; with
/// `pe:` those that the parallel environment will start. Otherwise it is the steps' alone.
pub(crate) fn tasks(
    binding: &Binding,
    nodes: u32,
    env: impl Fn(&str) -> Option<String>,
) -> Option<u32> {
    let number = |name: &str| env(name)?.parse::<u32>().ok();
    let all = number("SLURM_NTASKS").unwrap_or(1);
    if all <= 1 {
        return Some(1);
    }
    // slurmd's hook comes before Slurm says how many tasks each node has.
    let of_nodes = env("SLURM_TASKS_PER_NODE").unwrap_or_default();
    let most = each_node(&of_nodes).unwrap_or_default().most();
    let each = || number("SLURM_NTASKS_PER_NODE").unwrap_or(all.div_ceil(nodes.max(1)));
    Some(most.unwrap_or_else(each)).filter(|_| binding.instance == Instance::Pe)
}

fn write(
    slurm: Slurmish,
    batch: &mut BatchRequest<'_>,
    ask: &Request,
    plan: &Plan,
    ledger_note: &str,
) -> Result<(), Stop> {
    let c = &slurm.layout.constants;
    // SAFETY: the layout is the running release's, and the view ends here.
    let conf = unsafe { SlurmConf::current(slurm.layout, slurm.symbols) };
    let site = conf.map_or(0, |conf| conf.task_plugin_param());
    let bits = c.CPU_BIND_MASK | (site & c.CPU_BIND_VERBOSE);
    batch.set_cpu_bind(bits as u16, plan.message.text())?;
    batch.env_set(ENV_BOUND, if plan.is_bound() { "1" } else { "0" })?;
    batch.env_set(ENV_REQUEST, &describe(ask))?;
    batch.env_set(ENV_RULE, &plan.rule.to_string())?;
    batch.env_set(ENV_NOTE, &join(&plan.notes, [ledger_note.into()]))?;
    let chosen = plan.chosen.as_ref().map(ToString::to_string);
    batch.env_set(ENV_CHOSEN, &chosen.unwrap_or_default())?;
    Ok(())
}
