//! Environments in Slurm's records: arrays of `NAME=value` that end in a null pointer.

use crate::error::Error;
use crate::layout::Field;
use crate::memory::{Record, c_text};
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
        // SAFETY: entries before the null pointer are C strings (src/common/env.c).
        let value = unsafe { CStr::from_ptr(entry) }
            .to_bytes()
            .strip_prefix(name.as_bytes())?
            .strip_prefix(b"=")?;
        Some(String::from_utf8_lossy(value).into_owned())
    })
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
