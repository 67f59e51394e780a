//! slurmstepd's one thread of ours, only for a step whose tasks are fenced in cgroups of Slurm's own: it notices
//! when Slurm freezes and thaws the step, and when CPUs go offline and come back. It begins after the last task
//! was forked, and ends with the step. Whatever fails, the tasks go on with the CPUs that they had.

mod beside;
mod choice;
mod cpus;
mod ending;
pub(crate) mod extern_step;
mod memory;
mod watched;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use berth_host::bell::Bell;
use slurm_sys::StepRecord;

use crate::site::standing::Abi;
use crate::step::ledger;
use crate::stepd::our_thread::OurThread;
use crate::stepd::session::Session;
use crate::stepd::state::STATE;
use beside::Begins;
use choice::Cpuset;
pub(crate) use watched::Watched;

/// The end of a step waits so long for the thread, which moves a slice of memory at most. Should the kernel still be at
/// a write to a cgroup, the thread ends with the process; the object is never unloaded.
const PATIENCE: Duration = Duration::from_secs(3);

/// The thread, to be ended.
struct Watch {
    bell: Arc<Bell>,
    thread: OurThread<()>,
}

static WATCH: Mutex<Option<Watch>> = Mutex::new(None);

/// For the user of a step that begins while its job waits.
const LATER: &str = "the CPUs of this job's cpuset are used by others since the job was suspended; the step's tasks start when \
                     the job has its CPUs";

/// What there is to watch of a step whose last task was forked; none if there is nothing.
pub(crate) fn of(step: &mut Session, (slurm, record): (Abi, &StepRecord<'_>)) -> Option<Watched> {
    let fences = step.fences.as_mut()?;
    let leaves = fences.take_leaves();
    if leaves.is_empty() {
        return None;
    }
    let cpuset = fences.cpuset().and_then(|cpuset| {
        let cores = record.job_alloc_cores().unwrap_or_default();
        let here = (slurm, step.node_name.clone(), cores);
        let key = ledger::step(record.step_id());
        Some((Cpuset::of(cpuset, key, here)?, cpuset.memory))
    });
    let name = step.name.clone();
    Some(Watched::new(name, leaves, cpuset, fences.to_own()))
}

/// Begins to watch a step none of whose tasks runs yet. A step whose job waits for its CPUs waits too; the user is
/// told so.
pub(crate) fn start(step: &mut Session, mut watched: Watched) -> Option<&'static str> {
    let generation = step.accounts.iter().map(|one| one.entry().generation).max();
    let begins = watched.begins(generation.unwrap_or(0));
    if begins != Begins::Now {
        log::debug!("{}: its tasks begin {begins:?}", step.name);
        watched.hold();
        set_suspended(step, true);
    }
    let held = watched.leaves().to_vec();
    if let Err(why) = begin(watched) {
        log::debug!("{}: nobody watches it: {why}", step.name);
        for mut leaf in held.into_iter().filter(|leaf| leaf.is_frozen) {
            if let Err(why) = leaf.freeze(false, &step.name) {
                log::error!(
                    "{}: a task that should run is still frozen: {why}",
                    step.name
                );
            }
        }
        set_suspended(step, false);
        return None;
    }
    (begins == Begins::Later).then_some(LATER)
}

fn begin(mut watched: Watched) -> std::io::Result<()> {
    spawn(watched.name().to_owned(), move |bell| {
        // The panic hook has logged it; slurmstepd goes on without this thread.
        let ended = catch_unwind(AssertUnwindSafe(|| watched.run(bell)));
        if ended.is_err() {
            log::error!("{}: nobody watches it any more", watched.name());
        }
        let _ = catch_unwind(AssertUnwindSafe(|| watched.end()));
    })
}

/// Begins the thread. Its bell rings when the step ends.
fn spawn(name: String, watch: impl FnOnce(&Bell) + Send + 'static) -> std::io::Result<()> {
    let bell = Arc::new(Bell::new()?);
    let own = Arc::clone(&bell);
    let thread = OurThread::start(move || {
        if catch_unwind(AssertUnwindSafe(|| watch(&own))).is_err() {
            log::error!("{name}: nobody watches it any more");
        }
    })?;
    *self::watch() = Some(Watch { bell, thread });
    Ok(())
}

/// The step has ended, or its slurmstepd gives up.
pub(crate) fn stop() {
    let Some(Watch { bell, thread }) = watch().take() else {
        return;
    };
    bell.ring();
    thread.join(PATIENCE);
}

fn watch() -> std::sync::MutexGuard<'static, Option<Watch>> {
    WATCH.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The ledger knows whether the step's CPUs are used.
fn set_suspended(step: &mut Session, suspended: bool) {
    let accounts = step.accounts.iter_mut();
    accounts.for_each(|account| account.set_suspended(suspended));
}

fn step_is_suspended(suspended: bool) {
    if let Some(step) = STATE.step().as_mut() {
        set_suspended(step, suspended);
    }
}
