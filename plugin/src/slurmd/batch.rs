//! slurmd's batch hook: the script is bound to the job's cores on this node, or
//! as its `--binding` says. slurmd ignores the result, so a refusal travels on as
//! a mark that slurmstepd's `pre_launch` obeys.

use std::ffi::c_void;
use std::fmt::Display;
use std::str::FromStr;

use berth_placement::request::grid_engine::Strategy;
use berth_placement::request::keyword_options::CoreKindWish;
use berth_placement::sets::limits::{BINDING_BYTES, USER_TEXT, WORD_BYTES};
use berth_placement::sets::text::shown;
use berth_placement::{Binding, Claims, Confine, CpuBind, Node, PoolWish, Request, plan_batch};
use libc::c_int;
use slurm_sys::{BatchRequest, SUCCESS, SlurmConf, SlurmdConf};

use crate::site::metrics;
use crate::site::settings::{self, Settings};
use crate::site::standing::{self, Abi};
use crate::slurmd::cpuset::{self, CpusetOfStep};
use crate::slurmd::launch::slurmd_conf;
use crate::slurmd::refusal::NotPlanned;
use crate::slurmd::{host, key, pool, refresh, reserved};
use crate::step::convert::NodeCredential;
use crate::step::handover::{Handover, InPool, Outcome};
use crate::step::own_options::{self, Own};
use crate::step::seal::StepIdentity;
use crate::step::{Step, convert, names};

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
    let done = script(slurm, &mut batch);
    refresh::if_news();
    match done {
        Ok(()) => {}
        Err(NotPlanned::FallBack(why)) => log::error!("step={}.batch: {why}", batch.job_id()),
        Err(NotPlanned::Refused(_, why)) => {
            let why = shown(USER_TEXT, why);
            log::info!("step={}.batch bound=refused why={why:?}", batch.job_id());
            metrics::refused();
            let refused = Handover {
                outcome: Outcome::Refused,
                note: why,
                ..Handover::default()
            };
            // Too many variables take no mark; slurmstepd counts them too.
            if batch.env().is_within_bounds().is_ok()
                && let Err(NotPlanned::FallBack(why) | NotPlanned::Refused(_, why)) =
                    write_handover(slurm, &mut batch, &refused)
            {
                log::error!("step={}.batch: {why}", batch.job_id());
            }
        }
    }
    SUCCESS
}

fn script(slurm: Abi, batch: &mut BatchRequest<'_>) -> Result<(), NotPlanned> {
    let settings = settings::current();
    let Some((conf, node_name)) = slurmd_conf(slurm, &settings)? else {
        metrics::switched_off(1);
        return Ok(());
    };
    let is_read = batch.env().is_within_bounds();
    is_read.map_err(NotPlanned::refused)?;
    let mut ask = request(batch, &settings, &node_name)?;
    let (cpuset, off) = cpuset(batch, (&settings, &node_name), &mut ask)?;
    let confine = confine(batch, &settings)?;
    let node = host::now(slurm, &conf, convert::rules(slurm, &settings));
    let plan = plan_batch(&ask, &node, &Claims::default())?;
    let id = batch.job_id();
    reserved::look(&plan, || format!("step={id}.batch"));
    let mut handover = Handover {
        note: off.unwrap_or_default(),
        confine: settings.confine.confines(confine),
        by_tree: !node.is_slurmds(),
        pool: pool_of(batch, &settings, &node, &node_name),
        own: plan.own.clone(),
        ..Handover::default()
    };
    let step = Step {
        request: ask,
        confine,
        cpuset: cpuset.map(|cpuset| cpuset.wish),
        ..Step::default()
    };
    if step.looks_at_others(node.rules().fixes) {
        write_cpu_bind(slurm, batch, Some(plan.own.to_hex(0)))?;
        handover.undecided = Some(Box::new(step));
    } else {
        handover.decided(&step, &plan, settings.confine);
        write_cpu_bind(slurm, batch, plan.text())?;
    }
    write_handover(slurm, batch, &handover)
}

/// Puts the job's cpuset into the script's request; and a note where this node does not honour it.
fn cpuset(
    batch: &BatchRequest<'_>,
    (settings, node_name): (&Settings, &str),
    ask: &mut Request,
) -> Result<(Option<CpusetOfStep>, Option<String>), NotPlanned> {
    let found = cpuset::of_batch(batch, settings, node_name);
    let found = found.map_err(NotPlanned::refused)?;
    if let Some(cpuset) = &found.0 {
        cpuset.put(ask);
    }
    Ok(found)
}

/// The script's request, and what the job owns of this node.
fn request(
    batch: &BatchRequest<'_>,
    settings: &Settings,
    node_name: &str,
) -> Result<Request, NotPlanned> {
    let (allocation, core_spec, nodes) = {
        let cred = batch.cred()?;
        let index = cred.node_index(node_name)?;
        let spec = convert::core_spec(cred.job_core_spec());
        let own = NodeCredential { cred: &cred, index }.job_allocation()?;
        (own, spec, cred.job_nhosts())
    };
    let (binding, core_kind) = binding_and_kind(batch, settings)?;
    let tasks = binding
        .as_ref()
        .and_then(|binding| binding.tasks_of_script(batch.ntasks(), nodes));
    Ok(Request {
        cpu_bind: CpuBind::default(),
        tasks: tasks.unwrap_or(1),
        binding,
        core_kind,
        allocation,
        core_spec,
        reserved: settings.reserved.clone(),
        ..Request::default()
    })
}

/// `--binding` binds the script of a job with one task; others keep the
/// allocation, and their sruns inherit the request.
fn binding(batch: &BatchRequest<'_>, settings: &Settings) -> Result<Option<Binding>, NotPlanned> {
    let Some(text) = text(batch, Own::Binding, BINDING_BYTES) else {
        return Ok(None);
    };
    let binding: Binding = text.parse().map_err(NotPlanned::refused)?;
    let wanted = settings.binding && binding.strategy != Strategy::None;
    let serves = wanted && binding.tasks_of_script(batch.ntasks(), 1).is_some();
    Ok(serves.then_some(binding))
}

/// A `--binding` that binds the script, and the `--core-kind` beside it.
fn binding_and_kind(
    batch: &BatchRequest<'_>,
    settings: &Settings,
) -> Result<(Option<Binding>, CoreKindWish), NotPlanned> {
    let Some(binding) = binding(batch, settings)? else {
        return Ok((None, CoreKindWish::Any));
    };
    let kind = option(batch, Own::CoreKind)?;
    Ok((Some(binding), kind.unwrap_or_default()))
}

/// The script's `--confine`.
fn confine(batch: &BatchRequest<'_>, settings: &Settings) -> Result<Option<Confine>, NotPlanned> {
    Ok(option(batch, Own::Confine)?.filter(|_| settings.binding))
}

/// An option of the script that is a word.
fn option<T: FromStr<Err: Display>>(
    batch: &BatchRequest<'_>,
    own: Own,
) -> Result<Option<T>, NotPlanned> {
    let read = text(batch, own, WORD_BYTES).map(|text| text.parse());
    let read = read.transpose();
    read.map_err(|why| NotPlanned::refused(format!("--{}: {why}", own.name)))
}

/// An option's text. One byte more than it may have is read, so its reader reports that it is too long.
fn text(batch: &BatchRequest<'_>, own: Own, most: usize) -> Option<String> {
    own_options::of_batch(own, |name| batch.env().beginning(name, most + 1))
}

/// The pool of the script's job.
fn pool_of(
    batch: &BatchRequest<'_>,
    settings: &Settings,
    node: &Node,
    node_name: &str,
) -> Option<InPool> {
    let wish: Option<PoolWish> = option(batch, Own::Pool).ok().flatten();
    let cred = &batch.cred().ok()?;
    let index = cred.node_index(node_name).ok()?;
    pool::pool_of_job(NodeCredential { cred, index }, settings, node, wish)
}

fn write_cpu_bind(
    slurm: Abi,
    batch: &mut BatchRequest<'_>,
    masks: Option<String>,
) -> Result<(), NotPlanned> {
    let c = &slurm.layout.constants;
    // SAFETY: the layout is the running release's, and the view ends here.
    let conf = unsafe { SlurmConf::current(slurm.layout, slurm.symbols) };
    let site = conf.map_or(0, |conf| conf.task_plugin_param());
    let bits = c.CPU_BIND_MASK | (site & c.CPU_BIND_VERBOSE);
    Ok(batch.set_cpu_bind(bits as u16, masks.as_deref())?)
}

/// Writes the handover into the script's environment, with slurmd's mark.
fn write_handover(
    slurm: Abi,
    batch: &mut BatchRequest<'_>,
    handover: &Handover,
) -> Result<(), NotPlanned> {
    // SAFETY: the layout is the running release's, and the view ends here.
    let conf = unsafe { SlurmdConf::current(slurm.layout, slurm.symbols) };
    let node_name = conf.and_then(|conf| conf.node_name()).unwrap_or_default();
    let identity = StepIdentity {
        node_name: &node_name,
        step: batch.step_id(),
        uid: batch.cred()?.uid(),
    };
    let sealed = key::sealed(handover, &identity)?;
    let set = sealed.as_deref().map(|sealed| (names::HANDOVER, sealed));
    let change = names::instead_of_outer(set.as_slice());
    Ok(batch.env().change(&change)?)
}
