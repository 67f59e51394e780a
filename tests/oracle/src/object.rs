//! The two objects under comparison, in one process: Slurm's library first, for all to see, then
//! the plugins, as slurmd does it.

use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::NonNull;

use slurm_sys::{Line, Slurm as Running, Symbols};

use crate::slurmd::Slurm;

/// `task_p_slurmd_launch_request`
pub type Hook = unsafe extern "C" fn(*mut c_void, u32, *mut *mut c_char) -> c_int;
/// `task_p_slurmd_batch_request`
pub type BatchHook = unsafe extern "C" fn(*mut c_void) -> c_int;
/// `task_p_pre_setuid`
pub type BeforeHook = unsafe extern "C" fn(*mut c_void) -> c_int;
/// `task_p_set_affinity`
pub type TaskHook = unsafe extern "C" fn(*mut c_void, u32) -> c_int;

/// What slurmstepd calls of an object.
#[derive(Clone, Copy)]
pub struct StepHooks {
    /// Once, before the tasks.
    pub before: BeforeHook,
    /// For each task, with its local number.
    pub task: TaskHook,
}

/// `get_cpuset` of task/affinity: a task's CPUs from slurmstepd's record of its step.
pub type GetCpuset = unsafe extern "C" fn(*mut libc::cpu_set_t, *mut c_void, u32) -> c_int;
/// `slurm_spank_init`
type SpankInit = unsafe extern "C" fn(*mut c_void, c_int, *const *const c_char) -> c_int;

/// An object that stays loaded.
pub struct Object(NonNull<c_void>);

impl Object {
    /// Loads a file.
    ///
    /// # Errors
    /// What the dynamic linker says.
    pub fn load(file: &Path, flags: c_int) -> Result<Self, String> {
        let name = c_text(file.as_os_str())?;
        // SAFETY: a C string; the files are Slurm's own and ours.
        match NonNull::new(unsafe { libc::dlopen(name.as_ptr(), flags) }) {
            Some(handle) => Ok(Self(handle)),
            // SAFETY: dlopen has just failed, so there is a text.
            None => Err(unsafe { CStr::from_ptr(libc::dlerror()) }
                .to_string_lossy()
                .into_owned()),
        }
    }

    /// # Safety
    /// `F` is a function pointer with the prototype of that name.
    unsafe fn function<F: Copy>(&self, name: &CStr) -> Result<F, String> {
        // SAFETY: the object stays loaded; the caller's promise.
        let found = unsafe { function(self.0.as_ptr(), name) };
        found.ok_or_else(|| format!("{} is not there", name.to_string_lossy()))
    }

    /// The launch hook.
    ///
    /// # Errors
    /// Where the object has none.
    pub fn hook(&self) -> Result<Hook, String> {
        // SAFETY: Slurm's task interface (src/interfaces/task.c) gives the name this prototype.
        unsafe { self.function(c"task_p_slurmd_launch_request") }
    }

    /// The hook for batch scripts.
    ///
    /// # Errors
    /// Where the object has none.
    pub fn batch_hook(&self) -> Result<BatchHook, String> {
        // SAFETY: Slurm's task interface gives the name this prototype.
        unsafe { self.function(c"task_p_slurmd_batch_request") }
    }

    /// slurmstepd's hooks before the tasks (`task_p_pre_setuid`) and for each task, under the name
    /// that the line has for it.
    ///
    /// # Errors
    /// Where the object has none.
    pub fn step_hooks(&self) -> Result<StepHooks, String> {
        // SAFETY: Slurm's task interface gives the names these prototypes.
        unsafe {
            Ok(StepHooks {
                before: self.function(c"task_p_pre_setuid")?,
                task: self.function(c"task_p_set_affinity")?,
            })
        }
    }

    /// task/affinity's look-up in slurmstepd.
    ///
    /// # Errors
    /// Where the object has none.
    pub fn get_cpuset(&self) -> Result<GetCpuset, String> {
        // SAFETY: its prototype in affinity.h.
        unsafe { self.function(c"get_cpuset") }
    }

    /// Gives our object its settings, the words of a plugstack.conf line.
    ///
    /// # Errors
    /// Where the object has no SPANK part.
    pub fn set(&self, words: &[String]) -> Result<(), String> {
        // SAFETY: spank.h gives the name this prototype.
        let init: SpankInit = unsafe { self.function(c"slurm_spank_init") }?;
        let words: Vec<_> = words
            .iter()
            .map(|word| c_text(OsStr::new(word)))
            .collect::<Result<_, _>>()?;
        let argv: Vec<_> = words.iter().map(|word| word.as_ptr()).collect();
        // SAFETY: no handle, as many words as said; the hook copies them.
        unsafe { init(std::ptr::null_mut(), argv.len() as c_int, argv.as_ptr()) };
        Ok(())
    }
}

/// A function of an object, or of all that are loaded (`RTLD_DEFAULT`).
///
/// # Safety
/// `F` is a function pointer with the prototype of that name.
pub(crate) unsafe fn function<F: Copy>(object: *mut c_void, name: &CStr) -> Option<F> {
    const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
    // SAFETY: dlsym reads a C string.
    let at = unsafe { libc::dlsym(object, name.as_ptr()) };
    // SAFETY: the caller's promise, and the same size.
    (!at.is_null()).then(|| unsafe { std::mem::transmute_copy(&at) })
}

fn c_text(text: &OsStr) -> Result<CString, String> {
    CString::new(text.as_bytes()).map_err(|why| why.to_string())
}

/// Loads Slurm's library and finds its tables.
///
/// # Errors
/// A library that cannot be loaded, or a release without a table.
pub fn slurm(plugins: &Path) -> Result<Slurm, String> {
    let library = plugins.join("libslurmfull.so");
    Object::load(&library, libc::RTLD_NOW | libc::RTLD_GLOBAL)?;
    let running = Running::get();
    let layout = running.layout(false).map_err(str::to_owned)?;
    set_log(layout.line, Log::Nothing);
    Ok(Slurm {
        layout,
        symbols: Symbols::get(),
    })
}

/// Whether this program can stand in for slurmd of a release: from 26.05 on the library itself
/// has the functions for CPU sets, with other arguments than those under the same names here.
///
/// # Errors
/// A text that says so.
pub fn can_stand_in(line: Line) -> Result<(), String> {
    if line < Line::V26_05 {
        return Ok(());
    }
    Err(format!(
        "Slurm {line} has other CPU sets than this stand-in for slurmd"
    ))
}

/// `log_options_t` of 22.05: no level, no prefix.
#[repr(C)]
struct LogOptions {
    levels: [c_int; 3],
    prefix_level: bool,
    buffered: bool,
    raw: bool,
}

/// What Slurm writes of a call: its levels from `quiet` (nothing) on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Log<'a> {
    /// Nothing.
    Nothing,
    /// What `SlurmdDebug=info`, the default, has written, into a file that swallows it.
    Info,
    /// The same into another file.
    InfoTo(&'a CStr),
}

/// Sets what Slurm logs. Later lines have another record; there the texts go to stderr.
pub fn set_log(line: Line, log: Log<'_>) {
    type Init = unsafe extern "C" fn(*const c_char, LogOptions, c_int, *const c_char) -> c_int;
    // SAFETY: the prototype of src/common/log.h of the one line for which it is called.
    let init = unsafe { function::<Init>(libc::RTLD_DEFAULT, c"slurm_log_init") };
    let Some(init) = init.filter(|_| line == Line::V22_05) else {
        return;
    };
    let (level, file) = match log {
        Log::Nothing => (0, std::ptr::null()),
        Log::Info => (3, c"/dev/null".as_ptr()),
        Log::InfoTo(file) => (3, file.as_ptr()),
    };
    let options = LogOptions {
        levels: [0, 0, level],
        prefix_level: false,
        buffered: false,
        raw: false,
    };
    // SAFETY: the texts are copied.
    unsafe { init(c"oracle".as_ptr(), options, 0, file) };
}
