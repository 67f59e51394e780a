//! The machine as `berth discover` found it, and the kernel's list of online CPUs at that time.
//! No lock is held during discovery: launches go on with the machine that was known before.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use berth_host::command_path::default_command;
use berth_host::discover_child::{DEFAULT_LIMIT, Discovery, LIMIT_AT_START};
use berth_host::online::online_part;
use berth_host::{MachineFile, OnlineCpus};
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
    /// The part of it that is online, by the list of a launch that found another one. Launches share it until slurmd has
    /// discovered the machine again.
    part: Option<(String, Arc<Machine>)>,
}

impl Known {
    /// The part of the machine that is online by this list.
    fn online_part(&mut self, now: String) -> Option<Arc<Machine>> {
        if let Some((then, part)) = &self.part
            && *then == now
        {
            return Some(part.clone());
        }
        let machine = self.machine.as_ref()?;
        let part = online_part(machine, &now).map(Arc::new);
        let part = part.unwrap_or_else(|| machine.clone());
        self.part = Some((now, part.clone()));
        Some(part)
    }
}

static KNOWN: Mutex<Option<Known>> = Mutex::new(None);
/// Whether the last try failed.
static FAILED: AtomicBool = AtomicBool::new(false);
/// Whether slurmd's start did not wait for its end, which nobody has looked for yet.
static UNFINISHED: AtomicBool = AtomicBool::new(false);
/// That discovery. slurmstepd sees its file as soon as it is written.
static IN_BACKGROUND: Mutex<Option<Discovery>> = Mutex::new(None);

fn in_background() -> MutexGuard<'static, Option<Discovery>> {
    IN_BACKGROUND.lock().unwrap_or_else(PoisonError::into_inner)
}

fn known() -> MutexGuard<'static, Option<Known>> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The machine for a launch.
pub(crate) enum MachineState {
    /// Nobody has tried to discover it yet.
    Nothing,
    /// The part of the machine that is online, if it is known; a CPU went online or offline after it was found.
    Outdated(Option<Arc<Machine>>),
    /// The machine, if it is known.
    Current(Option<Arc<Machine>>),
}

/// The machine, and whether it is still the same. It reads the kernel's list of online CPUs once.
pub(crate) fn state() -> MachineState {
    let mut known = known();
    let Some(known) = known.as_mut() else {
        return MachineState::Nothing;
    };
    let changed = online_cpus()
        .zip(known.online.as_ref())
        .filter(|(now, then)| !now.unchanged(then));
    let Some((now, _)) = changed else {
        return MachineState::Current(known.machine.clone());
    };
    let part = now.read().ok().and_then(|now| known.online_part(now));
    MachineState::Outdated(part.or_else(|| known.machine.clone()))
}

/// The kernel's list of online CPUs, by a descriptor that the first launch opens: slurmd is not a daemon yet when it
/// starts. Where slurmd is out of descriptors, the next launch tries again.
fn online_cpus() -> Option<&'static OnlineCpus> {
    static ONLINE: OnceLock<OnlineCpus> = OnceLock::new();
    if ONLINE.get().is_none()
        && let Ok(online) = OnlineCpus::open()
    {
        // A launch beside this one may have been faster.
        let _ = ONLINE.set(online);
    }
    ONLINE.get()
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

/// Discovers the machine while slurmd's start waits for it, at most 1.5 s. What takes longer goes on in the background.
pub(crate) fn at_start(node_name: &str) {
    let mut discovery = match start(node_name) {
        Ok(discovery) => discovery,
        Err(why) => return failed(&why),
    };
    match discovery.wait(LIMIT_AT_START) {
        Some(ended) => {
            let ended = ended.map_err(|why| why.to_string());
            accept(ended.and_then(|()| node::machine_file(node_name)));
        }
        None => {
            log::warn!(
                "the discovery of the machine takes more than {} s and goes on in the background; {}; \
                 try `berth discover` by hand, and see whether lstopo hangs too",
                LIMIT_AT_START.as_secs_f32(),
                instead()
            );
            *in_background() = Some(discovery);
            FAILED.store(true, Ordering::Relaxed);
            UNFINISHED.store(true, Ordering::Relaxed);
        }
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
             then plans launches on those of the machine as it was that are online"
        );
    }
    let since_start = in_background().take();
    // slurmd may have become another process since, whose child it is not: then its end is not known.
    let is_found = since_start.is_some_and(|running| running.finish(DEFAULT_LIMIT).is_ok());
    let ended = match is_found {
        true => Ok(()),
        false => start(node_name)
            .and_then(|running| running.finish(DEFAULT_LIMIT).map_err(|why| why.to_string())),
    };
    if accept(ended.and_then(|()| node::machine_file(node_name))) {
        log::info!(
            "the machine was discovered again: CPUs {} are online",
            online_then().unwrap_or_default()
        );
    }
}

fn start(node_name: &str) -> Result<Discovery, String> {
    // From now on it has been tried.
    known().get_or_insert_default();
    let dir = node::state_dir(node_name)?;
    dir.prepare().map_err(|why| why.to_string())?;
    let command = match &settings::current().command {
        Some(command) => command.clone(),
        None => default_command(&own_path().unwrap_or_default()).map_err(|why| why.to_string())?,
    };
    Discovery::start(&command, dir.machine_path()).map_err(|why| why.to_string())
}

/// Whether the machine was found. If not, the one that was known before stays.
fn accept(found: Result<MachineFile, String>) -> bool {
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
            *known() = Some(Known {
                machine,
                online,
                part: None,
            });
            FAILED.store(false, Ordering::Relaxed);
            UNFINISHED.store(false, Ordering::Relaxed);
            true
        }
        Err(why) => {
            failed(&why);
            false
        }
    }
}

/// The log has each reason once.
fn failed(why: &str) {
    let why = format!("{why}; {}", instead());
    if complaints::set(About::Machine, Some(why.clone()), Vec::new()) {
        log::error!("{why}");
    }
    FAILED.store(true, Ordering::Relaxed);
    UNFINISHED.store(false, Ordering::Relaxed);
}

fn instead() -> &'static str {
    match machine() {
        Some(_) => "berth uses the machine as it was found before",
        None => "berth uses slurmd's own map, and does not know the NUMA nodes",
    }
}

#[cfg(test)]
mod tests {
    use berth_placement::Numbering;

    use super::*;

    /// A node is made again only for another machine, and a launch must not make one for nothing.
    #[test]
    fn launches_share_the_part_of_the_machine_that_is_online() {
        let mut known = Known {
            machine: Machine::regular(1, 4, 1, Numbering::Block).map(Arc::new),
            ..Known::default()
        };
        let mut part = |online: &str| known.online_part(online.into()).unwrap();
        let first = part("0,2-3");
        assert_eq!(first.cpus().to_string(), "0,2-3");
        assert!(Arc::ptr_eq(&first, &part("0,2-3")));
        assert_eq!(part("0,2").cpus().to_string(), "0,2");
    }
}
