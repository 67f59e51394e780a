//! libnuma's answers for the machine of the request instead of the one we run on.
//! task/affinity asks once a process (`slurm_get_numa_node`). libnuma's own functions read a mask, and free it.

use std::ffi::{c_int, c_ulong};
use std::sync::{PoisonError, RwLock};

const WORD: usize = c_ulong::BITS as usize;
/// CPUs that libnuma's masks have room for here.
const CPUS: usize = 4096;

/// CPUs of each memory domain.
static DOMAINS: RwLock<Vec<Vec<u16>>> = RwLock::new(Vec::new());

/// Answers for these domains from now on.
pub fn pretend(domains: Vec<Vec<u16>>) {
    *DOMAINS.write().unwrap_or_else(PoisonError::into_inner) = domains;
}

/// libnuma's `struct bitmask`.
#[repr(C)]
pub struct Bitmask {
    size: c_ulong,
    words: *mut c_ulong,
}

/// 0: there are memory domains.
#[unsafe(no_mangle)]
pub extern "C" fn numa_available() -> c_int {
    0
}

/// The highest domain's number.
#[unsafe(no_mangle)]
pub extern "C" fn numa_max_node() -> c_int {
    let domains = DOMAINS.read().unwrap_or_else(PoisonError::into_inner);
    domains.len() as c_int - 1
}

/// A mask with room for all CPUs.
#[unsafe(no_mangle)]
pub extern "C" fn numa_allocate_cpumask() -> *mut Bitmask {
    let words = Box::leak(vec![0 as c_ulong; CPUS / WORD].into_boxed_slice());
    Box::into_raw(Box::new(Bitmask {
        size: CPUS as c_ulong,
        words: words.as_mut_ptr(),
    }))
}

/// Fills a mask with a domain's CPUs.
///
/// # Safety
/// Called with a mask as libnuma makes it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn numa_node_to_cpus(node: c_int, mask: *mut Bitmask) -> c_int {
    // SAFETY: the caller's promise; size is in bits.
    let words =
        unsafe { std::slice::from_raw_parts_mut((*mask).words, (*mask).size as usize / WORD) };
    words.fill(0);
    let domains = DOMAINS.read().unwrap_or_else(PoisonError::into_inner);
    for cpu in domains.get(node as usize).into_iter().flatten() {
        let cpu = usize::from(*cpu);
        words[cpu / WORD] |= 1 << (cpu % WORD);
    }
    0
}
