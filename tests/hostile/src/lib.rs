//! A client of one's own: preloaded into the distribution's srun, it changes the launch request on
//! its way to slurmd. The file that `BERTH_HOSTILE` names says what is changed (`changes`).
//!
//! srun sends its launch requests through `slurm_send_recv_msgs` of Slurm's library, which calls
//! it by way of the dynamic linker, so this definition is called first. srun has checked its
//! options before that; what is put in here is checked by nobody but the node.

pub mod changes;
pub mod message;
mod record;

use std::ffi::{c_char, c_int, c_void};
use std::mem::transmute;

use slurm_sys::Slurm;

use record::Forged;

/// Slurm's function, the same on every line: node list, message, patience; a list of answers.
type Send = unsafe extern "C" fn(*const c_char, *mut c_void, c_int) -> *mut c_void;

/// Takes the place of Slurm's own; a launch request is sent with the changes, the rest as it is.
///
/// # Safety
/// The arguments are those of Slurm's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slurm_send_recv_msgs(
    nodes: *const c_char,
    message: *mut c_void,
    patience: c_int,
) -> *mut c_void {
    // SAFETY: the name is a C string; the next object that has it is Slurm's library.
    let next = unsafe { libc::dlsym(libc::RTLD_NEXT, c"slurm_send_recv_msgs".as_ptr()) };
    assert!(!next.is_null(), "this program has no slurm_send_recv_msgs");
    // SAFETY: Slurm's function has this prototype on every line (src/common/slurm_protocol_api.h).
    let send: Send = unsafe { transmute(next) };
    // SAFETY: the caller's own message.
    let forged = unsafe { forge(message) };
    // SAFETY: the caller's own arguments, the request changed within its own fields.
    let answers = unsafe { send(nodes, message, patience) };
    // srun frees what was there before; what was put there lives as long as the process.
    drop(forged);
    answers
}

/// Changes a launch request, until the value is dropped; nothing for other messages.
///
/// # Safety
/// `message` is a message of the running Slurm.
unsafe fn forge(message: *mut c_void) -> Option<Forged> {
    let file = std::env::var_os("BERTH_HOSTILE")?;
    let slurm = Slurm::get();
    let layout = slurm.layout(false).expect("a release that berth knows");
    // SAFETY: the caller's promise.
    let request = unsafe { message::launch_request(message, layout.line) }?;
    let text = std::fs::read(&file).expect("BERTH_HOSTILE names a readable file");
    // SAFETY: Slurm's own launch request, which stays until the message is answered.
    let mut forged = unsafe { Forged::new(request, layout, slurm.symbols) };
    for (name, value) in changes::parse(&text).expect("BERTH_HOSTILE names a list of changes") {
        forged.change(name, value);
    }
    forged.send_variables();
    Some(forged)
}
