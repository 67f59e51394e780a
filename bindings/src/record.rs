//! The leaves: reads and writes in Slurm's records, walks over its lists (src/common/list.c), and Slurm's allocator.
//! Everything unsafe about a record is here; views only name the field, and only here a list gets a callback.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ops::ControlFlow;
use std::ptr::{self, NonNull};

use crate::error::Error;
use crate::layout::{Field, Nested};
use crate::symbols::Symbols;

/// A record of Slurm, which lives while the hook runs that got it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record(NonNull<u8>);

impl Record {
    /// `None` for a null pointer.
    ///
    /// # Safety
    /// `base` is null, or a record that stays as long as this value is used; every field later
    /// given to this value belongs to that record in the running release. Its pointers are null
    /// or valid, its texts end in NUL.
    pub(crate) unsafe fn new(base: *mut c_void) -> Option<Record> {
        NonNull::new(base.cast::<u8>()).map(Record)
    }

    /// The record's address.
    pub(crate) fn base(self) -> *mut c_void {
        self.0.as_ptr().cast()
    }

    /// The address of a field.
    pub(crate) fn at<T>(self, field: Field<T>) -> *mut T {
        self.0.as_ptr().wrapping_add(field.offset()).cast()
    }

    /// A number or a pointer.
    pub(crate) fn read<T: Copy>(self, field: Field<T>) -> T {
        // SAFETY: `new`'s caller promises the record and the field; T is the field's type and
        // an integer or a pointer, for which every bit pattern is a value.
        unsafe { ptr::read_unaligned(self.at(field)) }
    }

    /// Changes a number or a pointer.
    pub(crate) fn write<T: Copy>(self, field: Field<T>, value: T) {
        // SAFETY: as for `read`; Slurm passes its records to hooks to be changed.
        unsafe { ptr::write_unaligned(self.at(field), value) }
    }

    /// The record that stands inside this one.
    pub(crate) fn nested(self, field: Field<Nested>) -> Record {
        // SAFETY: the field lies inside the record, so it is neither null nor wraps.
        Record(unsafe { NonNull::new_unchecked(self.at(field).cast::<u8>()) })
    }

    /// The text a field points to; bytes that are not UTF-8 are replaced.
    pub(crate) fn text(self, field: Field<*mut c_char>) -> Option<String> {
        let text = self.read(field);
        // SAFETY: `new`'s caller promises null or a C string.
        unsafe { owned(text) }
    }

    /// Whether the text a field points to is this one.
    pub(crate) fn is_text(self, field: Field<*mut c_char>, known: &str) -> bool {
        let text = self.read(field);
        // SAFETY: `new`'s caller promises null or a C string.
        !text.is_null() && unsafe { CStr::from_ptr(text) }.to_bytes() == known.as_bytes()
    }

    /// As [`Record::text`], for a text that a user may have written. If it is longer than `limit` bytes, it is
    /// not copied, and its end is not searched.
    pub(crate) fn text_within(
        self,
        field: Field<*mut c_char>,
        what: &'static str,
        limit: usize,
    ) -> Result<Option<String>, Error> {
        let text = self.read(field);
        if text.is_null() {
            return Ok(None);
        }
        // SAFETY: `new`'s caller promises a C string; it is read up to the limit or its end.
        match unsafe { within(text, limit) } {
            Some(text) => Ok(Some(text)),
            None => Err(Error::TooLong { what, limit }),
        }
    }

    /// The first bytes of a text, at most `most` of them.
    pub(crate) fn beginning(self, field: Field<*mut c_char>, most: usize) -> Option<String> {
        let text = self.read(field);
        // SAFETY: `new`'s caller promises null or a C string.
        (!text.is_null()).then(|| unsafe { first(text, most) })
    }

    /// Entry `index` of an array of `length` that a field points to.
    pub(crate) fn item<T: Copy>(
        self,
        field: Field<*mut T>,
        index: usize,
        length: usize,
    ) -> Option<T> {
        let array = self.read(field);
        if array.is_null() || index >= length {
            return None;
        }
        // SAFETY: `new`'s caller promises the array, the view its length.
        Some(unsafe { ptr::read_unaligned(array.wrapping_add(index)) })
    }

    /// Frees the text a field points to and puts a copy of `text` there.
    pub(crate) fn replace_text(
        self,
        field: Field<*mut c_char>,
        text: Option<&str>,
        symbols: &Symbols,
    ) -> Result<(), Error> {
        let copy = match text {
            Some(text) => duplicate(text, symbols)?,
            None => ptr::null_mut(),
        };
        free(self.at(field).cast(), symbols).inspect_err(|_| {
            let mut unused = copy.cast();
            // Without xfree the block cannot be given back.
            let _ = free(&raw mut unused, symbols);
        })?;
        self.write(field, copy);
        Ok(())
    }

    /// Frees the block a field points to and puts `block` there.
    pub(crate) fn replace_block<T>(
        self,
        field: Field<*mut T>,
        block: *mut T,
        symbols: &Symbols,
    ) -> Result<(), Error> {
        free(self.at(field).cast(), symbols).inspect_err(|_| {
            let mut unused = block.cast();
            // Without xfree the block cannot be given back.
            let _ = free(&raw mut unused, symbols);
        })?;
        self.write(field, block);
        Ok(())
    }
}

/// `length` entries from `array`, none where it is null.
///
/// # Safety
/// `array` is null or holds `length` entries.
pub(crate) unsafe fn items<T: Copy>(array: *const T, length: usize) -> Option<Vec<T>> {
    if array.is_null() {
        return None;
    }
    // SAFETY: the caller promises the entries.
    Some(
        (0..length)
            .map(|index| unsafe { ptr::read_unaligned(array.wrapping_add(index)) })
            .collect(),
    )
}

/// An owned copy of a C string.
///
/// # Safety
/// `text` is null or a C string.
pub(crate) unsafe fn owned(text: *const c_char) -> Option<String> {
    if text.is_null() {
        return None;
    }
    // SAFETY: the caller promises a C string.
    let bytes = unsafe { CStr::from_ptr(text) }.to_bytes();
    // Long lists are plain text, and this test is faster than the search for bytes to replace.
    Some(match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => String::from_utf8_lossy(bytes).into_owned(),
    })
}

/// An owned copy of a C string of at most `limit` bytes; nothing for a longer one.
///
/// # Safety
/// `text` is a C string.
pub(crate) unsafe fn within(text: *const c_char, limit: usize) -> Option<String> {
    // SAFETY: the caller promises a C string; strnlen stops at its end.
    let length = unsafe { libc::strnlen(text, limit.saturating_add(1)) };
    if length > limit {
        return None;
    }
    // SAFETY: this number of bytes was just read there.
    let bytes = unsafe { std::slice::from_raw_parts(text.cast::<u8>(), length) };
    Some(match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => String::from_utf8_lossy(bytes).into_owned(),
    })
}

/// An owned copy of the first bytes of a C string, at most `most` of them.
///
/// # Safety
/// `text` is a C string.
pub(crate) unsafe fn first(text: *const c_char, most: usize) -> String {
    // SAFETY: the caller promises a C string; strnlen stops at its end.
    let length = unsafe { libc::strnlen(text, most) };
    // SAFETY: this number of bytes was just read there.
    let bytes = unsafe { std::slice::from_raw_parts(text.cast::<u8>(), length) };
    String::from_utf8_lossy(bytes).into_owned()
}

/// `text` as C has it.
pub(crate) fn c_text(text: &str) -> Result<CString, Error> {
    CString::new(text).map_err(|_| Error::NotAText(text.to_owned()))
}

/// `text` in a block of Slurm's allocator. Slurm frees the texts that it gets, so it must get only
/// such blocks.
fn duplicate(text: &str, symbols: &Symbols) -> Result<*mut c_char, Error> {
    joined(&[text], symbols)
}

/// Texts in a row, as [`duplicate`] makes one: copied once, for a list of masks can be long.
pub(crate) fn joined(parts: &[&str], symbols: &Symbols) -> Result<*mut c_char, Error> {
    if let Some(part) = parts.iter().find(|part| has_nul(part)) {
        return Err(Error::NotAText((*part).to_owned()));
    }
    let length: usize = parts.iter().map(|part| part.len()).sum();
    let block = unset(length + 1, symbols)?.cast::<u8>();
    let mut end = block;
    for part in parts {
        // SAFETY: the block has room for all parts and the NUL, and is nobody else's.
        end = unsafe {
            ptr::copy_nonoverlapping(part.as_ptr(), end.as_ptr(), part.len());
            end.add(part.len())
        };
    }
    // SAFETY: the block's last byte.
    unsafe { end.write(0) };
    Ok(block.cast().as_ptr())
}

fn has_nul(text: &str) -> bool {
    // SAFETY: it reads the text's own bytes, several at a time.
    !unsafe { libc::memchr(text.as_ptr().cast(), 0, text.len()) }.is_null()
}

/// A text of `length` bytes in its final block: `write` makes it of so many zeros (the character).
pub(crate) fn written(
    length: usize,
    symbols: &Symbols,
    write: impl FnOnce(&mut [u8]),
) -> Result<*mut c_char, Error> {
    let start = unset(length + 1, symbols)?.cast::<u8>();
    // SAFETY: the block is ours alone and has `length` bytes and one more; all of them are written
    // before the slice is made, which ends before the block does.
    unsafe {
        start.write_bytes(b'0', length);
        start.add(length).write(0);
        write(std::slice::from_raw_parts_mut(start.as_ptr(), length));
    }
    Ok(start.cast().as_ptr())
}

/// A zeroed block of Slurm's allocator.
pub(crate) fn allocate(bytes: usize, symbols: &Symbols) -> Result<NonNull<c_void>, Error> {
    block(bytes, true, symbols)
}

/// A block of Slurm's allocator whose bytes nobody has set yet.
pub(crate) fn unset(bytes: usize, symbols: &Symbols) -> Result<NonNull<c_void>, Error> {
    block(bytes, false, symbols)
}

fn block(bytes: usize, clear: bool, symbols: &Symbols) -> Result<NonNull<c_void>, Error> {
    let calloc = symbols
        .slurm_xcalloc
        .ok_or(Error::MissingSymbol("slurm_xcalloc"))?;
    // SAFETY: count, size, clear, and "try": null instead of an abort when memory is short. The
    // last three only name the caller in Slurm's messages.
    let block = unsafe {
        calloc(
            1,
            bytes,
            clear,
            true,
            c"berth".as_ptr(),
            0,
            c"allocate".as_ptr(),
        )
    };
    NonNull::new(block).ok_or(Error::OutOfMemory(bytes))
}

/// Frees the block in `slot` and makes the slot null; nothing for null.
pub(crate) fn free(slot: *mut *mut c_void, symbols: &Symbols) -> Result<(), Error> {
    // SAFETY: `slot` is a field of a live record or a local variable of our caller's.
    if unsafe { ptr::read_unaligned(slot) }.is_null() {
        return Ok(());
    }
    let free = symbols
        .slurm_xfree
        .ok_or(Error::MissingSymbol("slurm_xfree"))?;
    // SAFETY: Slurm's records own what they point to, in blocks of this allocator.
    unsafe { free(slot) };
    Ok(())
}

/// Makes a text that Slurm takes over, for `*err_msg` of the launch hook.
///
/// # Errors
/// [`Error::MissingSymbol`] or [`Error::OutOfMemory`], of Slurm's allocator; nothing is handed over
/// then.
///
/// # Safety
/// `slot` is null or the place where Slurm expects a text of its allocator; a text that is already
/// there is kept.
pub unsafe fn set_err_msg(
    slot: *mut *mut c_char,
    text: &str,
    symbols: &Symbols,
) -> Result<(), Error> {
    // SAFETY: the caller promises the slot.
    if slot.is_null() || !unsafe { *slot }.is_null() {
        return Ok(());
    }
    let copy = duplicate(&text.replace('\0', "\\0"), symbols)?;
    // SAFETY: as above.
    unsafe { *slot = copy };
    Ok(())
}

/// Shows each item to `visit`, until that breaks. A null list has none.
///
/// # Errors
/// [`Error::MissingSymbol`] where this process cannot walk Slurm's lists.
///
/// # Safety
/// `list` is null or a list of Slurm's that stays during the call.
pub(crate) unsafe fn for_each<F>(
    list: *mut c_void,
    symbols: &Symbols,
    mut visit: F,
) -> Result<(), Error>
where
    F: FnMut(*mut c_void) -> ControlFlow<()>,
{
    if list.is_null() {
        return Ok(());
    }
    let walk = symbols
        .slurm_list_for_each
        .ok_or(Error::MissingSymbol("slurm_list_for_each"))?;
    // SAFETY: the caller's list; `one` gets the pointer to `visit`, during the call only.
    unsafe { walk(list, one::<F>, (&raw mut visit).cast()) };
    Ok(())
}

/// Negative ends the walk.
unsafe extern "C" fn one<F>(item: *mut c_void, visit: *mut c_void) -> c_int
where
    F: FnMut(*mut c_void) -> ControlFlow<()>,
{
    // SAFETY: `for_each` passes its own closure, and no other reference to it is used meanwhile.
    let visit = unsafe { &mut *visit.cast::<F>() };
    match visit(item) {
        ControlFlow::Continue(()) => 0,
        ControlFlow::Break(()) => -1,
    }
}
