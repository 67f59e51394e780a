//! The CPU set in a task's record, in the two forms Slurm gave it.
//! Source: src/slurmd/slurmstepd/slurmstepd_job.h; xcpuset_t of src/common/xsched.h (from 26.05 on).

use crate::error::Error;
use crate::layout::Layout;
use crate::record::{Record, allocate};
use crate::symbols::Symbols;
use std::ffi::c_void;
use std::ptr;

/// What Slurm reads of a cpu_set_t: glibc's fixed 1024 CPUs.
const CPU_SET_BYTES: usize = 128;

/// Allocates a block by Slurm's allocator, and writes `words` into it in the form that this release line expects.
pub(crate) fn build(
    words: &[u64],
    layout: &Layout,
    symbols: &Symbols,
) -> Result<*mut c_void, Error> {
    let mask = size_of_val(words);
    let (head, mask) = match &layout.xcpuset {
        Some(fields) => (fields.extent, mask),
        None => (0, mask.max(CPU_SET_BYTES)),
    };
    let block = allocate(head + mask, symbols)?.as_ptr();
    // SAFETY: the block is ours until it is stored, and long enough for these fields.
    if let (Some(fields), Some(record)) = (&layout.xcpuset, unsafe { Record::new(block) }) {
        record.write(fields.max_cpus, mask as u64 * 8);
        record.write(fields.size, mask as u64);
    }
    let target = block.cast::<u8>().wrapping_add(head);
    // SAFETY: the block has `head + mask` bytes and `mask` is no less than that of `words`.
    unsafe { ptr::copy_nonoverlapping(words.as_ptr().cast::<u8>(), target, size_of_val(words)) };
    Ok(block)
}
