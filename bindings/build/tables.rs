//! Writes the Rust text of the layout tables.
//! In: the variants of `layouts.json`. Out: struct definitions and `static LAYOUTS`.

use crate::fields::{self, RECORDS};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt::Write;

/// A stretch of micro releases with one table: a variant, or the part of one whose constants differ.
struct Stretch<'a> {
    variant: &'a Value,
    first: u64,
    last: u64,
    constants: Value,
}

/// The text of `tables.rs`, without the tables of the line `left_out`.
pub fn generate(variants: &[Value], left_out: &str) -> String {
    let mut out = String::new();
    for (c, _, name) in RECORDS {
        define_record(&mut out, c, name, variants);
    }
    let names = define_constants(&mut out, variants);
    define_layout(&mut out, variants);
    let known = variants
        .iter()
        .filter(|variant| variant["line"] != left_out);
    let stretches: Vec<_> = known.flat_map(split).collect();
    writeln!(out, "static LAYOUTS: [Layout; {}] = [", stretches.len()).unwrap();
    for stretch in &stretches {
        write_layout(&mut out, stretch, variants, &names);
    }
    out.push_str("];\n");
    out
}

fn define_record(out: &mut String, c: &str, name: &str, variants: &[Value]) {
    writeln!(out, "/// Where one release keeps the fields of `{c}`.").unwrap();
    writeln!(out, "#[derive(Clone, Copy, Debug)]\npub struct {name} {{").unwrap();
    writeln!(
        out,
        "    /// Bytes up to the end of the last field in this table.\n    pub extent: usize,"
    )
    .unwrap();
    for (field, kind) in fields::record(c, variants).fields {
        let rust = if kind.optional {
            format!("Option<Field<{}>>", kind.rust)
        } else {
            format!("Field<{}>", kind.rust)
        };
        let field = member(&field);
        writeln!(out, "    /// `{c}.{field}`\n    pub {field}: {rust},").unwrap();
    }
    out.push_str("}\n\n");
}

fn define_layout(out: &mut String, variants: &[Value]) {
    out.push_str(
        "/// One release line's records and constants, for a stretch of its micro releases.\n",
    );
    out.push_str("#[derive(Debug)]\npub struct Layout {\n");
    out.push_str("    /// The line this table is for.\n    pub line: Line,\n");
    out.push_str(
        "    /// The table is for micro releases from this one on.\n    pub first_micro: u8,\n",
    );
    out.push_str(
        "    /// The table was checked against micro releases up to this one.\n    pub last_verified_micro: u8,\n",
    );
    out.push_str("    /// Later micro releases that were checked by themselves.\n    pub also_checked: &'static [u8],\n");
    for (c, member, name) in RECORDS {
        let optional = fields::record(c, variants).optional;
        let rust = if optional {
            format!("Option<{name}>")
        } else {
            name.to_owned()
        };
        writeln!(out, "    /// `{c}`\n    pub {member}: {rust},").unwrap();
    }
    out.push_str("    /// Values of the constants.\n    pub constants: Constants,\n}\n\n");
}

/// Constants that at least one variant has; the others would only ever be `None`.
fn define_constants(out: &mut String, variants: &[Value]) -> Vec<(String, bool)> {
    let value = |v: &Value, name: &str| v["constants"][name].as_u64();
    let names: BTreeSet<&String> = variants
        .iter()
        .flat_map(|v| v["constants"].as_object().unwrap().keys())
        .collect();
    let names: Vec<(String, bool)> = names
        .into_iter()
        .filter(|name| variants.iter().any(|v| value(v, name).is_some()))
        .map(|name| {
            let missing = variants
                .iter()
                .flat_map(split)
                .any(|s| s.constants[name].is_null());
            (name.clone(), missing)
        })
        .collect();
    out.push_str(
        "/// Slurm's constants in one release, by Slurm's names; `None`: not defined there.\n",
    );
    out.push_str(
        "#[allow(non_snake_case, reason = \"they are Slurm's own names\")]\n#[derive(Clone, Copy, Debug)]\npub struct Constants {\n",
    );
    for (name, optional) in &names {
        let rust = if *optional { "Option<u32>" } else { "u32" };
        writeln!(out, "    /// `{name}`\n    pub {name}: {rust},").unwrap();
    }
    out.push_str("}\n\n");
    names
}

/// Cuts a variant where the values of its constants change.
fn split(variant: &Value) -> Vec<Stretch<'_>> {
    let (first, last) = (
        variant["first_micro"].as_u64().unwrap(),
        variant["last_verified_micro"].as_u64().unwrap(),
    );
    let mut stretches: Vec<Stretch> = Vec::new();
    for micro in first..=last {
        let mut constants = variant["constants"].clone();
        if let Some(earlier) = variant["constants_in_earlier_micros"][micro.to_string()].as_object()
        {
            for (name, value) in earlier {
                constants[name] = value.clone();
            }
        }
        match stretches.last_mut() {
            Some(open) if open.constants == constants => open.last = micro,
            _ => stretches.push(Stretch {
                variant,
                first: micro,
                last: micro,
                constants,
            }),
        }
    }
    stretches
}

fn write_layout(out: &mut String, stretch: &Stretch, variants: &[Value], names: &[(String, bool)]) {
    let Stretch {
        variant,
        first,
        last,
        constants,
    } = stretch;
    let line = variant["line"].as_str().unwrap().replace('.', "_");
    let is_end = variant["last_verified_micro"].as_u64() == Some(*last);
    let also: Vec<u64> = variant["also_checked"]["micro"]
        .as_u64()
        .into_iter()
        .filter(|_| is_end)
        .collect();
    writeln!(out, "    Layout {{ line: Line::V{line}, first_micro: {first}, last_verified_micro: {last}, also_checked: &{also:?},").unwrap();
    for (c, member, name) in RECORDS {
        let record = fields::record(c, variants);
        let text = record_value(&variant["structs"][c], name, &record);
        let text = match (record.optional, text) {
            (true, Some(text)) => format!("Some({text})"),
            (_, Some(text)) => text,
            (_, None) => "None".to_owned(),
        };
        writeln!(out, "        {member}: {text},").unwrap();
    }
    out.push_str("        constants: Constants {");
    for (name, optional) in names {
        match (constants[name].as_u64(), optional) {
            (Some(value), false) => write!(out, " {name}: {value},").unwrap(),
            (Some(value), true) => write!(out, " {name}: Some({value}),").unwrap(),
            (None, _) => write!(out, " {name}: None,").unwrap(),
        }
    }
    out.push_str(" },\n    },\n");
}

/// The literal of one record in one variant; `None` where the line has no such record.
fn record_value(json: &Value, name: &str, record: &fields::Record) -> Option<String> {
    let json = json.as_object()?;
    let mut extent = 0;
    let mut text = String::new();
    for (field, kind) in &record.fields {
        let value = json
            .get(field)
            .filter(|value| !value.is_null())
            .map(|value| {
                let (offset, size, _) = fields::placed(field, value);
                extent = extent.max(offset + size);
                format!("Field::at({offset})")
            });
        let field = member(field);
        match (value, kind.optional) {
            (Some(at), false) => write!(text, " {field}: {at},").unwrap(),
            (Some(at), true) => write!(text, " {field}: Some({at}),").unwrap(),
            (None, _) => write!(text, " {field}: None,").unwrap(),
        }
    }
    Some(format!("{name} {{ extent: {extent},{text} }}"))
}

/// A field's name where Rust has a keyword of that name.
fn member(field: &str) -> String {
    if field == "type" {
        format!("r#{field}")
    } else {
        field.to_owned()
    }
}
