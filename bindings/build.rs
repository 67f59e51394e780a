//! Turns `layouts.json` into Rust tables, so that the layouts stay data and the code has none.
//! In: `layouts.json`, or the file of the processor that is built for. Out: `$OUT_DIR/tables.rs`
//! (and `headers.rs` with the feature `headers`).
//! Stops the build when the file contradicts itself; never looks at the build machine's Slurm.

#[path = "build/fields.rs"]
mod fields;
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
    write_headers(&out);
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

/// Writes `headers.rs`: the build machine's public Slurm headers (`../wrapper.h`), which only tests read. Stops the build where libslurm-dev or libclang is missing.
#[cfg(feature = "headers")]
fn write_headers(out: &std::path::Path) {
    println!("cargo::rerun-if-changed=../wrapper.h");
    let bound = bindgen::Builder::default()
        .header("../wrapper.h")
        .allowlist_type("spank_.*|spank_t|slurm_conf_t|slurm_step_id_t|cpu_bind_type|mem_bind_type|task_dist_states")
        .allowlist_function("spank_.*|slurm_spank_.*")
        .allowlist_var("CPU_BIND_.*|CPU_AUTO_BIND_.*|MEM_BIND_.*|SLURM_DIST_.*|ESLURMD_.*|SLURM_VERSION_NUMBER")
        .allowlist_var("NO_VAL.*|INFINITE16|SLURM_BATCH_SCRIPT|SLURM_EXTERN_CONT|SLURM_INTERACTIVE_STEP")
        .allowlist_var("CORE_SPEC_THREAD|CR_CORE_DEFAULT_DIST_BLOCK|DEBUG_FLAG_CPU_BIND")
        .prepend_enum_name(false)
        .default_enum_style(bindgen::EnumVariation::Consts)
        .layout_tests(false)
        .generate()
        .expect("wrapper.h needs Slurm's public headers (Debian: libslurm-dev) and libclang");
    bound
        .write_to_file(out.join("headers.rs"))
        .expect("OUT_DIR is writable");
}
