//! Slurm's SPANK interface: options, settings, and binding from SPANK alone.
//! A user's request never gives Slurm an error here, because that would drain the node.

use std::borrow::Cow;
use std::ffi::{CStr, c_char};

use libc::c_int;
use slurm_spank::spank_sys::spank_t;
use slurm_spank::{Context, OptionCache, init_spank_handle};
use slurm_sys::SUCCESS;
use slurm_sys::process::{Daemon, daemon};

use crate::hooks::guard::{guard, guard_in_child};
use crate::hooks::register;
use crate::site::node;
use crate::slurmd::ready;
use crate::stepd::job_env::Spank;
use crate::stepd::state::STATE;
use crate::stepd::{pe_hooks, quarantine, spank_only, unplanned};
use crate::submit::option;

/// The words of our line in plugstack.conf. A byte that is no UTF-8 spoils its own word, and not the others.
///
/// # Safety
/// `argv` has `argc` words that live for `'a`, or there is none.
unsafe fn words<'a>(argc: c_int, argv: *const *const c_char) -> Vec<Cow<'a, str>> {
    let count = usize::try_from(argc).unwrap_or_default();
    if argv.is_null() {
        return Vec::new();
    }
    // SAFETY: the caller's promise.
    let words = unsafe { std::slice::from_raw_parts(argv, count) };
    let words = words.iter().filter(|word| !word.is_null());
    // SAFETY: the caller's promise.
    words
        .map(|word| unsafe { CStr::from_ptr(*word) }.to_string_lossy())
        .collect()
}

/// slurmd, slurmstepd, srun, sbatch, salloc: read the settings, register the options.
///
/// # Safety
/// Called by Slurm with its own handle and the words of the plugstack.conf line.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slurm_spank_init(
    spank: spank_t,
    argc: c_int,
    argv: *const *const c_char,
) -> c_int {
    guard("slurm_spank_init", || {
        let mut cache = OptionCache::default();
        let handle = init_spank_handle(spank, argc, argv, &mut cache);
        let context = handle.context().ok();
        // SAFETY: Slurm's promise: so many words, which live as long as the plugin.
        let words = unsafe { words(argc, argv) };
        let complaints = node::read_settings(&words.iter().map(Cow::as_ref).collect::<Vec<_>>());
        match context {
            Some(Context::Slurmd) => {
                ready::in_plugstack(complaints);
                ready::start();
                ready::start_aside();
            }
            Some(Context::Local | Context::Allocator) => {
                // SAFETY: Slurm's promise: its own handle, in its init.
                unsafe { register::own(spank) };
                option::defaults();
                if option::passes_overlap() {
                    // SAFETY: the same.
                    unsafe { register::overlap(spank) };
                }
                if option::passes_cpuset_size() {
                    // SAFETY: the same.
                    unsafe { register::cpuset_size(spank) };
                }
            }
            Some(Context::Remote) => {
                // SAFETY: Slurm's promise: its own handle, in its init.
                unsafe { register::own(spank) };
                // SAFETY: the same.
                unsafe { register::overlap(spank) };
                // SAFETY: the same.
                unsafe { register::cpuset_size(spank) };
                quarantine::begin(&handle);
            }
            _ => {}
        }
        SUCCESS
    })
}

/// One more hook of SPANK: a guard and a call with Slurm's own handle.
macro_rules! hook {
    ($(#[$doc:meta])* $guard:ident, $name:ident($spank:pat) $work:block) => {
        $(#[$doc])*
        ///
        /// # Safety
        /// Called by Slurm with its own handle and the words of the plugstack.conf line.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            raw: spank_t,
            argc: c_int,
            argv: *const *const c_char,
        ) -> c_int {
            $guard(stringify!($name), || {
                let mut cache = OptionCache::default();
                // SAFETY: Slurm's promise: its own handle, in its hook.
                let $spank = unsafe { Spank::new(raw, argc, argv, &mut cache) };
                $work
                SUCCESS
            })
        }
    };
}

hook! {
    /// When the options are read: in the submitting command, and in slurmstepd before it forks.
    guard, slurm_spank_init_post_opt(spank) {
        match daemon() {
            Daemon::Other => {
                option::forget_overlap();
                option::asks_for_one_node();
                option::leaves_cores_to_cpuset();
            }
            Daemon::Slurmstepd => spank_only::prepare(&spank),
            Daemon::Slurmd => {}
        }
    }
}

hook! {
    /// slurmstepd, as the user, before the first fork.
    guard, slurm_spank_user_init(spank) {
        pe_hooks::user_init(&spank);
    }
}

hook! {
    /// The task, between fork and exec, as the user.
    guard_in_child, slurm_spank_task_init(spank) {
        // SAFETY: Slurm's promise: its own handle, in the task.
        unsafe { spank_only::in_task(&spank) };
        pe_hooks::in_task(&spank);
    }
}

hook! {
    /// slurmstepd, when the step has ended and before it reports that to anybody.
    guard, slurm_spank_exit(_) {
        if daemon() == Daemon::Slurmstepd {
            quarantine::end();
            spank_only::release();
            // A launch that failed has no post_step, and neither has one after which another task
            // plugin failed.
            STATE.release();
        }
    }
}

hook! {
    /// slurmstepd, when a task has ended.
    guard, slurm_spank_task_exit(spank) {
        spank_only::task_ended(&spank);
    }
}

hook! {
    /// slurmstepd, for each task, in the parent, after the task plugins.
    guard, slurm_spank_task_post_fork(spank) {
        unplanned::post_fork(&spank);
    }
}
