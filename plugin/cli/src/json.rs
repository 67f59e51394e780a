//! The frame of berth's JSON documents: a format, its version, and what it is about. The page
//! docs/users/json.md describes them; within a version fields are only added.

use std::io::Write;

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use crate::Failure;

struct Document<'a, T> {
    format: &'a str,
    field: &'a str,
    value: &'a T,
}

impl<T: Serialize> Serialize for Document<'_, T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(Some(3))?;
        map.serialize_entry("format", self.format)?;
        map.serialize_entry("version", &1)?;
        map.serialize_entry(self.field, self.value)?;
        map.end()
    }
}

/// Writes `value` as a document of some format, version 1.
///
/// # Errors
/// Those of `out`.
pub(crate) fn write(
    out: &mut impl Write,
    format: &str,
    field: &str,
    value: &impl Serialize,
) -> Result<(), Failure> {
    let document = Document {
        format,
        field,
        value,
    };
    serde_json::to_writer_pretty(&mut *out, &document)?;
    writeln!(out)?;
    Ok(())
}

/// Writes the fields of `value` as a document of some format, version 1.
///
/// # Errors
/// Those of `out`.
pub(crate) fn write_all(
    out: &mut impl Write,
    format: &str,
    value: &impl Serialize,
) -> Result<(), Failure> {
    #[derive(Serialize)]
    struct Fields<'a, T> {
        format: &'a str,
        version: u32,
        #[serde(flatten)]
        value: &'a T,
    }
    let version = 1;
    let fields = Fields {
        format,
        version,
        value,
    };
    serde_json::to_writer_pretty(&mut *out, &fields)?;
    writeln!(out)?;
    Ok(())
}
