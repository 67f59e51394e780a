//! Objects that are loaded into this process, and the identity of Slurm's plugins.
//! Slurm's loader (src/common/plugin.c) takes a plugin only if its `plugin_version` is the
//! release's, so a loaded one tells the micro number.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr;

/// A plugin's three identity symbols.
pub(crate) struct Identity {
    /// `plugin_name`
    pub name: String,
    /// `plugin_type`
    pub kind: String,
    /// `plugin_version`, `0xYYMMuu`
    pub version: u32,
}

/// File names of all loaded objects, as the dynamic linker has them.
pub(crate) fn object_names() -> Vec<CString> {
    let mut names: Vec<CString> = Vec::new();
    // SAFETY: `collect` gets the pointer that is passed here, and runs only during the call.
    unsafe { libc::dl_iterate_phdr(Some(collect), (&raw mut names).cast()) };
    names
}

unsafe extern "C" fn collect(
    info: *mut libc::dl_phdr_info,
    _size: usize,
    names: *mut c_void,
) -> c_int {
    // SAFETY: the linker passes a valid entry, and `object_names` its list.
    let (info, names) = unsafe { (&*info, &mut *names.cast::<Vec<CString>>()) };
    if !info.dlpi_name.is_null() {
        // SAFETY: the linker's names are C strings.
        names.push(unsafe { CStr::from_ptr(info.dlpi_name) }.to_owned());
    }
    0
}

/// The file of the object that contains an address.
pub(crate) fn file_of(address: *const c_void) -> Option<CString> {
    // SAFETY: Dl_info is plain pointers, for which zero is a value.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: dladdr fills the structure and does not follow the address.
    if unsafe { libc::dladdr(address, &mut info) } == 0 || info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: a C string of the linker's, as long as the object is loaded: it holds our address.
    Some(unsafe { CStr::from_ptr(info.dli_fname) }.to_owned())
}

/// The file that contains this code.
pub(crate) fn own_file() -> Option<CString> {
    file_of(own_file as fn() -> Option<CString> as *const c_void)
}

/// The identity of a plugin that is loaded already; opens nothing.
pub(crate) fn identity_of_loaded(file: &CStr) -> Option<Identity> {
    let object = Object::open(file, libc::RTLD_LAZY | libc::RTLD_NOLOAD)?;
    // dlsym also looks into the libraries an object needs: the symbol must be its own.
    let version = object.symbol(c"plugin_version")?;
    if file_of(version)?.as_c_str() != file {
        None
    } else {
        object.identity()
    }
}

/// The identity of a plugin file, opened for a moment; its `init` is not called.
pub(crate) fn identity_of_file(file: &CStr) -> Option<Identity> {
    Object::open(file, libc::RTLD_LAZY)?.identity()
}

/// An opened object, closed on drop.
struct Object(ptr::NonNull<c_void>);

impl Object {
    fn open(file: &CStr, flags: c_int) -> Option<Object> {
        // SAFETY: a C string; with RTLD_NOLOAD nothing is loaded, without it the file is one of
        // Slurm's own plugins, which have no constructors.
        ptr::NonNull::new(unsafe { libc::dlopen(file.as_ptr(), flags) }).map(Object)
    }

    fn symbol(&self, name: &CStr) -> Option<*const c_void> {
        // SAFETY: the handle is open.
        let at = unsafe { libc::dlsym(self.0.as_ptr(), name.as_ptr()) };
        (!at.is_null()).then_some(at.cast_const())
    }

    fn identity(&self) -> Option<Identity> {
        let text = |name: &CStr| {
            let at = self.symbol(name)?.cast::<c_char>();
            // SAFETY: Slurm's loader reads these two as arrays of characters that end in NUL.
            Some(unsafe { CStr::from_ptr(at) }.to_string_lossy().into_owned())
        };
        let version = self.symbol(c"plugin_version")?.cast::<u32>();
        // SAFETY: Slurm's loader reads it as an u32.
        let version = unsafe { ptr::read_unaligned(version) };
        Some(Identity {
            name: text(c"plugin_name")?,
            kind: text(c"plugin_type")?,
            version,
        })
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        // SAFETY: opened once in `open`, closed once here; what was read from it was copied.
        unsafe { libc::dlclose(self.0.as_ptr()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_loaded_object_has_its_name() {
        let names = object_names();
        let is_libc = |name: &CString| name.to_bytes().ends_with(b"/libc.so.6");
        assert!(names.iter().any(is_libc), "{names:?}");
    }
}
