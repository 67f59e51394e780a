//! The two objects under comparison, in one process: Slurm's library first, for all to see, then
//! the plugins, as slurmd does it.

use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::NonNull;

use slurm_sys::{Line, Slurm as Running, Symbols};

use crate::machine::Class;
use crate::paths;
use crate::slurmd::Slurm;

/// `task_p_slurmd_launch_request`
pub type Launch = unsafe extern "C" fn(*mut c_void, u32, *mut *mut c_char) -> c_int;

/// The functions of an object that Slurm's daemons call, as Slurm's task interface (src/interfaces/task.c) has them.
#[derive(Clone, Copy)]
pub struct Hooks {
    /// `task_p_slurmd_launch_request`
    pub launch: Launch,
    /// `task_p_slurmd_batch_request`
    pub batch: unsafe extern "C" fn(*mut c_void) -> c_int,
    /// `task_p_pre_setuid`: in slurmstepd, once before the tasks.
    pub before: unsafe extern "C" fn(*mut c_void) -> c_int,
    /// `task_p_set_affinity`: in slurmstepd for each task, with its local number.
    pub task: unsafe extern "C" fn(*mut c_void, u32) -> c_int,
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
    /// The dynamic linker's words.
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

    /// The functions that the daemons call.
    ///
    /// # Errors
    /// Where the object has not all of it.
    pub fn hooks(&self) -> Result<Hooks, String> {
        // SAFETY: Slurm's task interface gives the names these prototypes.
        unsafe {
            Ok(Hooks {
                launch: self.function(c"task_p_slurmd_launch_request")?,
                batch: self.function(c"task_p_slurmd_batch_request")?,
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

    /// Our object.
    ///
    /// # Errors
    /// The dynamic linker's words.
    pub fn ours() -> Result<Self, String> {
        Self::load(&berth_tests::object(), libc::RTLD_LAZY)
    }

    /// Gives our object its settings, the words of a plugstack.conf line: those given, a folder for its state, and
    /// where it finds a machine of a class.
    ///
    /// # Errors
    /// Where the object has no SPANK part.
    pub fn set(&self, settings: &[&str], class: Class, state: &Path) -> Result<(), String> {
        // SAFETY: spank.h gives the name this prototype.
        let init: SpankInit = unsafe { self.function(c"slurm_spank_init") }?;
        let state = format!("state_dir={}", state.display());
        let command = format!("command={}", class.finder().display());
        let words = settings.iter().copied().chain([state.as_str(), &command]);
        let words = words.map(|word| c_text(OsStr::new(word)));
        let words: Vec<_> = words.collect::<Result<_, _>>()?;
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

/// Loads the installed Slurm's library and finds its tables.
///
/// # Errors
/// No Slurm, a release without a table, or one for which this program cannot stand in for slurmd: from 26.05 on the
/// library itself has the functions for CPU sets, with other arguments than those under the same names here.
pub fn slurm() -> Result<Slurm, String> {
    let plugins = paths::plugin_dir().ok_or("no slurmd is installed here")?;
    let library = plugins.join("libslurmfull.so");
    Object::load(&library, libc::RTLD_NOW | libc::RTLD_GLOBAL)?;
    let layout = Running::get().layout(false).map_err(str::to_owned)?;
    if layout.line >= Line::V26_05 {
        let line = layout.line;
        return Err(format!(
            "Slurm {line} has other CPU sets than this stand-in for slurmd"
        ));
    }
    let symbols = Symbols::get();
    let slurm = Slurm { layout, symbols };
    slurm.set_log(None)?;
    Ok(slurm)
}

/// The distribution's own task/affinity.
///
/// # Errors
/// Where it is not installed.
pub fn genuine() -> Result<Object, String> {
    let file = paths::plugin_dir().map(|plugins| plugins.join("task_affinity.so"));
    let file = file.filter(|file| file.is_file());
    let file = file.ok_or("the installed Slurm has no task_affinity.so")?;
    Object::load(&file, libc::RTLD_LAZY)
}

/// `log_options_t` of 22.05: no level, no prefix.
#[repr(C)]
struct LogOptions {
    levels: [c_int; 3],
    prefix_level: bool,
    buffered: bool,
    raw: bool,
}

impl Slurm {
    /// Has Slurm write what `SlurmdDebug=info`, the default, writes into a file, or nothing. Later lines than 22.05 have
    /// another record; there the texts go to stderr.
    ///
    /// # Errors
    /// A name that no file can have.
    pub fn set_log(self, file: Option<&Path>) -> Result<(), String> {
        type Init = unsafe extern "C" fn(*const c_char, LogOptions, c_int, *const c_char) -> c_int;
        // SAFETY: the prototype of src/common/log.h of the one line for which it is called.
        let init = unsafe { function::<Init>(libc::RTLD_DEFAULT, c"slurm_log_init") };
        let Some(init) = init.filter(|_| self.layout.line == Line::V22_05) else {
            return Ok(());
        };
        let name = file.map(|file| c_text(file.as_os_str())).transpose()?;
        let options = LogOptions {
            levels: [0, 0, if file.is_some() { 3 } else { 0 }],
            prefix_level: false,
            buffered: false,
            raw: false,
        };
        let name = name.as_ref().map_or(std::ptr::null(), |name| name.as_ptr());
        // SAFETY: the texts are copied.
        unsafe { init(c"oracle".as_ptr(), options, 0, name) };
        Ok(())
    }
}
