//! Facts about requests to real clusters: each file beside this one has a cluster's settings, requests, and what is seen
//! of them. `tests/src/facts/mod.rs` says how the lines begin; a new file needs its name here.

use std::path::Path;

use berth_tests::facts::hold;

/// The folder of the files.
fn folder() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/requests"))
}

/// One test for each file.
macro_rules! files {
    ($($name:ident)*) => {
        $(
            #[test]
            fn $name() {
                let _skipped = hold(&folder().join(concat!(stringify!($name), ".txt")));
            }
        )*

        #[test]
        fn every_file_is_a_test() {
            let mut names = vec![$(concat!(stringify!($name), ".txt")),*];
            let files = std::fs::read_dir(folder()).expect("the folder").flatten();
            let found = files.map(|file| file.file_name().to_string_lossy().into_owned());
            let mut found: Vec<_> = found.filter(|name| name.ends_with(".txt")).collect();
            found.sort();
            names.sort_unstable();
            assert_eq!(found, names);
        }
    };
}

files! {
    bad_input
    binding
    binding_auto
    binding_beside
    binding_client
    binding_files
    binding_jobs
    binding_mpirun
    binding_openmp
    binding_parent
    binding_shared
    binding_submit
    binding_told
    chain
    compat
    confine_nowhere
    core_kind
    cores_constrained
    cpuset
    cpuset_fail
    cpuset_jobs
    cpuset_joined
    cpuset_memory
    cpuset_partition
    cpuset_radius
    cpuset_site
    cpuset_steps
    cpuset_unbound
    cpusets_cgroup
    cpusets_file
    cpusets_status
    devices
    discovery
    doctor
    env
    env_csh
    env_jobs
    fail_safe
    frozen
    health
    health_users
    interactive
    late
    layout
    mapping
    memory
    memory_calls
    memory_nodes
    memory_none
    memory_verbose
    near
    near_gres
    near_variables
    nested
    plan_here
    plan_live
    plan_rules
    pools
    pools_file
    pools_full
    pools_kept
    pools_wait
    quarantine
    rank
    refused_lists
    report
    report_threads
    reserved
    rollback
    safety
    shadow
    slurmd_lock
    socket_kind
    threads
    tune
}
