//! Environments in Slurm's records: arrays of `NAME=value` that end in a null pointer.

use crate::error::Error;
use crate::layout::Field;
use crate::record::{Record, allocate, first, free, joined, within};
use crate::symbols::Symbols;
use std::ffi::{CStr, c_char};
use std::ptr;

/// No environment has more entries: the kernel takes at most 2 GiB of them.
const MOST: usize = 1 << 24;
/// Room for more is made only when they are seen.
const USUAL: usize = 1 << 10;

/// Where a record keeps an environment, and its length if it keeps that too.
#[derive(Clone, Copy)]
pub(crate) struct Environment {
    pub(crate) record: Record,
    pub(crate) field: Field<*mut *mut c_char>,
    pub(crate) count: Option<Field<u32>>,
}

/// A change of an environment.
#[derive(Clone, Copy, Debug)]
pub struct Change<'a> {
    /// Only entries that begin so are compared with the names of `remove`.
    pub prefix: &'a str,
    /// Names, without the prefix, of the variables to remove.
    pub remove: &'a [&'a str],
    /// Names and values of the variables to add.
    pub set: &'a [(&'a str, &'a str)],
    /// Names of variables to add with this number of blanks as the value. [`fill`] overwrites them
    /// in a task, where nothing may be allocated. (They are blanks because Slurm copies entries only
    /// as far as they are written.)
    pub reserve: &'a [(&'a str, usize)],
}

impl Environment {
    /// The number of entries as far as it is told: room to begin with.
    fn room(self) -> usize {
        let counted = self.count.map(|count| self.record.read(count));
        counted.map_or(0, |count| (count as usize).min(USUAL))
    }

    /// Entries before the null pointer, at most as many as are counted.
    fn entries(self) -> impl Iterator<Item = *mut c_char> {
        let counted = self.count.map(|count| self.record.read(count));
        let limit = counted
            .and_then(|count| usize::try_from(count).ok())
            .unwrap_or(MOST);
        let array = self.record.read(self.field);
        let limit = if array.is_null() { 0 } else { limit };
        (0..limit).map_while(move |index| {
            // SAFETY: `Record::new`'s caller promises the array; all before this one were entries,
            // so it goes on at least to here.
            let entry = unsafe { array.add(index).read_unaligned() };
            (!entry.is_null()).then_some(entry)
        })
    }
}

/// The value of a variable; one of more than `limit` bytes counts as not set.
pub(crate) fn get(environment: Environment, name: &str, limit: usize) -> Option<String> {
    environment.entries().find_map(|entry| {
        let value = value_of(entry, name)?;
        // SAFETY: what follows the name in an entry is the rest of a C string.
        unsafe { within(value, limit) }
    })
}

/// Whether there is a variable of this name, whatever its value.
pub(crate) fn has(environment: Environment, name: &str) -> bool {
    environment
        .entries()
        .any(|entry| value_of(entry, name).is_some())
}

/// The first bytes of a variable's value, at most `most` of them.
pub(crate) fn beginning(environment: Environment, name: &str, most: usize) -> Option<String> {
    let mut entries = environment.entries();
    let value = entries.find_map(|entry| value_of(entry, name))?;
    // SAFETY: what follows the name in an entry is the rest of a C string.
    Some(unsafe { first(value, most) })
}

/// Where an entry's value begins, if the entry is this variable's.
fn value_of(entry: *const c_char, name: &str) -> Option<*const c_char> {
    behind(behind(entry, name)?, "=")
}

/// The rest of a C string after a text that it begins with.
fn behind(entry: *const c_char, text: &str) -> Option<*const c_char> {
    // SAFETY: entries before the null pointer are C strings (src/common/env.c), and a string is
    // not read beyond its first difference from a text without NUL.
    let has = |at: usize, byte: u8| unsafe { *entry.wrapping_add(at) } as u8 == byte;
    let same = (0..).zip(text.bytes()).all(|(at, byte)| has(at, byte));
    same.then(|| entry.wrapping_add(text.len()))
}

/// Removes variables and adds others, with one look at the environment and one move of the
/// array. An added name replaces every entry of that name. On an error nothing is changed.
pub(crate) fn change(
    environment: Environment,
    change: &Change<'_>,
    symbols: &Symbols,
) -> Result<(), Error> {
    let wrong = |name: &&str| name.is_empty() || name.contains('=');
    let coming = || {
        let set = change.set.iter().map(|(name, _)| *name);
        set.chain(change.reserve.iter().map(|(name, _)| *name))
    };
    if let Some(name) = coming().find(wrong) {
        return Err(Error::NotAText(name.to_owned()));
    }
    let (mut kept, gone) = divide(environment, change, coming);
    if gone.is_empty() && coming().next().is_none() {
        return Ok(());
    }
    let before = kept.len();
    let made = append(&mut kept, change, symbols);
    match made.and_then(|()| move_to(&kept, symbols)) {
        Ok(block) => {
            let Environment {
                record,
                field,
                count,
            } = environment;
            record.replace_block(field, block, symbols)?;
            if let Some(count) = count {
                record.write(count, u32::try_from(kept.len()).unwrap_or(u32::MAX));
            }
            gone.into_iter().try_for_each(|old| give_back(old, symbols))
        }
        Err(why) => {
            let unused = kept.into_iter().skip(before);
            // Without xfree the entries cannot be given back.
            let _ = unused
                .map(|entry| give_back(entry, symbols))
                .find(Result::is_err);
            Err(why)
        }
    }
}

/// The entries that stay, with room for those that come, and the entries that go.
fn divide<'a, Names: Iterator<Item = &'a str>>(
    environment: Environment,
    change: &Change<'_>,
    coming: impl Fn() -> Names,
) -> (Vec<*mut c_char>, Vec<*mut c_char>) {
    // Then most entries need one look, because they begin with another letter.
    let prefixed = coming().all(|name| name.starts_with(change.prefix));
    let goes = |entry| {
        let is = |rest, name: &str| value_of(rest, name).is_some();
        let rest = behind(entry, change.prefix);
        if prefixed && rest.is_none() {
            return false;
        }
        let removed = |rest| change.remove.iter().any(|name| is(rest, name));
        rest.is_some_and(removed) || coming().any(|name| is(entry, name))
    };
    let mut kept = Vec::with_capacity(environment.room() + coming().count());
    let mut gone = Vec::new();
    for entry in environment.entries() {
        if goes(entry) {
            gone.push(entry);
        } else {
            kept.push(entry);
        }
    }
    (kept, gone)
}

/// Makes the variables that come. On an error those that were made stand in the list.
fn append(
    entries: &mut Vec<*mut c_char>,
    change: &Change<'_>,
    symbols: &Symbols,
) -> Result<(), Error> {
    for (name, value) in change.set {
        entries.push(joined(&[name, "=", value], symbols)?);
    }
    for (name, room) in change.reserve {
        entries.push(joined(&[name, "=", &" ".repeat(*room)], symbols)?);
    }
    Ok(())
}

/// Puts a value into room that [`Change::reserve`] made, without an allocation. A value that is
/// longer than the room is not written.
pub(crate) fn fill(environment: Environment, name: &str, value: &str) -> bool {
    // SAFETY: Slurm's own entries; nobody else uses the environment of this process's task.
    unsafe { put(environment.entries(), name, value) }
}

/// # Safety
/// The entries are C strings that may be written, and nobody else uses them meanwhile.
unsafe fn put(mut entries: impl Iterator<Item = *mut c_char>, name: &str, value: &str) -> bool {
    let Some(at) = entries.find_map(|entry| value_of(entry, name)) else {
        return false;
    };
    // SAFETY: what follows the name in an entry is the rest of a C string.
    let room = unsafe { CStr::from_ptr(at) }.count_bytes();
    if value.len() > room || value.contains('\0') {
        return false;
    }
    // SAFETY: the entry has this number of bytes after its name, and a NUL after those.
    unsafe {
        let at = at.cast_mut().cast::<u8>();
        ptr::copy_nonoverlapping(value.as_ptr(), at, value.len());
        at.add(value.len()).write(0);
    }
    true
}

/// A task's environment as SPANK shows it (`S_JOB_ENV`), for code that reads no record.
pub struct TaskEnvironment(*const *mut c_char);

impl TaskEnvironment {
    /// `None` for a null pointer.
    ///
    /// # Safety
    /// `entries` is null or Slurm's own array of writable C strings, which ends in a null pointer
    /// and which nobody else uses as long as this value lives: that of a task, in the task.
    pub unsafe fn from_raw(entries: *const *mut c_char) -> Option<Self> {
        (!entries.is_null()).then_some(Self(entries))
    }

    /// Overwrites the value of a variable, if the variable exists and its value is not shorter than
    /// the new one. Nothing is allocated. Returns whether it was done.
    pub fn fill(&mut self, name: &str, value: &str) -> bool {
        let entries = (0..MOST).map_while(|index| {
            // SAFETY: all before this one were entries, so the array goes on at least to here.
            let entry = unsafe { *self.0.add(index) };
            (!entry.is_null()).then_some(entry)
        });
        // SAFETY: the promise of `from_raw`.
        unsafe { put(entries, name, value) }
    }
}

/// The entries and the null pointer behind them in a block of Slurm's allocator.
fn move_to(entries: &[*mut c_char], symbols: &Symbols) -> Result<*mut *mut c_char, Error> {
    let block = allocate(size_of_val(entries) + size_of::<*mut c_char>(), symbols)?;
    let array = block.cast::<*mut c_char>().as_ptr();
    // SAFETY: the block is ours, zeroed, and has room for one entry more.
    unsafe { ptr::copy_nonoverlapping(entries.as_ptr(), array, entries.len()) };
    Ok(array)
}

fn give_back(entry: *mut c_char, symbols: &Symbols) -> Result<(), Error> {
    let mut block = entry.cast();
    free(&raw mut block, symbols)
}
