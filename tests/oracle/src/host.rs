//! Functions that slurmd's program has and Slurm's library has not, under the names that plugins look for.
//! build.rs puts these names into the dynamic symbol table; the program's come before a library's.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicI32, AtomicPtr, Ordering};

use libc::cpu_set_t;

/// `slurmd_conf_t *conf`
#[allow(non_upper_case_globals, reason = "slurmd's own name")]
#[unsafe(no_mangle)]
pub static conf: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());

/// How often the credential was locked and not unlocked.
pub static LOCKED: AtomicI32 = AtomicI32::new(0);

/// Locks a credential; a credential is here the record of its arguments itself.
#[unsafe(no_mangle)]
pub extern "C" fn slurm_cred_get_args(cred: *mut c_void) -> *mut c_void {
    LOCKED.fetch_add(1, Ordering::Relaxed);
    cred
}

/// Unlocks it.
#[unsafe(no_mangle)]
pub extern "C" fn slurm_cred_unlock_args(_cred: *mut c_void) {
    LOCKED.fetch_sub(1, Ordering::Relaxed);
}

/// A mask's text, as slurmd reads it (src/slurmd/common/task_plugin.c).
///
/// # Safety
/// Called with a CPU set to fill and a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn task_str_to_cpuset(mask: *mut cpu_set_t, text: *const c_char) -> c_int {
    // SAFETY: the caller's promise.
    let (mask, text) = unsafe { (&mut *mask, CStr::from_ptr(text)) };
    // SAFETY: a CPU set is a bit string.
    *mask = unsafe { std::mem::zeroed() };
    let digits = text.to_bytes();
    let digits = digits.strip_prefix(b"0x").unwrap_or(digits);
    for (at, digit) in digits.iter().rev().enumerate() {
        let Some(value) = char::from(*digit).to_digit(16) else {
            return -1;
        };
        // The C macro leaves out what lies beyond the set, too.
        let cpus = (4 * at..4 * at + 4).take_while(|cpu| *cpu < libc::CPU_SETSIZE as usize);
        for cpu in cpus.filter(|cpu| value & 1 << (cpu % 4) != 0) {
            // SAFETY: inside the set, as just seen.
            unsafe { libc::CPU_SET(cpu, mask) };
        }
    }
    0
}

/// A mask as text: small digits, no leading zeros.
///
/// # Safety
/// Called with a CPU set and room for a digit of every four of its bits and the NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn task_cpuset_to_str(
    mask: *const cpu_set_t,
    text: *mut c_char,
) -> *mut c_char {
    // SAFETY: the caller's promise.
    let mask = unsafe { &*mask };
    // SAFETY: every number asked for lies inside the set.
    let has = |cpu: usize| u32::from(unsafe { libc::CPU_ISSET(cpu, mask) });
    let digit = |at: usize| (0..4).fold(0, |digit, bit| digit | has(at * 4 + bit) << bit);
    let digits = (0..libc::CPU_SETSIZE as usize / 4).rev().map(digit);
    let digits: String = digits.map(|digit| format!("{digit:x}")).collect();
    let digits = match digits.trim_start_matches('0') {
        "" => "0",
        digits => digits,
    };
    // SAFETY: the caller promises the room.
    unsafe {
        ptr::copy_nonoverlapping(digits.as_ptr(), text.cast(), digits.len());
        text.add(digits.len()).write(0);
    }
    text
}

/// The verbose report; slurmstepd's alone.
#[unsafe(no_mangle)]
pub extern "C" fn task_slurm_chkaffinity(
    _mask: *mut cpu_set_t,
    _step: *mut c_void,
    _failed: c_int,
    _task: u32,
) {
}

/// Looks at the step's CPU frequencies; slurmstepd's alone.
#[unsafe(no_mangle)]
pub extern "C" fn cpu_freq_cpuset_validate(_step: *mut c_void) {}
