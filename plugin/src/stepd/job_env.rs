//! The job's environment as SPANK shows it in slurmstepd. A value may have any length, and slurm-spank's own reader
//! doubles a buffer until the value fits. Here a value is read once, into a buffer of the reader's bound.

use std::ffi::{CString, c_char};
use std::ops::Deref;

use libc::c_int;
use slurm_spank::spank_sys::slurm_err_t_ESPANK_NOSPACE as NO_SPACE;
use slurm_spank::spank_sys::{ESPANK_SUCCESS, spank_getenv, spank_t};
use slurm_spank::{OptionCache, SpankHandle, init_spank_handle};

/// SPANK's handle, with readers of the job's environment that have bounds.
pub(crate) struct Spank<'a> {
    raw: spank_t,
    handle: SpankHandle<'a>,
}

/// The beginning of a value.
struct Beginning {
    bytes: Vec<u8>,
    is_all: bool,
}

impl<'a> Spank<'a> {
    /// # Safety
    /// The pointers are those that Slurm passed to the running hook, and the value does not outlive that.
    pub(crate) unsafe fn new(
        raw: spank_t,
        argc: c_int,
        argv: *const *const c_char,
        cache: &'a mut OptionCache,
    ) -> Self {
        Self {
            raw,
            handle: init_spank_handle(raw, argc, argv, cache),
        }
    }

    /// Slurm's own handle.
    pub(crate) fn raw(&self) -> spank_t {
        self.raw
    }

    /// A variable's value; one of more than `limit` bytes counts as not set.
    pub(crate) fn env_get(&self, name: &str, limit: usize) -> Option<String> {
        let value = self.read(name, limit).filter(|value| value.is_all);
        value.map(|value| text(&value.bytes))
    }

    /// The beginning of a variable's value, at most `most` bytes.
    pub(crate) fn env_beginning(&self, name: &str, most: usize) -> Option<String> {
        self.env_bytes(name, most).map(|bytes| text(&bytes))
    }

    /// The beginning of a variable's value as bytes, at most `most` of them.
    pub(crate) fn env_bytes(&self, name: &str, most: usize) -> Option<Vec<u8>> {
        self.read(name, most).map(|value| value.bytes)
    }

    /// Whether there is a variable of this name, whatever its value.
    pub(crate) fn env_has(&self, name: &str) -> bool {
        self.read(name, 0).is_some()
    }

    fn read(&self, name: &str, most: usize) -> Option<Beginning> {
        let name = CString::new(name).ok()?;
        let mut bytes = vec![0; most.checked_add(1)?];
        let length = c_int::try_from(bytes.len()).ok()?;
        let buffer = bytes.as_mut_ptr().cast();
        // SAFETY: the running hook's handle; the buffer has this length, and Slurm writes no more (`strlcpy`).
        let code = unsafe { spank_getenv(self.raw, name.as_ptr(), buffer, length) };
        let is_all = match code {
            ESPANK_SUCCESS => true,
            NO_SPACE => false,
            _ => return None,
        };
        let end = bytes.iter().position(|byte| *byte == 0);
        bytes.truncate(end.unwrap_or(most));
        Some(Beginning { bytes, is_all })
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

impl<'a> Deref for Spank<'a> {
    type Target = SpankHandle<'a>;

    fn deref(&self) -> &SpankHandle<'a> {
        &self.handle
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slurm_spank::spank_sys::{slurm_err_t_ESPANK_ENV_NOEXIST, spank_err_t};
    use std::cell::Cell;
    use std::ffi::CStr;
    use std::ptr;

    thread_local! {
        /// The largest buffer that was given.
        static LARGEST: Cell<c_int> = const { Cell::new(0) };
    }

    /// Slurm's function of this name (src/common/spank.c), with two variables.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn spank_getenv(
        _spank: spank_t,
        name: *const c_char,
        buffer: *mut c_char,
        length: c_int,
    ) -> spank_err_t {
        LARGEST.set(LARGEST.get().max(length));
        // SAFETY: the caller passes a C string.
        let value = match unsafe { CStr::from_ptr(name) }.to_bytes() {
            b"SHORT" => b"abc".to_vec(),
            b"HUGE" => vec![b'x'; 1 << 20],
            _ => return slurm_err_t_ESPANK_ENV_NOEXIST,
        };
        let room = usize::try_from(length).unwrap();
        let copied = value.len().min(room - 1);
        // SAFETY: the caller's buffer has this length.
        unsafe {
            ptr::copy_nonoverlapping(value.as_ptr(), buffer.cast(), copied);
            buffer.add(copied).write(0);
        }
        match value.len() < room {
            true => ESPANK_SUCCESS,
            false => NO_SPACE,
        }
    }

    #[test]
    fn a_value_takes_no_more_memory_than_its_bound() {
        let mut cache = OptionCache::default();
        // SAFETY: no other function is called with the handle than the one above.
        let spank = unsafe { Spank::new(ptr::null_mut(), 0, ptr::null(), &mut cache) };
        let short = |limit| spank.env_get("SHORT", limit);
        assert_eq!((short(2), short(3)), (None, Some("abc".into())));
        assert_eq!(spank.env_beginning("SHORT", 8), Some("abc".into()));
        assert_eq!(spank.env_get("HUGE", 64), None);
        assert_eq!(spank.env_beginning("HUGE", 64), Some("x".repeat(64)));
        assert_eq!(spank.env_bytes("HUGE", 2), Some(b"xx".to_vec()));
        assert_eq!(spank.env_get("NONE", 64), None);
        assert_eq!(spank.env_beginning("NONE", 64), None);
        let has = ["SHORT", "HUGE", "NONE"].map(|name| spank.env_has(name));
        assert_eq!(has, [true, true, false]);
        assert_eq!(LARGEST.get(), 65);
    }
}
