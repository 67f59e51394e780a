//! Slurm's functions and variables, found in the running process: nothing of Slurm is linked.
//! Hosts differ (srun has no `conf`), so each may be missing.
//! Source of the prototypes: Slurm's src/common/{xmalloc,log,list,cred,cgroup,read_config,slurm_opt}.h and slurm/spank.h,
//! the same from 22.05 to 26.05.

use crate::error::Error;
use std::ffi::{CStr, c_char, c_int, c_long, c_void};
use std::mem::transmute_copy;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::OnceLock;

/// A printf-like logging function.
pub type LogFn = unsafe extern "C" fn(*const c_char, ...);
/// `slurm_list_for_each`'s callback: item, argument.
pub type ListForFn = unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int;

/// `cgroup_g_task_addto`: controller, step record, process, the task's number in the step.
pub type TaskAddToFn = unsafe extern "C" fn(u32, *mut c_void, libc::pid_t, u32) -> c_int;

/// The addresses, by Slurm's names. Tests fill it with functions of their own.
#[allow(missing_docs, reason = "each is Slurm's own function of that name")]
#[derive(Clone, Copy, Default)]
pub struct Addresses {
    pub slurm_api_version: Option<unsafe extern "C" fn() -> c_long>,
    pub slurm_xcalloc: Option<
        unsafe extern "C" fn(
            usize,
            usize,
            bool,
            bool,
            *const c_char,
            c_int,
            *const c_char,
        ) -> *mut c_void,
    >,
    pub slurm_xfree: Option<unsafe extern "C" fn(*mut *mut c_void)>,
    pub slurm_cred_get_args: Option<unsafe extern "C" fn(*mut c_void) -> *mut c_void>,
    pub slurm_cred_unlock_args: Option<unsafe extern "C" fn(*mut c_void)>,
    pub nodelist_find: Option<unsafe extern "C" fn(*const c_char, *const c_char) -> c_int>,
    pub slurm_list_for_each:
        Option<unsafe extern "C" fn(*mut c_void, ListForFn, *mut c_void) -> c_int>,
    pub slurm_list_destroy: Option<unsafe extern "C" fn(*mut c_void)>,
    pub cgroup_get_conf_list: Option<unsafe extern "C" fn() -> *mut c_void>,
    pub slurm_error: Option<LogFn>,
    pub slurm_info: Option<LogFn>,
    pub slurm_verbose: Option<LogFn>,
    pub slurm_debug: Option<LogFn>,
    pub get_log_level: Option<unsafe extern "C" fn() -> c_int>,
    pub cpu_freq_cpuset_validate: Option<unsafe extern "C" fn(*mut c_void)>,
    /// Its prototype is a fact of the tables: [`crate::layout::Constants::CGROUP_G_TASK_ADDTO`].
    pub cgroup_g_task_addto: Option<TaskAddToFn>,
    /// The file of a name beside slurm.conf, or what slurmctld has sent for it; from 26.05 on its argument is `const`.
    pub slurm_get_extra_conf_path: Option<unsafe extern "C" fn(*const c_char) -> *mut c_char>,
    /// The options of a command, a name, a value, and whether it comes before the command line.
    pub slurm_option_set:
        Option<unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char, bool) -> bool>,
    /// The options of a command and a name.
    pub slurm_option_reset: Option<unsafe extern "C" fn(*mut c_void, *const c_char) -> bool>,
    pub slurm_conf_lock: Option<unsafe extern "C" fn() -> *mut c_void>,
    pub slurm_conf_unlock: Option<unsafe extern "C" fn()>,
    /// `slurm_opt_t opt` of srun, sbatch and salloc: the address of that object.
    pub opt: Option<NonNull<c_void>>,
    /// `slurmd_conf_t *conf`: the address of that pointer variable.
    pub conf: Option<NonNull<*mut c_void>>,
    /// `slurm_conf_t slurm_conf`: the address of that object.
    pub slurm_conf: Option<NonNull<c_void>>,
}

/// Addresses that are known to be what their names say.
#[derive(Clone, Copy)]
pub struct Symbols(Addresses);

// SAFETY: the addresses are those of the process's code and static data: they hold for every
// thread and for ever, and what they point to is read only inside Slurm's hooks.
unsafe impl Send for Symbols {}
// SAFETY: as above; nothing here is changed after it was made.
unsafe impl Sync for Symbols {}

impl Deref for Symbols {
    type Target = Addresses;

    fn deref(&self) -> &Addresses {
        &self.0
    }
}

impl Symbols {
    /// This process's symbols, looked up once.
    pub fn get() -> &'static Symbols {
        static SYMBOLS: OnceLock<Symbols> = OnceLock::new();
        SYMBOLS.get_or_init(Symbols::look_up)
    }

    /// Symbols from elsewhere, for tests.
    ///
    /// # Safety
    /// Every address must be a function or variable with the prototype and meaning that Slurm
    /// gives to that name, for the rest of the process.
    pub const unsafe fn from_addresses(addresses: Addresses) -> Symbols {
        Symbols(addresses)
    }

    fn look_up() -> Symbols {
        // SAFETY: the types of `Addresses` are the prototypes that the sources named at the top
        // of this file give these names; only Slurm's programs and library define them.
        unsafe {
            Symbols(Addresses {
                slurm_api_version: function(c"slurm_api_version"),
                slurm_xcalloc: function(c"slurm_xcalloc"),
                slurm_xfree: function(c"slurm_xfree"),
                slurm_cred_get_args: function(c"slurm_cred_get_args"),
                slurm_cred_unlock_args: function(c"slurm_cred_unlock_args"),
                nodelist_find: function(c"nodelist_find"),
                slurm_list_for_each: function(c"slurm_list_for_each"),
                slurm_list_destroy: function(c"slurm_list_destroy"),
                cgroup_get_conf_list: function(c"cgroup_get_conf_list"),
                slurm_error: function(c"slurm_error"),
                slurm_info: function(c"slurm_info"),
                slurm_verbose: function(c"slurm_verbose"),
                slurm_debug: function(c"slurm_debug"),
                get_log_level: function(c"slurm_get_log_level")
                    .or_else(|| function(c"get_log_level")),
                cpu_freq_cpuset_validate: function(c"cpu_freq_cpuset_validate"),
                cgroup_g_task_addto: function(c"cgroup_g_task_addto"),
                slurm_get_extra_conf_path: function(c"slurm_get_extra_conf_path"),
                slurm_option_set: function(c"slurm_option_set"),
                slurm_option_reset: function(c"slurm_option_reset"),
                slurm_conf_lock: function(c"slurm_conf_lock"),
                slurm_conf_unlock: function(c"slurm_conf_unlock"),
                opt: address(c"opt"),
                conf: address(c"conf").map(NonNull::cast),
                slurm_conf: address(c"slurm_conf"),
            })
        }
    }

    /// `slurm_api_version()`, by one look-up: a constructor runs whenever the object is opened.
    pub(crate) fn api_version() -> Option<u32> {
        // SAFETY: slurm.h's prototype; it takes nothing and returns a constant.
        let number = unsafe {
            function::<unsafe extern "C" fn() -> c_long>(c"slurm_api_version").map(|get| get())
        };
        number.and_then(|number| u32::try_from(number).ok())
    }

    /// Sets an option of the running srun, sbatch or salloc as if it were typed; returns whether Slurm has taken it.
    ///
    /// # Safety
    /// The caller is a SPANK hook in one of these commands, where `opt` is Slurm's own object.
    pub unsafe fn set_option(&self, name: &CStr, value: &CStr) -> bool {
        let (Some(set), Some(opt)) = (self.slurm_option_set, self.opt) else {
            return false;
        };
        // SAFETY: Slurm's own object for Slurm's own function, which copies both texts.
        unsafe { set(opt.as_ptr(), name.as_ptr(), value.as_ptr(), false) }
    }

    /// Takes an option of the running srun, sbatch or salloc away as if it were not there; returns whether Slurm has done so.
    ///
    /// # Safety
    /// As for [`Self::set_option`].
    pub unsafe fn reset_option(&self, name: &CStr) -> bool {
        let (Some(reset), Some(opt)) = (self.slurm_option_reset, self.opt) else {
            return false;
        };
        // SAFETY: Slurm's own object for Slurm's own function, which only reads the name.
        unsafe { reset(opt.as_ptr(), name.as_ptr()) }
    }

    /// Lets Slurm drop the `--cpu-freq` request if the step's CPUs do not allow it; a task
    /// plugin calls it in `pre_setuid` once the masks are final.
    ///
    /// # Errors
    /// [`Error::MissingSymbol`] where this process lacks Slurm's function.
    ///
    /// # Safety
    /// `step` must be the step record that slurmstepd passed to the running hook.
    pub unsafe fn validate_cpu_freq(&self, step: *mut c_void) -> Result<(), Error> {
        let validate = self
            .cpu_freq_cpuset_validate
            .ok_or(Error::MissingSymbol("cpu_freq_cpuset_validate"))?;
        // SAFETY: the caller passes Slurm's own record to Slurm's own function.
        unsafe { validate(step) };
        Ok(())
    }
}

/// Where the global scope has `name`. RTLD_DEFAULT and not a handle: programs hold copies of some
/// of the library's variables, and theirs are the ones in use.
pub(crate) fn address(name: &CStr) -> Option<NonNull<c_void>> {
    // SAFETY: dlsym reads a C string and keeps nothing.
    NonNull::new(unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) })
}

/// # Safety
/// `F` must be a function pointer type with the prototype of the function `name`.
unsafe fn function<F: Copy>(name: &CStr) -> Option<F> {
    const { assert!(size_of::<F>() == size_of::<NonNull<c_void>>()) };
    // SAFETY: same size, and on every platform with dlsym a data pointer holds a function's
    // address; the caller promises that it is one of type F.
    address(name).map(|at| unsafe { transmute_copy::<NonNull<c_void>, F>(&at) })
}
