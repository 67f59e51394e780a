//! Where each release line keeps kind and body of a message. Source: slurm_msg_t,
//! src/common/slurm_protocol_defs.h, compiled for x86-64 and aarch64, where it is the same.

use std::ffi::c_void;
use std::ptr;

use slurm_sys::Line;

/// REQUEST_LAUNCH_TASKS, on every line.
const REQUEST_LAUNCH_TASKS: u16 = 6001;

/// Offsets of `data` and `msg_type`.
fn places(line: Line) -> (usize, usize) {
    match line {
        Line::V22_05 | Line::V23_02 => (184, 200),
        Line::V23_11 => (192, 208),
        Line::V24_05 => (192, 204),
        Line::V24_11 => (200, 212),
        Line::V25_05 => (200, 232),
        Line::V25_11 => (192, 224),
        Line::V26_05 => (192, 226),
    }
}

/// The body of a request to launch tasks; nothing for other messages.
///
/// # Safety
/// `message` is a slurm_msg_t of this line.
pub unsafe fn launch_request(message: *mut c_void, line: Line) -> Option<*mut c_void> {
    let (body, kind) = places(line);
    // SAFETY: both fields lie inside the caller's message.
    let (kind, body) = unsafe {
        let kind = message.byte_add(kind).cast::<u16>();
        let body = message.byte_add(body).cast::<*mut c_void>();
        (ptr::read_unaligned(kind), ptr::read_unaligned(body))
    };
    (kind == REQUEST_LAUNCH_TASKS && !body.is_null()).then_some(body)
}
