//! Environments in Slurm's records: arrays of `NAME=value` that end in a null pointer.

use crate::error::Error;
use crate::layout::Field;
use crate::memory::{Record, allocate, c_text, free, joined};
use crate::symbols::Symbols;
use std::ffi::{CStr, c_char};
use std::ptr;

/// No environment has more entries: the kernel takes at most 2 GiB of them.
const MOST: usize = 1 << 24;

/// Entries before the null pointer, at most `limit`.
fn entries(
    record: Record,
    field: Field<*mut *mut c_char>,
    limit: usize,
) -> impl Iterator<Item = *mut c_char> {
    (0..limit).map_while(move |index| {
        record
            .item(field, index, limit)
            .filter(|entry| !entry.is_null())
    })
}

/// The value of a variable among the first `count` entries (all, where no count is kept).
pub(crate) fn get(
    record: Record,
    field: Field<*mut *mut c_char>,
    count: Option<u32>,
    name: &str,
) -> Option<String> {
    let limit = count
        .and_then(|count| usize::try_from(count).ok())
        .unwrap_or(MOST);
    entries(record, field, limit).find_map(|entry| {
        let value = value_of(entry, name)?;
        // SAFETY: what follows the name in an entry is the rest of a C string.
        let value = unsafe { CStr::from_ptr(value) };
        Some(value.to_string_lossy().into_owned())
    })
}

/// Where an entry's value begins, if the entry is this variable's.
fn value_of(entry: *const c_char, name: &str) -> Option<*const c_char> {
    // SAFETY: entries before the null pointer are C strings (src/common/env.c), and a string is
    // not read beyond its first difference from a name without NUL.
    let has = |at: usize, byte: u8| unsafe { *entry.wrapping_add(at) } as u8 == byte;
    let same = (0..).zip(name.bytes()).all(|(at, byte)| has(at, byte)) && has(name.len(), b'=');
    same.then(|| entry.wrapping_add(name.len() + 1))
}

/// Sets a variable through Slurm, which may move the array. Where the record keeps a count, it is
/// made anew, as slurmd does after it changed a request's environment (_rpc_launch_tasks).
pub(crate) fn set(
    record: Record,
    field: Field<*mut *mut c_char>,
    count: Option<Field<u32>>,
    (name, value): (&str, &str),
    symbols: &Symbols,
) -> Result<(), Error> {
    let overwrite = symbols
        .env_array_overwrite
        .ok_or(Error::MissingSymbol("env_array_overwrite"))?;
    if name.is_empty() || name.contains('=') {
        return Err(Error::NotAText(name.to_owned()));
    }
    let (c_name, c_value) = (c_text(name)?, c_text(value)?);
    let mut array = record.read(field);
    // SAFETY: Slurm's own array in Slurm's own function; both texts are copied.
    let done = unsafe { overwrite(&mut array, c_name.as_ptr(), c_value.as_ptr()) };
    record.write(field, array);
    if let Some(count) = count {
        let length = u32::try_from(entries(record, field, MOST).count()).unwrap_or(u32::MAX);
        record.write(count, length);
    }
    if done == 0 || ptr::eq(array, ptr::null()) {
        return Err(Error::Nonsense {
            record: "environment",
            expected: format!("room for {name}"),
            found: "Slurm refused the change".to_owned(),
        });
    }
    Ok(())
}

/// Sets several variables with one look at the environment and one move of the array; of two
/// entries of a name the first is replaced, as Slurm does it (_env_array_update, src/common/env.c).
/// On an error nothing is changed.
pub(crate) fn set_all(
    record: Record,
    field: Field<*mut *mut c_char>,
    count: Field<u32>,
    variables: &[(&str, &str)],
    symbols: &Symbols,
) -> Result<(), Error> {
    let wrong = |name: &str| name.is_empty() || name.contains('=');
    if let Some((name, _)) = variables.iter().find(|(name, _)| wrong(name)) {
        return Err(Error::NotAText((*name).to_owned()));
    }
    let mut array: Vec<_> = entries(record, field, MOST).collect();
    let (mut made, mut replaced) = (Vec::new(), Vec::new());
    let built = variables.iter().try_for_each(|(name, value)| {
        let entry = joined(&[name, "=", value], symbols)?;
        made.push(entry);
        let is_it = |old: &&mut *mut c_char| value_of(**old, name).is_some();
        match array.iter_mut().find(is_it) {
            Some(old) => replaced.push(std::mem::replace(old, entry)),
            None => array.push(entry),
        }
        Ok(())
    });
    match built.and_then(|()| move_to(&array, symbols)) {
        Ok(block) => {
            record.replace_block(field, block, symbols)?;
            record.write(count, u32::try_from(array.len()).unwrap_or(u32::MAX));
            replaced
                .into_iter()
                .try_for_each(|old| give_back(old, symbols))
        }
        Err(why) => {
            // Without xfree there is nothing to give them back with.
            let _ = made
                .into_iter()
                .try_for_each(|entry| give_back(entry, symbols));
            Err(why)
        }
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
