//! Registers the SPANK options with Slurm: their names, their help texts, and the function that
//! Slurm calls with a value.

use std::ffi::{CStr, c_char, c_int};

use slurm_spank::spank_sys;

use crate::hooks::guard::guard;
use crate::message::cpuset_size;
use crate::message::options::OPTIONS;
use crate::message::routes::OVERLAP;
use crate::stepd::state::STATE;
use crate::submit::option;

/// The number of [`OVERLAP`]; those of [`OPTIONS`] are their places in the table.
const OVERLAP_NUMBER: c_int = OPTIONS.len() as c_int;
/// The number of the option beside `--cpuset`.
const CPUSET_SIZE_NUMBER: c_int = OVERLAP_NUMBER + 1;

/// Registers both names of each of berth's own options.
///
/// # Safety
/// `spank` is the handle that Slurm passed to `slurm_spank_init`.
pub(crate) unsafe fn own(spank: spank_sys::spank_t) {
    for (number, row) in (0..).zip(&OPTIONS) {
        let [short, sure] = row.names;
        // SAFETY: the caller's promise.
        let register = |name| unsafe { one(spank, name, number, [row.argument, row.usage]) };
        if register(short) {
            option::has_short(row.own);
        }
        register(sure);
    }
}

/// Registers the option that only berth itself gives: it informs slurmd and slurmstepd of
/// `--overlap`.
///
/// # Safety
/// As for [`own`].
pub(crate) unsafe fn overlap(spank: spank_sys::spank_t) {
    // SAFETY: the caller's promise.
    unsafe {
        let texts = [c"0|1", c"set by berth beside --overlap"];
        one(spank, OVERLAP, OVERLAP_NUMBER, texts);
    }
}

/// Registers the option that berth gives beside a `--cpuset`.
///
/// # Safety
/// As for [`own`].
pub(crate) unsafe fn cpuset_size(spank: spank_sys::spank_t) {
    // SAFETY: the caller's promise.
    unsafe {
        let texts = [c"job|step[:CPUS]", c"set by berth beside --cpuset"];
        one(spank, cpuset_size::OPTION, CPUSET_SIZE_NUMBER, texts);
    }
}

/// Whether the name is ours now.
unsafe fn one(
    spank: spank_sys::spank_t,
    name: &'static CStr,
    number: c_int,
    [argument, usage]: [&'static CStr; 2],
) -> bool {
    let mut option = spank_sys::spank_option {
        name: name.as_ptr(),
        arginfo: argument.as_ptr(),
        usage: usage.as_ptr(),
        has_arg: 1,
        val: number,
        cb: Some(take),
    };
    // SAFETY: the caller's handle; Slurm copies the option, whose texts are static.
    let code = unsafe { spank_sys::spank_option_register(spank, &raw mut option) };
    let is_ours = code == spank_sys::ESPANK_SUCCESS;
    if !is_ours {
        log::debug!("option --{} was not registered", name.to_string_lossy());
    }
    is_ours
}

/// Slurm calls it with the user's text, before anything is queued in the
/// submitting command, and again in slurmstepd.
unsafe extern "C" fn take(val: c_int, argument: *const c_char, remote: c_int) -> c_int {
    guard("option", || {
        if val == OVERLAP_NUMBER {
            if remote != 0 {
                STATE.hear_overlap();
            }
            return 0;
        }
        let row = usize::try_from(val).ok().and_then(|at| OPTIONS.get(at));
        let Some(row) = row.filter(|_| !argument.is_null()) else {
            return 0;
        };
        // SAFETY: Slurm passes a C string that lives during the call.
        let bytes = unsafe { CStr::from_ptr(argument) }.to_bytes();
        // If the text is too long, its reader notices that.
        let kept = bytes.get(..row.most + 1).unwrap_or(bytes);
        let text = String::from_utf8_lossy(kept).into_owned();
        if remote != 0 {
            STATE.hear(row.own, text);
            return 0;
        }
        match option::check(row.own, &text) {
            Ok(()) => 0,
            Err(why) => {
                why.lines().for_each(|line| log::error!("{line}"));
                -1
            }
        }
    })
}
