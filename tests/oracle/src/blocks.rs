//! Blocks of Slurm's allocator, which the hooks may free and replace: texts, and arrays of texts
//! that end in a null pointer.

use std::ffi::{CStr, c_char, c_void};
use std::ptr;

use crate::slurmd::Slurm;

impl Slurm {
    /// A cleared block.
    ///
    /// # Panics
    /// Where Slurm's library has no `slurm_xcalloc`.
    #[must_use]
    pub fn block(self, bytes: usize) -> *mut c_void {
        let calloc = self.symbols.slurm_xcalloc.expect("slurm_xcalloc");
        let file = c"oracle".as_ptr();
        // SAFETY: Slurm's allocator; the texts name the caller in its messages.
        unsafe { calloc(1, bytes, true, false, file, 0, file) }
    }

    /// A text; what follows its first NUL is not seen by anybody.
    #[must_use]
    pub fn text(self, text: &[u8]) -> *mut c_char {
        let block: *mut u8 = self.block(text.len() + 1).cast();
        // SAFETY: the block is cleared and one byte longer than the text.
        unsafe { ptr::copy_nonoverlapping(text.as_ptr(), block, text.len()) };
        block.cast()
    }

    /// An array of texts.
    #[must_use]
    pub fn array<'a>(self, texts: impl ExactSizeIterator<Item = &'a [u8]>) -> *mut *mut c_char {
        let block = self.block((texts.len() + 1) * size_of::<*mut c_char>());
        let array: *mut *mut c_char = block.cast();
        for (at, text) in texts.enumerate() {
            // SAFETY: the block has room for a pointer to each text and the null behind them.
            unsafe { array.add(at).write(self.text(text)) };
        }
        array
    }

    /// Gives a block back; nothing for null.
    pub fn free(self, mut block: *mut c_void) {
        if let Some(free) = self.symbols.slurm_xfree.filter(|_| !block.is_null()) {
            // SAFETY: a block of Slurm's allocator, made by a hook or by this file.
            unsafe { free(&mut block) };
        }
    }

    /// Gives an array of texts back, with the texts.
    pub fn free_array(self, array: *mut *mut c_char) {
        for entry in entries(array) {
            self.free(entry.cast());
        }
        self.free(array.cast());
    }
}

/// The entries of an array of texts; none for null.
pub(crate) fn entries(array: *mut *mut c_char) -> impl Iterator<Item = *mut c_char> {
    (0..).map_while(move |at| {
        if array.is_null() {
            return None;
        }
        // SAFETY: the array ends in a null pointer, at which this stops.
        let entry = unsafe { *array.add(at) };
        (!entry.is_null()).then_some(entry)
    })
}

/// The bytes of a C string; none for null.
#[must_use]
pub(crate) fn bytes<'a>(text: *mut c_char) -> Option<&'a [u8]> {
    if text.is_null() {
        return None;
    }
    // SAFETY: a C string of a record, which stays as long as the record.
    Some(unsafe { CStr::from_ptr(text) }.to_bytes())
}
