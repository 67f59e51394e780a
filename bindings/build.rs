//! Turns `layouts.json` into Rust tables, so that the layouts stay data and the code has none.
//! In: `layouts.json`, or the file of the processor that is built for. Out: `$OUT_DIR/tables.rs`
//! (and `headers.rs` with the feature `headers`).
//! Stops the build when the file contradicts itself; never looks at the build machine's Slurm.

#[path = "build/fields.rs"]
mod fields;
#[cfg(feature = "headers")]
#[path = "build/headers.rs"]
mod headers;
#[path = "build/tables.rs"]
mod tables;

use std::path::PathBuf;
use std::{env, fs};

fn main() {
    let table = table();
    println!("cargo::rerun-if-changed={table}");
    println!("cargo::rerun-if-changed=build");
    let source = fs::read_to_string(table).expect("the table of layouts is readable");
    let json: serde_json::Value =
        serde_json::from_str(&source).expect("the table of layouts is valid JSON");
    let variants = fields::variants(&json);
    println!("cargo::rerun-if-env-changed={LEFT_OUT}");
    let left_out = env::var(LEFT_OUT).unwrap_or_default();
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    fs::write(
        out.join("tables.rs"),
        tables::generate(&variants, &left_out),
    )
    .expect("OUT_DIR is writable");
    #[cfg(feature = "headers")]
    headers::generate(&out);
}

/// The file for the processor that is built for: locks have another size on each.
fn table() -> &'static str {
    let processor = env::var("CARGO_CFG_TARGET_ARCH").expect("cargo sets CARGO_CFG_TARGET_ARCH");
    match processor.as_str() {
        "x86_64" => "layouts.json",
        "aarch64" => "layouts.aarch64.json",
        _ => panic!("no table of layouts is known for {processor}; see bindings/README.md"),
    }
}

/// For a test alone: an object that does not know the line of a Slurm that is there.
const LEFT_OUT: &str = "BERTH_LEAVE_OUT_LINE";
