//! The machine as `berth discover` found it, and the kernel's list of online CPUs at that time.
//! No lock is held during discovery: launches go on with the machine that was known before.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use berth_host::command_path::default_command;
use berth_host::discover_child::{DEFAULT_LIMIT, LIMIT_AT_START};
use berth_host::{MachineFile, OnlineCpus, discover_child};
use berth_placement::Machine;
use slurm_sys::process::own_path;

use crate::site::node;
use crate::site::settings::{self};
use crate::slurmd::complaints::{self, About};

/// The known machine.
#[derive(Default)]
struct Known {
    machine: Option<Arc<Machine>>,
    /// The list of online CPUs when `machine` was found; absent if it is not this host.
    online: Option<String>,
}

static KNOWN: Mutex<Option<Known>> = Mutex::new(None);
/// Whether the last try failed.
static FAILED: AtomicBool = AtomicBool::new(false);
/// Whether it failed because slurmd's start did not wait any longer; it is tried again in the background.
static UNFINISHED: AtomicBool = AtomicBool::new(false);

fn known() -> MutexGuard<'static, Option<Known>> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The machine for a launch.
pub(crate) enum MachineState {
    /// Nobody has tried to discover it yet.
    Nothing,
    /// The machine, if it is known; a CPU went online or offline after it was found.
    Outdated(Option<Arc<Machine>>),
    /// The machine, if it is known.
    Current(Option<Arc<Machine>>),
}

/// The machine, and whether it is still the same. It reads the kernel's list of online CPUs once,
/// from a descriptor that the first launch opens; slurmd is not a daemon yet when it starts.
pub(crate) fn state() -> MachineState {
    static ONLINE: OnceLock<OnlineCpus> = OnceLock::new();
    let known = known();
    let Some(Known { machine, online }) = known.as_ref() else {
        return MachineState::Nothing;
    };
    let changed = |since: &String| {
        if ONLINE.get().is_none()
            && let Ok(online) = OnlineCpus::open()
        {
            // A launch beside this one may have been faster.
            let _ = ONLINE.set(online);
        }
        // Where slurmd is out of descriptors, the next launch tries again.
        ONLINE.get().is_some_and(|online| !online.unchanged(since))
    };
    match online.as_ref().is_some_and(changed) {
        true => MachineState::Outdated(machine.clone()),
        false => MachineState::Current(machine.clone()),
    }
}

/// Whether the last try failed.
pub(crate) fn has_failed() -> bool {
    FAILED.load(Ordering::Relaxed)
}

/// Whether the machine is unknown only because its discovery has not ended yet.
pub(crate) fn is_unfinished() -> bool {
    UNFINISHED.load(Ordering::Relaxed) && machine().is_none()
}

/// The machine, if it is known.
pub(crate) fn machine() -> Option<Arc<Machine>> {
    known().as_ref()?.machine.clone()
}

/// The list of CPUs that were online when the machine was found.
pub(crate) fn online_then() -> Option<String> {
    known().as_ref()?.online.clone()
}

/// Whether this process has tried to discover the machine at all.
pub(crate) fn was_tried() -> bool {
    known().is_some()
}

/// Whether a CPU went online or offline after the machine was found.
pub(crate) fn is_outdated() -> bool {
    matches!(state(), MachineState::Outdated(_))
}

/// Discovers the machine while the caller waits. slurmd's start waits at most 2 s.
pub(crate) fn at_start(node_name: &str) {
    let began = Instant::now();
    if !within(node_name, LIMIT_AT_START) {
        UNFINISHED.store(began.elapsed() >= LIMIT_AT_START, Ordering::Relaxed);
    }
}

/// Discovers the machine again, while launches go on with the one that was known before.
pub(crate) fn again(node_name: &str) {
    if !has_failed()
        && is_outdated()
        && let Some(then) = online_then()
    {
        log::warn!(
            "the online CPUs are no longer {then}; berth discovers the machine again, and until \
             then plans launches on the machine as it was"
        );
    }
    if within(node_name, DEFAULT_LIMIT) {
        log::info!(
            "the machine was discovered again: CPUs {} are online",
            online_then().unwrap_or_default()
        );
    }
}

/// Whether the machine was found. If not, the one that was known before stays; the log has each reason once.
fn within(node_name: &str, limit: Duration) -> bool {
    let found = find(node_name, limit);
    FAILED.store(found.is_err(), Ordering::Relaxed);
    UNFINISHED.store(false, Ordering::Relaxed);
    match found {
        Ok(file) => {
            let pretended = node::is_pretended();
            let why = pretended
                .then(|| format!("this node pretends to be another machine: {}", file.source));
            if let Some(why) = &why {
                log::warn!("{why}");
            }
            complaints::set(About::Machine, why, Vec::new());
            let online = file.this_system.then_some(file.proof.online);
            let machine = Some(Arc::new(file.machine));
            *known() = Some(Known { machine, online });
            true
        }
        Err(why) => {
            let instead = match known().get_or_insert_default().machine {
                Some(_) => "berth uses the machine as it was found before",
                None => "berth uses slurmd's own map, and does not know the NUMA nodes",
            };
            let why = format!("{why}; {instead}");
            if complaints::set(About::Machine, Some(why.clone()), Vec::new()) {
                log::error!("{why}");
            }
            false
        }
    }
}

fn find(node_name: &str, limit: Duration) -> Result<MachineFile, String> {
    let dir = node::state_dir(node_name)?;
    dir.prepare().map_err(|why| why.to_string())?;
    let command = match &settings::current().command {
        Some(command) => command.clone(),
        None => default_command(&own_path().unwrap_or_default()).map_err(|why| why.to_string())?,
    };
    discover_child::run(&command, dir.machine_path(), limit).map_err(|why| why.to_string())?;
    node::machine_file(node_name)
}
