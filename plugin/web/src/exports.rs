//! The three functions of the WebAssembly: the page reserves memory, writes its request there, and reads the answer.
//! The length of an answer stands in the four bytes before it. Every access is within memory that `reserve` made.
//! Only text passes, so no generator of bindings is needed.
#![allow(
    unsafe_code,
    reason = "the page and the module share memory by address"
)]

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};

/// The bytes of a length.
const HEAD: usize = 4;

fn layout(bytes: usize) -> Layout {
    Layout::from_size_align(bytes + HEAD, HEAD).unwrap_or(Layout::new::<u32>())
}

/// Reserves memory for so many bytes behind a length; the address is that of the bytes.
#[unsafe(no_mangle)]
pub extern "C" fn reserve(bytes: usize) -> *mut u8 {
    let layout = layout(bytes);
    // SAFETY: the size is never zero. The length and the bytes behind it lie within the layout.
    unsafe {
        let start = alloc(layout);
        if start.is_null() {
            handle_alloc_error(layout);
        }
        start.cast::<u32>().write(bytes as u32);
        start.add(HEAD)
    }
}

/// Answers the request at an address of `reserve`, which it releases.
///
/// # Safety
/// The page has filled the reserved bytes and uses the address no more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn answer(request: *mut u8) -> *mut u8 {
    // SAFETY: `reserve` has written the length before the bytes, and the page has filled these.
    let bytes = unsafe {
        let length = request.sub(HEAD).cast::<u32>().read() as usize;
        std::slice::from_raw_parts(request, length)
    };
    let text = crate::answer(&String::from_utf8_lossy(bytes));
    // SAFETY: it is an address of `reserve`, and the slice is used no more.
    unsafe { release(request) };
    let to = reserve(text.len());
    // SAFETY: `reserve` has made room for exactly these bytes.
    unsafe { to.copy_from_nonoverlapping(text.as_ptr(), text.len()) };
    to
}

/// Releases memory.
///
/// # Safety
/// The address is one of `reserve` or `answer`, and is used no more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn release(bytes: *mut u8) {
    // SAFETY: `reserve` made it with this layout, whose length it wrote.
    unsafe {
        let start = bytes.sub(HEAD);
        let length = start.cast::<u32>().read() as usize;
        dealloc(start, layout(length));
    }
}
