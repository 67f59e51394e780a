//! A step's SPANK options as slurmd unpacks them: a list of Slurm's own.

use std::ffi::{CString, c_char, c_void};
use std::ptr;

use libc::RTLD_DEFAULT;

use crate::message::{JobOption, Text};
use crate::object::function;

/// `job_options_create`
type Create = unsafe extern "C" fn() -> *mut c_void;
/// `job_options_append`
type Append = unsafe extern "C" fn(*mut c_void, i32, *const c_char, *const c_char) -> i32;
/// `list_destroy`
type Destroy = unsafe extern "C" fn(*mut c_void);

/// OPT_TYPE_SPANK of src/common/plugstack.c: the kind of an option that a SPANK plugin has.
pub const SPANK: i32 = 0x4400;

/// A list that goes with its value.
pub(crate) struct Options(*mut c_void);

impl Options {
    /// slurmd makes a list also for a step without options. Without Slurm's functions there is none.
    pub(crate) fn new(options: &[JobOption]) -> Self {
        Self(list(options).unwrap_or(ptr::null_mut()))
    }

    /// Slurm's list, or null.
    pub(crate) fn list(&self) -> *mut c_void {
        self.0
    }
}

impl Drop for Options {
    fn drop(&mut self) {
        // SAFETY: src/common/list.h gives the name this prototype.
        let destroy = unsafe { function::<Destroy>(RTLD_DEFAULT, c"slurm_list_destroy") };
        if let Some(destroy) = destroy.filter(|_| !self.0.is_null()) {
            // SAFETY: the list made above, which destroys its items.
            unsafe { destroy(self.0) };
        }
    }
}

fn list(options: &[JobOption]) -> Option<*mut c_void> {
    // SAFETY: src/common/job_options.h gives the name this prototype.
    let create = unsafe { function::<Create>(RTLD_DEFAULT, c"job_options_create") }?;
    // SAFETY: as above.
    let append = unsafe { function::<Append>(RTLD_DEFAULT, c"job_options_append") }?;
    // SAFETY: it takes nothing and gives a list.
    let list = unsafe { create() };
    let text = |text: &Text| CString::new(text.0.as_slice()).unwrap_or_default();
    for option in options {
        let (name, argument) = (text(&option.option), option.argument.as_ref().map(text));
        let argument = argument.as_ref().map_or(ptr::null(), |text| text.as_ptr());
        // SAFETY: the list just made; the texts are copied.
        unsafe { append(list, option.kind, name.as_ptr(), argument) };
    }
    Some(list)
}
