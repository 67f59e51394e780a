//! Puts the names into the program's dynamic symbol table that Slurm's plugins look for there,
//! as they are in slurmd's. What is not exported would be taken from Slurm's library, or missing.

const EXPORTED: [&str; 11] = [
    "conf",
    "cpu_freq_cpuset_validate",
    "slurm_cred_get_args",
    "slurm_cred_unlock_args",
    "task_str_to_cpuset",
    "task_cpuset_to_str",
    "task_slurm_chkaffinity",
    "numa_available",
    "numa_max_node",
    "numa_allocate_cpumask",
    "numa_node_to_cpus",
];

/// The program has these in the place of the C library's.
const ALLOCATOR: [&str; 8] = [
    "malloc",
    "calloc",
    "realloc",
    "reallocarray",
    "memalign",
    "aligned_alloc",
    "posix_memalign",
    "free",
];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    for name in EXPORTED {
        println!("cargo::rustc-link-arg-bins=-Wl,--export-dynamic-symbol={name}");
        println!("cargo::rustc-link-arg-benches=-Wl,--export-dynamic-symbol={name}");
    }
    // AddressSanitizer brings an allocator of its own.
    println!("cargo::rustc-check-cfg=cfg(address_sanitizer)");
    let sanitizer = std::env::var("CARGO_CFG_SANITIZE").unwrap_or_default();
    if sanitizer.split(',').any(|name| name == "address") {
        println!("cargo::rustc-cfg=address_sanitizer");
        return;
    }
    for name in ALLOCATOR {
        println!("cargo::rustc-link-arg-bins=-Wl,--export-dynamic-symbol={name}");
    }
}
