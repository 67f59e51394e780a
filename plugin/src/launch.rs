//! slurmd's launch hook: request, plan, launch message.
//! slurmd holds its prolog lock here: arithmetic only, no I/O beyond looking for
//! the switch-off file, comparing the set of online CPUs, and for `--binding` the ledger.

use std::ffi::{c_char, c_void};
use std::fmt::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use berth_host::StateDir;
use berth_placement::{
    Binding, Host, Message, Note, Plan, PuTable, Refusal, RefusalKind, Request, binding::Strategy,
    plan, plan_unwritten,
};
use libc::c_int;
use slurm_sys::sanity::{launch_is_sane, launch_is_still_sane};
use slurm_sys::views::SpankOption;
use slurm_sys::{LaunchRequest, Layout, SlurmdConf, StepId};

use crate::guard::SUCCESS;
use crate::settings::{self, Settings};
use crate::slurm_log::VERBOSE;
use crate::standing::{self, Slurmish};
use crate::task_env::ENV_CHOSEN;
use crate::{
    accounting, convert, counting, inherited, memory, message, node, shadow, spank_option,
};

/// The environment in which a plan travels to slurmstepd and to the tasks.
pub(crate) const ENV_BOUND: &str = "BERTH_BOUND";
/// What was asked.
pub(crate) const ENV_REQUEST: &str = "BERTH_REQUEST";
/// The rule that decided.
pub(crate) const ENV_RULE: &str = "BERTH_RULE";
/// What the user should know; empty for nothing.
pub(crate) const ENV_NOTE: &str = "BERTH_NOTE";

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
    match step(slurm, &mut launch, node_id) {
        Ok(()) => SUCCESS,
        Err(Stop::Aside(why)) => {
            log::error!("{}: {why}", name(launch.step_id()));
            SUCCESS
        }
        Err(Stop::Refused(kind, why)) => {
            log::info!("{} bound=refused why={why:?}", name(launch.step_id()));
            counting::refused(slurm);
            // SAFETY: slurmd's place for a text, or null.
            let told =
                unsafe { slurm_sys::hand_over(err_msg, &format!("berth: {why}"), slurm.symbols) };
            if let Err(why) = told {
                log::error!("{why}");
            }
            code(kind, slurm.layout)
        }
    }
}

/// Why a launch is not planned.
pub(crate) enum Stop {
    /// We leave the step alone: off, or a record that cannot be trusted.
    Aside(String),
    /// The step must not run as asked.
    Refused(RefusalKind, String),
}

impl From<Refusal> for Stop {
    fn from(why: Refusal) -> Self {
        Self::Refused(why.kind(), why.to_string())
    }
}

impl From<slurm_sys::Error> for Stop {
    fn from(why: slurm_sys::Error) -> Self {
        Self::Aside(why.to_string())
    }
}

fn step(slurm: Slurmish, launch: &mut LaunchRequest<'_>, node_id: u32) -> Result<(), Stop> {
    let settings = settings::current();
    let Some((conf, node_name)) = here(slurm, &settings)? else {
        counting::switched_off(slurm, launch.tasks_here(node_id).unwrap_or(0).into());
        return Ok(());
    };
    let index = check(launch, node_id, &node_name).map_err(Stop::Aside)?;
    let allocation = {
        let cred = launch.cred()?;
        let cores = cred.node_cores(index)?;
        convert::allocation(cred.step_cores(&cores)?, &cores)
    };
    let refused = |why: String| Stop::Refused(RefusalKind::Bind, why);
    let tasks = u32::from(launch.tasks_here(node_id).unwrap_or(0));
    let rules = convert::rules(slurm, &settings);
    let mut ask =
        convert::request(launch, tasks, allocation, rules, slurm.layout).map_err(refused)?;
    let inherited = inherited::forget(&mut ask, launch);
    let options = launch.options().unwrap_or_default();
    let overlaps = spank_option::overlaps(&options);
    let (binding, binding_note) = binding(launch, &options, &settings).map_err(refused)?;
    ask.binding = binding;
    let (mem_bind, memory_note) = memory::asked(launch, slurm.layout).map_err(refused)?;
    ask.mem_bind = mem_bind;
    let host = node::host(slurm, &conf);
    if host.shape.map.is_empty() {
        return Err(Stop::Aside("slurmd has no map of its CPUs".into()));
    }
    let table = node::table(&host, ask.rules.fixes);
    if settings.shadow {
        shadow::compare(&name(launch.step_id()), &ask, &host, &plan(&ask, &host));
    }
    let id = launch.step_id();
    let who = accounting::Who {
        settings: &settings,
        node_name: &node_name,
        step: accounting::step(id),
        kind: accounting::kind(id, overlaps),
    };
    let (plan, ledger_note) = planned(&who, &mut ask, &host, &table)?;
    let memory_note = memory_note.unwrap_or_default().into();
    let others = [ledger_note, binding_note.unwrap_or_default(), memory_note];
    let notes = join(&plan.notes, others);
    if inherited {
        let modes = message::modes(slurm.layout);
        launch.set_cpu_bind(launch.cpu_bind_type() & !(modes as u16), None)?;
    }
    let cores_only = host.shape.cpus_are_cores;
    write(slurm, launch, &ask, &plan, cores_only, &notes)
}

/// The plan, and what the user should know of the ledger: only a `--binding` looks there.
fn planned(
    who: &accounting::Who<'_>,
    ask: &mut Request,
    host: &Host,
    table: &PuTable,
) -> Result<(Plan, String), Refusal> {
    if ask.binding.is_none() {
        return Ok((plan_unwritten(ask, host, table)?, String::new()));
    }
    accounting::plan(who, ask, (host, table), |ask| {
        plan_unwritten(ask, host, table)
    })
}

/// slurmd's settings and this node's name, checked; nothing while switched off.
pub(crate) fn here(
    slurm: Slurmish,
    settings: &Settings,
) -> Result<Option<(SlurmdConf, String)>, Stop> {
    // SAFETY: the layout is the running release's, and the view ends with the hook.
    let conf = unsafe { SlurmdConf::current(slurm.layout, slurm.symbols) };
    let conf = conf.ok_or_else(|| Stop::Aside("slurmd has no settings (conf)".into()))?;
    node::sane(&conf).map_err(Stop::Aside)?;
    let node_name = conf.node_name().unwrap_or_default();
    Ok((!is_off(settings, &node_name)).then_some((conf, node_name)))
}

/// The sanity checks; once one request has passed, the kernel need not look at
/// every pointer again. Gives this node's place in the credential.
fn check(launch: &LaunchRequest<'_>, node_id: u32, node_name: &str) -> Result<u32, String> {
    static PASSED: AtomicBool = AtomicBool::new(false);
    if PASSED.load(Ordering::Relaxed) {
        return launch_is_still_sane(launch, node_id, node_name);
    }
    let index = launch_is_sane(launch, node_id, node_name)?;
    PASSED.store(true, Ordering::Relaxed);
    Ok(index)
}

/// The step's `--binding`: the option's, else the site's default for regular
/// steps; `none` switches both off. Beside it what the user is told where this
/// node honours none (`binding=off`).
fn binding(
    launch: &LaunchRequest<'_>,
    options: &[SpankOption],
    settings: &Settings,
) -> Result<(Option<Binding>, Option<String>), String> {
    // How mpirun starts its daemons, and salloc its shell: they keep the allocation.
    let regular = launch.step_id().kind == slurm_sys::views::StepKind::Regular;
    if !regular || launch.external_launcher() {
        return Ok((None, None));
    }
    let Some(text) = spank_option::of_step(options) else {
        let default = settings.binding_default.clone();
        return Ok((default.filter(|_| settings.binding), None));
    };
    let binding: Binding = text.parse().map_err(|why| format!("{why}"))?;
    if binding.strategy == Strategy::None {
        return Ok((None, None));
    }
    if settings.binding {
        return Ok((Some(binding), None));
    }
    let note = format!(
        "--binding={binding} is not honoured on this node (binding=off); leave it out, or ask the \
         administrator"
    );
    Ok((None, Some(note)))
}

fn write(
    slurm: Slurmish,
    launch: &mut LaunchRequest<'_>,
    ask: &Request,
    plan: &Plan,
    cpus_are_cores: bool,
    notes: &str,
) -> Result<(), Stop> {
    let bits = message::bits(
        launch.cpu_bind_type().into(),
        plan,
        cpus_are_cores,
        slurm.layout,
    );
    if plan.cpus_per_task != ask.cpus_per_task {
        launch.set_cpus_per_task(plan.cpus_per_task as u16);
    }
    let request = describe(ask);
    match &plan.message {
        // A list of the user's own stays as it came.
        Message::AsAsked(_) => launch.set_cpu_bind_type(bits as u16),
        Message::Masks {
            unwritten: Some(width),
            ..
        } => launch.write_cpu_bind(bits as u16, plan.masks_length(*width), |out| {
            plan.write_masks(*width, out)
        })?,
        message => launch.set_cpu_bind(bits as u16, message.text())?,
    }
    let rule = plan.rule.to_string();
    let chosen = plan.chosen.as_ref().map(ToString::to_string);
    let chosen = chosen.unwrap_or_default();
    let mark = inherited::mark(ask, plan);
    let mut variables = vec![
        (inherited::ENV_MARK, mark.as_str()),
        (ENV_NOTE, notes),
        (ENV_BOUND, if plan.is_bound() { "1" } else { "0" }),
        (ENV_REQUEST, &request),
        (ENV_RULE, &rule),
        (ENV_CHOSEN, &chosen),
    ];
    let memory = memory::write(launch, ask, plan, slurm.layout)?;
    variables.extend(memory.iter().map(|(name, value)| (*name, value.as_str())));
    launch.env_set_all(&variables)?;
    if log::log_enabled!(log::Level::Debug) {
        log::debug!(
            "{} request={request:?} rule={rule} masks={}",
            name(launch.step_id()),
            launch.cpu_bind().as_deref().unwrap_or("none")
        );
    }
    Ok(())
}

/// A request on one line of a log.
pub(crate) fn describe(ask: &Request) -> String {
    let mut line = Line(String::with_capacity(LINE));
    // A line that is full is long enough.
    let _ = describe_in(ask, &mut line);
    line.0
}

fn describe_in(ask: &Request, line: &mut Line) -> fmt::Result {
    write!(
        line,
        "n={} c={} {}",
        ask.tasks, ask.cpus_per_task, ask.cpu_bind
    )?;
    write!(line, " dist={}", ask.distribution)?;
    let limits = [
        ("threads-per-core", ask.threads_per_core),
        ("ntasks-per-core", ask.ntasks_per_core),
        ("ntasks-per-socket", ask.ntasks_per_socket),
    ];
    for (limit, value) in limits {
        if let Some(value) = value {
            write!(line, " {limit}={value}")?;
        }
    }
    if ask.overcommit {
        line.write_str(" overcommit")?;
    }
    if ask.mem_bind.policy.is_some() {
        write!(line, " mem={}", ask.mem_bind)?;
    }
    if let Some(binding) = &ask.binding {
        write!(line, " binding={binding}")?;
    }
    Ok(())
}

/// Characters of a request; a list of thousands of masks belongs to the masks, not to the request.
const LINE: usize = 400;

/// A text that refuses what no longer fits, so that nobody writes on in vain.
struct Line(String);

impl fmt::Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let left = LINE.saturating_sub(self.0.len());
        let fits = (0..=left.min(text.len()))
            .rev()
            .find(|at| text.is_char_boundary(*at));
        let fits = fits.unwrap_or(0);
        self.0.push_str(text.get(..fits).unwrap_or_default());
        if fits < text.len() {
            Err(fmt::Error)
        } else {
            Ok(())
        }
    }
}

/// Everything that the user should know, as one text.
pub(crate) fn join(notes: &[Note], others: impl IntoIterator<Item = String>) -> String {
    let all = notes.iter().map(ToString::to_string).chain(others);
    let said: Vec<_> = all.filter(|note| !note.is_empty()).collect();
    said.join("; ")
}

/// The beginning of every log line about a step.
pub(crate) fn name(id: StepId) -> String {
    match id.kind {
        slurm_sys::views::StepKind::Regular => format!("step={}.{}", id.job_id, id.step_id),
        kind => format!("step={}.{}", id.job_id, format!("{kind:?}").to_lowercase()),
    }
}

/// Whether the administrator's switch-off file is there.
pub(crate) fn is_off(settings: &Settings, node_name: &str) -> bool {
    let off = StateDir::new(&settings.state_dir, node_name).is_ok_and(|dir| dir.is_off());
    if off {
        log::log!(target: VERBOSE, log::Level::Info, "switched off by {}/off", settings.state_dir.display());
    }
    off
}

fn code(kind: RefusalKind, layout: &Layout) -> c_int {
    let c = &layout.constants;
    let bind = c.ESLURMD_CPU_BIND_ERROR;
    let code = match kind {
        RefusalKind::Bind => bind,
        RefusalKind::Layout => c.ESLURMD_CPU_LAYOUT_ERROR.unwrap_or(bind),
    };
    code as c_int
}
