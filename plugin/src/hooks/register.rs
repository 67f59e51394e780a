//! Registers the SPANK option with Slurm: its names, its help text, and the function that Slurm
//! calls with its value.

use std::ffi::{CStr, c_char, c_int};

use berth_placement::request::grid_engine::MAX_LENGTH;
use slurm_spank::spank_sys;

use crate::hooks::guard::guard;
use crate::message::routes::{NAMES, OVERLAP};
use crate::stepd::state::STATE;
use crate::submit::option;

const ARGUMENT: &CStr = c"[set:|env:|pe:][task:|host:][strict:]STRATEGY";
const USAGE: &CStr = c"bind each task to cores of its own: linear:AMOUNT[:SOCKET,CORE], striding:AMOUNT:STEP[:SOCKET,CORE], explicit:SOCKET,CORE[:...] or none (berth; Grid Engine's -binding)";

/// Registers both names of `--binding`.
///
/// # Safety
/// `spank` is the handle that Slurm passed to `slurm_spank_init`.
pub(crate) unsafe fn binding(spank: spank_sys::spank_t) {
    for name in NAMES {
        // SAFETY: the caller's promise.
        unsafe { one(spank, name, ARGUMENT, USAGE) };
    }
}

/// Registers the option that only berth itself gives: it informs slurmd and slurmstepd of
/// `--overlap`.
///
/// # Safety
/// As for [`binding`].
pub(crate) unsafe fn overlap(spank: spank_sys::spank_t) {
    // SAFETY: the caller's promise.
    unsafe { one(spank, OVERLAP, c"0|1", c"set by berth beside --overlap") };
}

unsafe fn one(
    spank: spank_sys::spank_t,
    name: &'static CStr,
    argument: &'static CStr,
    usage: &'static CStr,
) {
    let mut option = spank_sys::spank_option {
        name: name.as_ptr(),
        arginfo: argument.as_ptr(),
        usage: usage.as_ptr(),
        has_arg: 1,
        val: c_int::from(name == OVERLAP),
        cb: Some(take),
    };
    // SAFETY: the caller's handle; Slurm copies the option, whose texts are static.
    let code = unsafe { spank_sys::spank_option_register(spank, &raw mut option) };
    if code != spank_sys::ESPANK_SUCCESS {
        log::debug!("option --{} was not registered", name.to_string_lossy());
    }
}

/// Slurm calls it with the user's text, before anything is queued in the
/// submitting command, and again in slurmstepd.
unsafe extern "C" fn take(val: c_int, argument: *const c_char, remote: c_int) -> c_int {
    guard("option", || {
        if val != 0 {
            if remote != 0 {
                STATE.hear_overlap();
            }
            return 0;
        }
        if argument.is_null() {
            return 0;
        }
        // SAFETY: Slurm passes a C string that lives during the call.
        let bytes = unsafe { CStr::from_ptr(argument) }.to_bytes();
        // If the text is too long, its reader notices that.
        let kept = bytes.get(..MAX_LENGTH + 1).unwrap_or(bytes);
        let text = String::from_utf8_lossy(kept).into_owned();
        if remote != 0 {
            STATE.hear(text);
            return 0;
        }
        match option::check(&text) {
            Ok(()) => 0,
            Err(why) => {
                why.lines().for_each(|line| log::error!("{line}"));
                -1
            }
        }
    })
}
