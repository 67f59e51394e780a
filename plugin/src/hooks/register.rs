//! Registers the SPANK options with Slurm: their names, their help texts, and the function that
//! Slurm calls with a value.

use std::ffi::{CStr, CString, c_char, c_int};

use slurm_spank::spank_sys;

use crate::hooks::guard::guard;
use crate::step::cpuset_size;
use crate::step::own_options::{OVERLAP, Own};
use crate::stepd::state::STATE;
use crate::submit::option;

/// The number of [`OVERLAP`]; those of berth's own options are their places in [`Own::ALL`].
const OVERLAP_NUMBER: c_int = Own::ALL.len() as c_int;
/// The number of the option beside `--cpuset`.
const CPUSET_SIZE_NUMBER: c_int = OVERLAP_NUMBER + 1;

/// Registers both names of each of berth's own options.
///
/// # Safety
/// `spank` is the handle that Slurm passed to `slurm_spank_init`.
pub(crate) unsafe fn own(spank: spank_sys::spank_t) {
    for own in Own::ALL {
        let register = |name: &str| {
            let texts = [name, own.argument, own.usage].map(CString::new);
            let [Ok(name), Ok(argument), Ok(usage)] = texts else {
                return false;
            };
            // SAFETY: the caller's promise.
            unsafe { one(spank, &name, own as c_int, [&argument, &usage]) }
        };
        if register(own.name) {
            option::has_short(own);
        }
        register(own.sure_name);
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
    name: &CStr,
    number: c_int,
    [argument, usage]: [&CStr; 2],
) -> bool {
    let mut option = spank_sys::spank_option {
        name: name.as_ptr(),
        arginfo: argument.as_ptr(),
        usage: usage.as_ptr(),
        has_arg: 1,
        val: number,
        cb: Some(take),
    };
    // SAFETY: the caller's handle; Slurm copies the option and its texts (`_spank_option_copy`).
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
                STATE.set_overlap();
            }
            return 0;
        }
        let own = usize::try_from(val).ok().and_then(|at| Own::ALL.get(at));
        let Some(own) = own.copied().filter(|_| !argument.is_null()) else {
            return 0;
        };
        // SAFETY: Slurm passes a C string that lives during the call.
        let bytes = unsafe { CStr::from_ptr(argument) }.to_bytes();
        // If the text is too long, its reader notices that.
        let kept = bytes.get(..own.most_bytes + 1).unwrap_or(bytes);
        let text = String::from_utf8_lossy(kept).into_owned();
        if remote != 0 {
            STATE.set_option(own, text);
            return 0;
        }
        match option::check(own, &text) {
            Ok(()) => 0,
            Err(why) => {
                why.lines().for_each(|line| log::error!("{line}"));
                -1
            }
        }
    })
}
