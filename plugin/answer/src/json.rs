//! The frame of berth's JSON documents: a format, its version, and what it is about. The pages
//! docs/users/json.md and docs/administrators/json.md describe them; within a version fields are only added.

use std::collections::BTreeMap;
use std::io::Write;

use serde::Serialize;

use crate::Failure;

/// Writes `value` as the one field of a document of some format, version 1.
///
/// # Errors
/// Those of `out`.
pub fn write(
    out: &mut impl Write,
    format: &str,
    field: &str,
    value: &impl Serialize,
) -> Result<(), Failure> {
    write_all(out, format, &BTreeMap::from([(field, value)]))
}

/// Writes the fields of `value` as a document of some format, version 1.
///
/// # Errors
/// Those of `out`.
pub fn write_all(
    out: &mut impl Write,
    format: &str,
    value: &impl Serialize,
) -> Result<(), Failure> {
    serde_json::to_writer_pretty(&mut *out, &Framed::of(format, value))?;
    writeln!(out)?;
    out.flush()?;
    Ok(())
}

/// A document of some format, version 1.
#[derive(Serialize)]
pub(crate) struct Framed<'a, T> {
    format: &'a str,
    version: u32,
    #[serde(flatten)]
    value: &'a T,
}

impl<'a, T: Serialize> Framed<'a, T> {
    /// The document with the fields of `value`.
    pub(crate) fn of(format: &'a str, value: &'a T) -> Self {
        let version = 1;
        Self {
            format,
            version,
            value,
        }
    }
}
