//! slurmd's launch hook: request, plan, launch message. A wish that looks at other steps is checked here for what can
//! never fit, and decided in slurmstepd. slurmd holds its prolog lock here: arithmetic only, no I/O beyond looking for
//! the files `off` and `reload` and comparing the set of online CPUs.

use std::ffi::{c_char, c_void};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

use berth_placement::sets::limits::{LIST_BYTES, USER_TEXT};
use berth_placement::sets::text::shown;
use berth_placement::{Claims, Message, Node, Plan, PoolWish, plan, planned_on};
use libc::c_int;
use slurm_sys::sanity::{launch_is_sane, launch_is_still_sane};
use slurm_sys::{LaunchRequest, SUCCESS, SlurmdConf};

use crate::site::settings::{self, Settings};
use crate::site::standing::{self, Abi};
use crate::site::{metrics, node};
use crate::slurmd::refusal::{self, NotPlanned};
use crate::slurmd::{host, key, pool, refresh, requested_step, reserved, shadow};
use crate::step::convert::NodeCredential;
use crate::step::handover::{Handover, InPool};
use crate::step::seal::StepIdentity;
use crate::step::words::{join_bounded, name};
use crate::step::{CpuBindWords, Step, convert, memory, names};

/// slurmd knows of no other step.
static NO_CLAIMS: LazyLock<Claims> = LazyLock::new(Claims::default);

/// Whether a launch request has passed the checks in this process, so that the table is right.
static PROVEN: AtomicBool = AtomicBool::new(false);

/// `task_p_slurmd_launch_request`.
///
/// # Safety
/// The pointers are those that slurmd passed to the running hook.
pub(crate) unsafe fn hook(request: *mut c_void, node_id: u32, err_msg: *mut *mut c_char) -> c_int {
    let Some(slurm) = standing::working() else {
        return SUCCESS;
    };
    // SAFETY: slurmd owns the request and keeps it until the hook returns; the
    // layout is the running release's.
    let Some(mut launch) =
        (unsafe { LaunchRequest::from_raw(request, slurm.layout, slurm.symbols) })
    else {
        return SUCCESS;
    };
    let done = plan_step(slurm, &mut launch, node_id);
    refresh::if_news();
    match done {
        Ok(()) => SUCCESS,
        Err(NotPlanned::FallBack(why)) => {
            log::error!("{}: {why}", name(launch.step_id()));
            fall_back(&mut launch);
            SUCCESS
        }
        Err(NotPlanned::Refused(kind, why)) => {
            let why = shown(USER_TEXT, why);
            log::info!("{} bound=refused why={why:?}", name(launch.step_id()));
            metrics::refused();
            let refuses = |share| would_refuse(slurm, &launch, share);
            if let Some(text) =
                refusal::text_for_srun(&launch, (node_id, slurm.layout), &why, refuses)
            {
                // SAFETY: slurmd's place for a text, or null.
                let given = unsafe { slurm_sys::set_err_msg(err_msg, &text, slurm.symbols) };
                if let Err(why) = given {
                    log::error!("{why}");
                }
            }
            refusal::slurm_code(kind, slurm.layout)
        }
    }
}

/// After a panic in the hook.
///
/// # Safety
/// As for [`hook`].
pub(crate) unsafe fn after_panic(request: *mut c_void) {
    let Some(slurm) = standing::working() else {
        return;
    };
    // SAFETY: slurmd owns the request and keeps it until the hook returns; the
    // layout is the running release's.
    let launch = unsafe { LaunchRequest::from_raw(request, slurm.layout, slurm.symbols) };
    if let Some(mut launch) = launch {
        fall_back(&mut launch);
    }
}

/// Leaves the step to slurmstepd, which keeps its tasks to the step's own CPUs. What a user's
/// client wrote is removed from the message. If no record has passed its check yet, the table
/// may be wrong and nothing is written; then slurmstepd finds no mark, and binds the tasks to the step's own CPUs.
fn fall_back(launch: &mut LaunchRequest<'_>) {
    if !PROVEN.load(Ordering::Relaxed) {
        return;
    }
    let cleared = launch
        .set_cpu_bind(0, None)
        .and_then(|()| launch.set_mem_bind(0, None))
        .and_then(|()| launch.env().change(&names::instead_of_outer(&[])));
    if let Err(why) = cleared {
        log::error!("{}: {why}", name(launch.step_id()));
    }
}

fn plan_step(slurm: Abi, launch: &mut LaunchRequest<'_>, node_id: u32) -> Result<(), NotPlanned> {
    let settings = settings::current();
    let Some((conf, node_name)) = slurmd_conf(slurm, &settings)? else {
        metrics::switched_off(launch.tasks_here(node_id).unwrap_or(0).into());
        return Ok(());
    };
    let index = check(launch, node_id, &node_name)?;
    let (share, uid) = share_of_node(launch, index, node_id)?;
    let id = launch.step_id();
    let identity = StepIdentity {
        node_name: &node_name,
        step: id,
        uid,
    };
    let node = node_of(slurm, &conf, &settings)?;
    let requested = requested_step::read(slurm, launch, &settings, share, &node);
    let requested = requested.map_err(NotPlanned::refused)?;
    let ask = &requested.step.request;
    // A request that can never fit is refused here, whoever else is on the node.
    let plan = plan(ask, &node, &NO_CLAIMS);
    if settings.shadow {
        shadow::compare(&name(id), (&node_name, ask, &node), &plan);
    }
    let plan = plan?;
    let cpus_per_task = ask.cpus_per_task;
    reserved::look(&plan, || name(id));
    if requested.inherited {
        forget_list(slurm, launch)?;
    }
    let mut handover = Handover {
        note: join_bounded(&[], requested.notes.iter().cloned()),
        by_tree: !planned_on(ask, &node).is_slurmds(),
        confine: settings.confine.confines(requested.step.confine),
        pool: pool_of(launch, index, &settings, &node, requested.pool),
        own: plan.own.clone(),
        ..Handover::default()
    };
    if requested.step.looks_at_others(node.rules().fixes) {
        handover.undecided = Some(Box::new(Step {
            came: Some(leave_open(slurm, launch, &plan)?),
            ..requested.step
        }));
    } else {
        handover.decided(&requested.step, &plan, settings.confine);
        write_cpu_bind(slurm, launch, &plan, node.counts_cores())?;
    }
    if plan.decision.cpus_per_task != cpus_per_task {
        launch.set_cpus_per_task(plan.decision.cpus_per_task as u16);
    }
    memory::write(launch, &plan, slurm.layout)?;
    write_handover(launch, &handover, &identity)
}

/// The node as it is now.
fn node_of(slurm: Abi, conf: &SlurmdConf, settings: &Settings) -> Result<Arc<Node>, NotPlanned> {
    let node = host::now(slurm, conf, convert::rules(slurm, settings));
    match node.table().is_empty() {
        true => Err(NotPlanned::FallBack("slurmd has no map of its CPUs".into())),
        false => Ok(node),
    }
}

/// The pool of the step's job.
fn pool_of(
    launch: &LaunchRequest<'_>,
    index: u32,
    settings: &Settings,
    node: &Node,
    wish: Option<PoolWish>,
) -> Option<InPool> {
    let cred = &launch.cred().ok()?;
    pool::pool_of_job(NodeCredential { cred, index }, settings, node, wish)
}

/// Takes the list of the step around it out of the message.
fn forget_list(slurm: Abi, launch: &mut LaunchRequest<'_>) -> Result<(), slurm_sys::Error> {
    let modes = convert::mode_bits(slurm.layout);
    launch.set_cpu_bind(launch.cpu_bind_type() & !(modes as u16), None)
}

/// Whether the step would be refused with another node's share of it, on this machine and with all
/// of its cores free.
fn would_refuse(slurm: Abi, launch: &LaunchRequest<'_>, share: refusal::Share) -> bool {
    let settings = settings::current();
    let Ok(Some((conf, _))) = slurmd_conf(slurm, &settings) else {
        return false;
    };
    let node = host::now(slurm, &conf, convert::rules(slurm, &settings));
    match requested_step::read(slurm, launch, &settings, share, &node) {
        Ok(requested) => plan(&requested.step.request, &node, &NO_CLAIMS).is_err(),
        Err(_) => true,
    }
}

/// The step's share of this node and its user, by the credential.
fn share_of_node(
    launch: &LaunchRequest<'_>,
    index: u32,
    node_id: u32,
) -> Result<(refusal::Share, u32), NotPlanned> {
    let tasks = u32::from(launch.tasks_here(node_id).unwrap_or(0));
    let cred = launch.cred()?;
    let cores = cred.node_cores(index)?;
    let share = refusal::Share {
        tasks,
        allocation: convert::allocation(cred.step_cores(&cores)?, &cores),
        index,
    };
    Ok((share, cred.uid()))
}

/// slurmd's settings and this node's name, checked; nothing while switched off.
pub(crate) fn slurmd_conf(
    slurm: Abi,
    settings: &Settings,
) -> Result<Option<(SlurmdConf, String)>, NotPlanned> {
    // SAFETY: the layout is the running release's, and the view ends with the hook.
    let conf = unsafe { SlurmdConf::current(slurm.layout, slurm.symbols) };
    let conf = conf.ok_or_else(|| NotPlanned::FallBack("slurmd has no settings (conf)".into()))?;
    node::sane(&conf).map_err(NotPlanned::FallBack)?;
    let node_name = conf.node_name().unwrap_or_default();
    Ok((!standing::is_off(settings)).then_some((conf, node_name)))
}

/// The sanity checks; once one request has passed, the kernel need not look at
/// every pointer again. Gives this node's place in the credential.
fn check(launch: &LaunchRequest<'_>, node_id: u32, node_name: &str) -> Result<u32, NotPlanned> {
    if PROVEN.load(Ordering::Relaxed) {
        // The table is right, so it is the request that contradicts itself: a client made it up.
        return launch_is_still_sane(launch, node_id, node_name).map_err(|why| {
            NotPlanned::refused(format!(
                "{}; start the step with this cluster's own srun",
                why.found
            ))
        });
    }
    let index = launch_is_sane(launch, node_id, node_name)
        .map_err(|why| NotPlanned::FallBack(why.to_string()))?;
    PROVEN.store(true, Ordering::Relaxed);
    Ok(index)
}

/// Until slurmstepd has decided the step, its message has the step's own CPUs. Gives what came there.
fn leave_open(
    slurm: Abi,
    launch: &mut LaunchRequest<'_>,
    plan: &Plan,
) -> Result<CpuBindWords, slurm_sys::Error> {
    let came = CpuBindWords {
        bits: launch.cpu_bind_type().into(),
        list: launch.cpu_bind(LIST_BYTES).ok().flatten(),
    };
    let c = &slurm.layout.constants;
    let bits = c.CPU_BIND_MASK | (came.bits & c.CPU_BIND_VERBOSE);
    launch.set_cpu_bind(bits as u16, Some(&plan.own.to_hex(0)))?;
    Ok(came)
}

/// Writes the tasks' masks.
fn write_cpu_bind(
    slurm: Abi,
    launch: &mut LaunchRequest<'_>,
    plan: &Plan,
    cpus_are_cores: bool,
) -> Result<(), NotPlanned> {
    let came = launch.cpu_bind_type().into();
    let bits = convert::cpu_bind_bits(came, plan, cpus_are_cores, slurm.layout);
    match (&plan.message, plan.masks()) {
        // A list of the user's own stays as it came.
        (Message::AsAsked(_), _) => launch.set_cpu_bind_type(bits as u16),
        (_, Some(masks)) => {
            launch.write_cpu_bind(bits as u16, masks.length(), |zeros| masks.put(zeros))?;
        }
        _ => launch.set_cpu_bind(bits as u16, plan.text().as_deref())?,
    }
    Ok(())
}

/// Writes the handover, with slurmd's mark.
fn write_handover(
    launch: &mut LaunchRequest<'_>,
    handover: &Handover,
    identity: &StepIdentity<'_>,
) -> Result<(), NotPlanned> {
    let sealed = key::sealed(handover, identity)?;
    let set = sealed.as_deref().map(|sealed| (names::HANDOVER, sealed));
    let change = names::instead_of_outer(set.as_slice());
    launch.env().change(&change)?;
    if log::log_enabled!(log::Level::Debug) {
        log::debug!(
            "{} request={:?} rule={} masks={}",
            name(launch.step_id()),
            handover.request,
            handover.rule,
            launch
                .cpu_bind(LIST_BYTES)
                .ok()
                .flatten()
                .as_deref()
                .unwrap_or("none")
        );
    }
    Ok(())
}
