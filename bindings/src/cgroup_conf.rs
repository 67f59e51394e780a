//! cgroup.conf as one of Slurm's daemons has it: slurmd reads the file before it loads a task plugin, wherever
//! it lies, and passes the settings on to each slurmstepd.
//! Source: cgroup_get_conf_list in src/common/cgroup.c (22.05) and src/interfaces/cgroup.c, and config_key_pair_t
//! in src/common/read_config.h, the same from 22.05 to 26.05.

use crate::error::Error;
use crate::record::for_each;
use crate::symbols::Symbols;
use std::ffi::{CStr, c_char, c_void};
use std::ops::ControlFlow;

/// Many times the settings that there are.
const MOST: usize = 1000;

/// A name and its value, which may be null.
#[repr(C)]
struct Pair {
    name: *const c_char,
    value: *const c_char,
}

/// The settings, as `scontrol show config` shows them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CgroupConf(Vec<(String, String)>);

impl CgroupConf {
    /// The settings of this process.
    ///
    /// # Errors
    /// [`Error::MissingSymbol`] where this process lacks one of Slurm's functions.
    ///
    /// # Safety
    /// This process is a slurmd or slurmstepd of Slurm's that has got as far as to call its task plugins.
    pub unsafe fn read(symbols: &Symbols) -> Result<Self, Error> {
        let get = symbols
            .cgroup_get_conf_list
            .ok_or(Error::MissingSymbol("cgroup_get_conf_list"))?;
        let destroy = symbols
            .slurm_list_destroy
            .ok_or(Error::MissingSymbol("slurm_list_destroy"))?;
        let mut found = Self::default();
        // SAFETY: the caller's promise: the settings have been read. Slurm takes its own lock.
        let list = unsafe { get() };
        let visit = |item| {
            // SAFETY: the list holds such pairs, which live as long as the list.
            found.0.extend(unsafe { pair(item) });
            match found.0.len() < MOST {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            }
        };
        // SAFETY: the list made just above.
        let walked = unsafe { for_each(list, symbols, visit) };
        if !list.is_null() {
            // SAFETY: the list is ours, and nothing points into it any more.
            unsafe { destroy(list) };
        }
        walked.map(|()| found)
    }

    /// A setting's value.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        let pair = self.0.iter().find(|(known, _)| known == name);
        pair.map(|(_, value)| value.as_str())
    }

    /// Whether task/cgroup confines a step to the CPUs of its cores.
    #[must_use]
    pub fn constrains_cores(&self) -> bool {
        self.get("ConstrainCores") == Some("yes") && self.get("CgroupPlugin") != Some("disabled")
    }

    /// `ConstrainDevices=yes`. Slurm then counts devices within the step, whatever `CgroupPlugin` is
    /// (gres_use_local_device_index).
    #[must_use]
    pub fn constrains_devices(&self) -> bool {
        self.get("ConstrainDevices") == Some("yes")
    }
}

/// A setting and its value.
///
/// # Safety
/// `item` is null or a pair of Slurm's.
unsafe fn pair(item: *mut c_void) -> Option<(String, String)> {
    // SAFETY: the caller's promise.
    let pair = unsafe { item.cast::<Pair>().as_ref() }?;
    let text = |text: *const c_char| match text.is_null() {
        true => String::new(),
        // SAFETY: a pair's texts are C strings.
        false => unsafe { CStr::from_ptr(text) }
            .to_string_lossy()
            .into_owned(),
    };
    Some((text(pair.name), text(pair.value)))
}
