//! The C library's allocator, counted and limited: also the object under test and Slurm's library
//! find these names first.

use std::ffi::{c_int, c_void};
use std::ptr;

use berth_oracle::messages::memory::{gave, may_take, took};

unsafe extern "C" {
    fn __libc_malloc(size: usize) -> *mut c_void;
    fn __libc_calloc(count: usize, size: usize) -> *mut c_void;
    fn __libc_realloc(block: *mut c_void, size: usize) -> *mut c_void;
    fn __libc_memalign(align: usize, size: usize) -> *mut c_void;
    fn __libc_free(block: *mut c_void);
    fn malloc_usable_size(block: *mut c_void) -> usize;
}

fn counted(size: usize, make: impl FnOnce() -> *mut c_void) -> *mut c_void {
    if !may_take(size) {
        return ptr::null_mut();
    }
    let block = make();
    // SAFETY: null or a block that the C library has just given.
    took(unsafe { malloc_usable_size(block) });
    block
}

#[unsafe(no_mangle)]
extern "C" fn malloc(size: usize) -> *mut c_void {
    // SAFETY: malloc(3).
    counted(size, || unsafe { __libc_malloc(size) })
}

#[unsafe(no_mangle)]
extern "C" fn calloc(count: usize, size: usize) -> *mut c_void {
    // SAFETY: malloc(3).
    counted(count.saturating_mul(size), || unsafe {
        __libc_calloc(count, size)
    })
}

#[unsafe(no_mangle)]
extern "C" fn memalign(align: usize, size: usize) -> *mut c_void {
    // SAFETY: posix_memalign(3).
    counted(size, || unsafe { __libc_memalign(align, size) })
}

#[unsafe(no_mangle)]
extern "C" fn aligned_alloc(align: usize, size: usize) -> *mut c_void {
    memalign(align, size)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn posix_memalign(place: *mut *mut c_void, align: usize, size: usize) -> c_int {
    let block = memalign(align, size);
    if block.is_null() {
        return libc::ENOMEM;
    }
    // SAFETY: the caller's place for the block.
    unsafe { *place = block };
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn realloc(block: *mut c_void, size: usize) -> *mut c_void {
    // SAFETY: null or a block of the caller's.
    let before = unsafe { malloc_usable_size(block) };
    if !may_take(size.saturating_sub(before)) {
        return ptr::null_mut();
    }
    // SAFETY: the caller's block.
    let moved = unsafe { __libc_realloc(block, size) };
    if !moved.is_null() || size == 0 {
        gave(before);
        // SAFETY: null or the block that the C library has just given.
        took(unsafe { malloc_usable_size(moved) });
    }
    moved
}

#[unsafe(no_mangle)]
unsafe extern "C" fn reallocarray(block: *mut c_void, count: usize, size: usize) -> *mut c_void {
    match count.checked_mul(size) {
        // SAFETY: the caller's block.
        Some(size) => unsafe { realloc(block, size) },
        None => ptr::null_mut(),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn free(block: *mut c_void) {
    // SAFETY: null or a block of the caller's, which it gives back.
    unsafe {
        gave(malloc_usable_size(block));
        __libc_free(block);
    }
}
