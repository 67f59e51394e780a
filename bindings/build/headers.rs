//! Binds the build machine's public Slurm headers, which only tests read.
//! In: `../wrapper.h`. Out: `$OUT_DIR/headers.rs`.

use std::path::Path;

/// Writes `headers.rs`; stops the build where libslurm-dev or libclang is missing.
pub fn generate(out: &Path) {
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
