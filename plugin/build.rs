//! Link options of the shared object, and a check that the build is set up as it must be.

fn main() {
    println!("cargo::rerun-if-env-changed=SKIP_SLURM_BINDINGS");
    if std::env::var_os("SKIP_SLURM_BINDINGS").is_none() {
        panic!(
            "SKIP_SLURM_BINDINGS is not set, so slurm-spank would bind the headers of this \
             machine; run cargo from the folder with .cargo/config.toml, or set it to 1"
        );
    }
    // Unit tests run outside Slurm: its functions are left open, and never called there.
    // A shared object may leave them open anyway; the packages' linker does not know the word.
    println!("cargo::rerun-if-env-changed=BERTH_OBJECT_ONLY");
    if std::env::var_os("BERTH_OBJECT_ONLY").is_none() {
        println!("cargo::rustc-link-arg=-Wl,--unresolved-symbols=ignore-all");
    }
    // Slurm relies on lazy binding: srun lacks functions that slurmd has.
    println!("cargo::rustc-link-arg=-Wl,-z,lazy");
    // Slurm opens, closes and opens a plugin again; destructors of thread-local
    // values must not point into what was unmapped meanwhile.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
