//! Environments in Slurm's records: arrays of `NAME=value` that end in a null pointer.

use crate::error::Error;
use crate::layout::Field;
use crate::record::{Record, first, free, joined, unset, within};
use crate::symbols::Symbols;
use std::ffi::{CStr, c_char};
use std::ptr;

/// The most variables that a user may send. slurmd reads and changes an environment under locks for which every
/// launch of the node waits, and a client of the user's own can send millions of variables. Linux passes no program
/// so many of usual length, unless its stack may be larger than usual.
const MOST: usize = 1 << 16;
/// The most that are read in slurmstepd, where Slurm's variables, and those of other plugins, stand beside a user's.
const MOST_IN_STEP: usize = 2 * MOST;
/// The most in a task, which is the user's own process: the kernel takes at most 2 GiB of them.
const MOST_IN_TASK: usize = 1 << 24;

/// The answer to more variables than that.
const TOO_MANY: Error = Error::TooMany {
    what: "environment variables",
    limit: MOST,
};

/// An environment in a record: where it is kept, and its length if the record keeps that too. Its variables are the
/// user's text, so do not trust them.
#[derive(Clone, Copy)]
pub struct Environment<'a> {
    pub(super) record: Record,
    pub(super) field: Field<*mut *mut c_char>,
    pub(super) count: Option<Field<u32>>,
    pub(super) symbols: &'a Symbols,
}

/// Reads a variable of at most so many bytes.
pub type Get<'a> = dyn Fn(&str, usize) -> Option<String> + 'a;

/// A change of an environment.
#[derive(Clone, Copy, Debug)]
pub struct Change<'a> {
    /// Only entries that begin so are compared with the names of `remove`.
    pub prefix: &'a str,
    /// Names, without the prefix, of the variables to remove.
    pub remove: &'a [&'a str],
    /// Whole names of other variables to remove. They depend on those of `remove`, so an environment without such
    /// variables has none of the others.
    pub remove_others: fn(&Get<'_>) -> Vec<&'static str>,
    /// Names and values of the variables to add.
    pub set: &'a [(&'a str, &'a str)],
    /// Names of variables to add with this number of blanks as the value. [`Environment::fill`] overwrites them
    /// in a task, where nothing may be allocated. (They are blanks because Slurm copies entries only
    /// as far as they are written.)
    pub reserve: &'a [(&'a str, usize)],
}

impl Environment<'_> {
    /// Whether there are no more variables than a user may send; above that they are neither read nor changed. In
    /// slurmstepd Slurm's own stand beside those: there the reader's limit is twice the number.
    ///
    /// # Errors
    /// [`Error::TooMany`].
    pub fn is_within_bounds(&self) -> Result<(), Error> {
        if self.counted()?.is_none() && self.entries()?.count() > MOST {
            return Err(TOO_MANY);
        }
        Ok(())
    }

    /// The value of a variable; one of more than `limit` bytes counts as not set.
    pub fn get(&self, name: &str, limit: usize) -> Option<String> {
        let mut values = values(self.entries().ok()?, name);
        // SAFETY: what follows the name in an entry is the rest of a C string.
        values.find_map(|value| unsafe { within(value, limit) })
    }

    /// Whether there is a variable of this name, whatever its value.
    pub fn has(&self, name: &str) -> bool {
        let entries = self.entries();
        entries.is_ok_and(|entries| values(entries, name).next().is_some())
    }

    /// The first bytes of a variable's value, at most `most` of them.
    pub fn beginning(&self, name: &str, most: usize) -> Option<String> {
        let value = values(self.entries().ok()?, name).next()?;
        // SAFETY: what follows the name in an entry is the rest of a C string.
        Some(unsafe { first(value, most) })
    }

    /// Removes variables and adds others, with one look at the environment and one copy of the
    /// array. An added name replaces every entry of that name. On an error nothing is changed.
    ///
    /// # Errors
    /// [`Error::TooMany`], [`Error::NotAText`], and those of Slurm's allocator.
    pub fn change(&self, change: &Change<'_>) -> Result<(), Error> {
        let symbols = self.symbols;
        let wrong = |name: &&str| name.is_empty() || name.contains('=');
        if let Some(name) = change.coming().find(wrong) {
            return Err(Error::NotAText(name.to_owned()));
        }
        let found = Scan::of(self, change)?;
        if found.gone.is_empty() && change.coming().next().is_none() {
            return Ok(());
        }
        let mut made = Vec::with_capacity(change.set.len() + change.reserve.len());
        let done = make(&mut made, change, symbols)
            .and_then(|()| array(self, &found, &made, symbols))
            .and_then(|array| {
                let Self { record, field, .. } = self;
                record.replace_block(*field, array, symbols)
            });
        if let Err(why) = done {
            // Without xfree the entries cannot be given back.
            let _ = made
                .into_iter()
                .try_for_each(|entry| give_back(entry, symbols));
            return Err(why);
        }
        if let Some(count) = self.count {
            let entries = found.count - found.gone.len() + made.len();
            let entries = u32::try_from(entries).unwrap_or(u32::MAX);
            self.record.write(count, entries);
        }
        let gone = found.gone.into_iter();
        gone.map(|(_, entry)| entry)
            .try_for_each(|entry| give_back(entry, symbols))
    }

    /// In a task, between fork and exec: puts a value into room that [`Change::reserve`] made, without an allocation. A
    /// value that is longer than the room is not written. Returns whether it was done.
    pub fn fill(&self, name: &str, value: &str) -> bool {
        let Ok(entries) = self.entries() else {
            return false;
        };
        // SAFETY: Slurm's own entries; nobody else uses the environment of this process's task.
        unsafe { put(entries.take(MOST_IN_STEP), name, value) }
    }

    /// Entries before the null pointer, at most as many as are counted.
    fn entries(&self) -> Result<impl Iterator<Item = *mut c_char>, Error> {
        let array = self.record.read(self.field);
        let limit = match self.counted()? {
            _ if array.is_null() => 0,
            Some(count) => count,
            // One more, which shows that there are too many.
            None => MOST_IN_STEP + 1,
        };
        // SAFETY: `Record::new`'s caller promises the array, which Slurm's `xmalloc` aligned for pointers; all before
        // this one were entries, so it goes on at least to here. Only this file replaces it while a hook runs, and then
        // uses no entries that it got before.
        let entry = move |at| unsafe { *array.add(at) };
        Ok((0..limit).map(entry).take_while(|entry| !entry.is_null()))
    }

    /// The number that the record keeps, if it keeps one.
    fn counted(&self) -> Result<Option<usize>, Error> {
        let count = self.count.map(|count| self.record.read(count) as usize);
        match count {
            Some(count) if count > MOST => Err(TOO_MANY),
            _ => Ok(count),
        }
    }
}

/// The values of a variable, in the entries' order.
fn values(
    entries: impl Iterator<Item = *mut c_char>,
    name: &str,
) -> impl Iterator<Item = *const c_char> {
    let entries = entries.take(MOST_IN_STEP);
    entries.filter_map(move |entry| value_of(entry, name))
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

impl<'a> Change<'a> {
    /// The names of the variables to add.
    fn coming(&self) -> impl Iterator<Item = &'a str> + 'a {
        let set = self.set.iter().map(|(name, _)| *name);
        set.chain(self.reserve.iter().map(|(name, _)| *name))
    }

    /// The letters, by their numbers, with which entries begin that are removed or replaced: any where there is no prefix.
    fn first_letters(&self, others: &[&str]) -> [bool; 256] {
        let mut letters = [self.prefix.is_empty(); 256];
        let names = others.iter().copied().chain(self.coming());
        for name in names.chain([self.prefix]) {
            let letter = name.bytes().next();
            if let Some(place) = letter.and_then(|letter| letters.get_mut(usize::from(letter))) {
                *place = true;
            }
        }
        letters
    }

    /// Whether an entry is removed or replaced.
    #[inline(never)]
    fn ends(&self, entry: *const c_char, others: &[&str]) -> bool {
        let is = |rest, name: &str| value_of(rest, name).is_some();
        let removed = |rest| self.remove.iter().any(|name| is(rest, name));
        let mut others = others.iter().copied().chain(self.coming());
        behind(entry, self.prefix).is_some_and(removed) || others.any(|name| is(entry, name))
    }
}

/// The result of one look at an environment.
struct Scan {
    /// All entries.
    count: usize,
    /// Those of them that go, each with its place.
    gone: Vec<(usize, *mut c_char)>,
}

impl Scan {
    fn of(environment: &Environment<'_>, change: &Change<'_>) -> Result<Self, Error> {
        let found = Self::beside(environment, change, &[])?;
        if found.gone.is_empty() {
            return Ok(found);
        }
        let others = (change.remove_others)(&|name, limit| environment.get(name, limit));
        match others.is_empty() {
            true => Ok(found),
            false => Self::beside(environment, change, &others),
        }
    }

    /// One look, if other variables go as well.
    fn beside(
        environment: &Environment<'_>,
        change: &Change<'_>,
        others: &[&str],
    ) -> Result<Self, Error> {
        let (mut count, mut gone) = (0, Vec::new());
        let letters = change.first_letters(others);
        for (at, entry) in environment.entries()?.enumerate() {
            // SAFETY: entries before the null pointer are C strings (src/common/env.c).
            let letter = unsafe { *entry } as u8;
            // Most entries need one look, because they begin with another letter.
            if letters.get(usize::from(letter)) == Some(&true) && change.ends(entry, others) {
                gone.push((at, entry));
            }
            count = at + 1;
        }
        match count > MOST_IN_STEP {
            true => Err(TOO_MANY),
            false => Ok(Self { count, gone }),
        }
    }
}

/// Makes the variables that come. On an error those that were made stand in the list.
fn make(
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

/// The entries that stay, those that come, and the null pointer behind them, in a block of Slurm's
/// allocator.
fn array(
    environment: &Environment<'_>,
    found: &Scan,
    coming: &[*mut c_char],
    symbols: &Symbols,
) -> Result<*mut *mut c_char, Error> {
    let entries = found.count - found.gone.len() + coming.len();
    let block = unset((entries + 1) * size_of::<*mut c_char>(), symbols)?;
    let (array, mut end) = (block.cast(), block.cast::<*mut c_char>());
    let old = environment.record.read(environment.field);
    let mut next = 0;
    for stop in found.gone.iter().map(|(at, _)| *at).chain([found.count]) {
        // SAFETY: the old array has `found.count` entries; the new one has room for those that
        // stay, and is nobody else's.
        end = unsafe {
            ptr::copy_nonoverlapping(old.wrapping_add(next), end.as_ptr(), stop - next);
            end.add(stop - next)
        };
        next = stop + 1;
    }
    // SAFETY: the block has room for the entries that come, and for one pointer more.
    unsafe {
        ptr::copy_nonoverlapping(coming.as_ptr(), end.as_ptr(), coming.len());
        end.add(coming.len()).write(ptr::null_mut());
    }
    Ok(array.as_ptr())
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
    /// Takes over the array of a task; returns `None` for a null pointer.
    ///
    /// # Safety
    /// `entries` is null or Slurm's own array of writable C strings, which ends in a null pointer
    /// and which nobody else uses as long as this value lives. The array of a task is such a one, in that task.
    pub unsafe fn from_raw(entries: *const *mut c_char) -> Option<Self> {
        if entries.is_null() {
            None
        } else {
            Some(Self(entries))
        }
    }

    /// Overwrites the value of a variable, if the variable exists and its value is not shorter than
    /// the new one. Nothing is allocated. Returns whether it was done.
    pub fn fill(&mut self, name: &str, value: &str) -> bool {
        let entries = (0..MOST_IN_TASK).map_while(|index| {
            // SAFETY: all before this one were entries, so the array goes on at least to here.
            let entry = unsafe { *self.0.add(index) };
            (!entry.is_null()).then_some(entry)
        });
        // SAFETY: the promise of `from_raw`.
        unsafe { put(entries, name, value) }
    }
}

fn give_back(entry: *mut c_char, symbols: &Symbols) -> Result<(), Error> {
    let mut block = entry.cast();
    free(&raw mut block, symbols)
}
