//! The guard around every entry point: no panic crosses into Slurm. slurmd hosts every job of the node. A bug of ours
//! may cost a step its binding, but it must not end the daemon. In a debug build a file that an environment variable
//! names can plant panics, for the tests of the guards.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::sync::Once;

use libc::c_int;
use slurm_sys::SUCCESS;

use crate::site::slurm_log;

thread_local! {
    /// Between fork and exec: neither log nor lock there. No destructor.
    static IN_CHILD: Cell<bool> = const { Cell::new(false) };
}

/// Runs a hook's work; a panic is logged and the step goes on without it.
pub(crate) fn guard(hook: &'static str, work: impl FnOnce() -> c_int) -> c_int {
    prepare();
    match catch_unwind(AssertUnwindSafe(|| run(hook, work))) {
        Ok(code) => code,
        Err(_) => {
            log::error!(
                "internal error in berth ({hook}), location in the previous line; this step goes on \
                 without that part of its binding; please report both lines"
            );
            SUCCESS
        }
    }
}

/// Runs a hook's work as [`guard`] does, and runs `after_panic` if the work panicked.
pub(crate) fn guard_or(
    hook: &'static str,
    work: impl FnOnce() -> c_int,
    after_panic: impl FnOnce(),
) -> c_int {
    let mut done = false;
    let code = guard(hook, || {
        let code = work();
        done = true;
        code
    });
    // A second panic is logged by the panic hook, and ends here too.
    if !done && catch_unwind(AssertUnwindSafe(after_panic)).is_err() {
        log::error!("{hook}: internal error in berth while it stood aside");
    }
    code
}

/// Runs a hook's work between fork and exec, where nothing may be logged or locked. The task goes on after a panic.
pub(crate) fn guard_in_child(hook: &'static str, work: impl FnOnce() -> c_int) -> c_int {
    IN_CHILD.set(true);
    catch_unwind(AssertUnwindSafe(|| run(hook, work))).unwrap_or(SUCCESS)
}

#[cfg(not(debug_assertions))]
fn run(_hook: &'static str, work: impl FnOnce() -> c_int) -> c_int {
    work()
}

#[cfg(debug_assertions)]
fn run(hook: &'static str, work: impl FnOnce() -> c_int) -> c_int {
    panic_if_planted(hook);
    work()
}

/// Logging and the panic hook, once for as long as the object is loaded. Without
/// the hook a caught panic would still print into the job's output.
pub(crate) fn prepare() {
    // The first use of one of the object's thread-locals allocates room for all of them. That must
    // happen here, in the thread that forks the tasks, and not in a task.
    IN_CHILD.set(false);
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        slurm_log::install();
        std::panic::set_hook(Box::new(log_panic));
    });
}

fn log_panic(info: &PanicHookInfo<'_>) {
    if IN_CHILD.get() {
        return;
    }
    let place = info
        .location()
        .map_or_else(|| "an unknown place".into(), ToString::to_string);
    log::error!("panic at {place}: {}", text_of(info.payload()));
}

fn text_of(payload: &dyn Any) -> &str {
    payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no text")
}

/// The variable that names the file with the hook in which to panic. A test also looks for this word in a release build.
#[cfg(debug_assertions)]
const PLANTED_PANIC: &str = "BERTH_PLANTED_PANIC";

/// Panics if the file names this hook.
#[cfg(debug_assertions)]
#[allow(clippy::panic, reason = "that is its purpose")]
fn panic_if_planted(hook: &str) {
    let Some(file) = std::env::var_os(PLANTED_PANIC) else {
        return;
    };
    let named = std::fs::read(file).unwrap_or_default();
    if named.trim_ascii() == hook.as_bytes() {
        panic!("planted in {hook}");
    }
}
