//! `--mem-bind` on real clusters where the kernel has no memory policies or refuses them.

use berth_tests::{Cluster, Preload, memory_policies};

/// A cluster in which the kernel answers memory policy calls as `mode` says: `none`
/// has none, `refuse` takes no node. Each call that sets one is noted in the file.
fn with_other_kernel(mode: &str, plugstack: &str) -> (Preload, Cluster) {
    let source = "#define _GNU_SOURCE\n#include <dlfcn.h>\n#include <errno.h>\n#include <fcntl.h>\n\
        #include <stdarg.h>\n#include <stdlib.h>\n#include <string.h>\n#include <sys/syscall.h>\n\
        #include <unistd.h>\n\
        long syscall(long number, ...) { va_list list; va_start(list, number); long a[6];\n\
        for (int i = 0; i < 6; i++) a[i] = va_arg(list, long); va_end(list);\n\
        const char *mode = getenv(\"KERNEL\"), *file = getenv(\"KERNEL_CALLS\");\n\
        int sets = number == SYS_set_mempolicy;\n\
        if (sets && file) { int fd = open(file, O_WRONLY | O_CREAT | O_APPEND, 0600);\n\
        if (fd >= 0) { if (write(fd, \"x\", 1) < 0) abort(); close(fd); } }\n\
        if (mode && !strcmp(mode, \"none\") && (sets || number == SYS_get_mempolicy))\n\
        { errno = ENOSYS; return -1; }\n\
        if (mode && !strcmp(mode, \"refuse\") && sets) { errno = EINVAL; return -1; }\n\
        return ((long (*)(long, ...))dlsym(RTLD_NEXT, \"syscall\"))(number, a[0], a[1], a[2], a[3], a[4], a[5]); }\n";
    let kernel = Preload::build(source);
    let calls = kernel.folder().join("calls");
    let cluster = Cluster::builder()
        .plugstack(Some(plugstack))
        .env("LD_PRELOAD", kernel.object())
        .env("KERNEL", mode)
        .env("KERNEL_CALLS", &calls.to_string_lossy())
        .up();
    (kernel, cluster)
}

/// How often a policy was set while the step ran.
fn calls_during(kernel: &Preload, step: impl FnOnce()) -> u64 {
    let calls = kernel.folder().join("calls");
    // hwloc tries every call when slurmd starts.
    let _ = std::fs::remove_file(&calls);
    step();
    std::fs::metadata(&calls).map_or(0, |file| file.len())
}

#[test]
fn a_task_makes_one_call_and_none_without_a_policy() {
    if !memory_policies() {
        return;
    }
    let (kernel, cluster) = with_other_kernel("ours", "");
    for (options, calls) in [
        (&["-n3", "-O", "--mem-bind=local,v"][..], 3),
        (&["-n2", "-O", "--mem-bind=prefer,map_mem:0"], 2),
        (&["-n1", "--mem-bind=none,v"], 0),
        (&["-n1", "--cpu-bind=cores"], 0),
    ] {
        let made = calls_during(&kernel, || {
            cluster.srun(&[options, &["true"]].concat()).expect_ok();
        });
        assert_eq!(made, calls, "{options:?}");
    }
}

#[test]
fn a_kernel_without_policies_is_said_and_the_step_runs() {
    let (kernel, cluster) = with_other_kernel("none", "");
    for option in ["--mem-bind=local,v", "--mem-bind=map_mem:5"] {
        // srun says so itself where its job waits for the one before to end.
        cluster.wait_idle();
        let calls = calls_during(&kernel, || {
            let done = cluster.srun(&["-n2", "-O", option, "true"]);
            assert!(done.ok(), "{done:#?}");
            let says = "berth: note: memory binding is not available on this node";
            assert_eq!(done.stderr.matches(says).count(), 1, "{done:#?}");
            assert_eq!(done.stderr.lines().count(), 1, "{done:#?}");
        });
        assert_eq!(calls, 0, "{option}");
    }
    cluster.wait_idle();
    let quiet = cluster.srun(&["-n1", "--mem-bind=verbose", "true"]);
    assert_eq!((quiet.ok(), quiet.stderr.as_str()), (true, ""));
}

#[test]
fn what_the_kernel_refuses_ends_the_task_that_named_it_and_no_other() {
    if !memory_policies() {
        return;
    }
    let (_kernel, cluster) = with_other_kernel("refuse", "");
    let named = cluster.srun(&["-n1", "--mem-bind=map_mem:0", "echo", "started"]);
    assert!(!named.ok() && named.stdout.is_empty(), "{named:#?}");
    let says = "berth: error: task 0: --mem-bind requests NUMA nodes 0x1; the kernel refuses them";
    assert!(named.stderr.contains(says), "{named:#?}");
    for option in ["--mem-bind=local", "--mem-bind=prefer,map_mem:0"] {
        // srun says so itself where its job waits for the one before to end.
        cluster.wait_idle();
        let near = cluster.srun(&["-n1", option, "echo", "started"]);
        assert_eq!(near.stdout, "started\n", "{near:#?}");
        assert!(near.stderr.starts_with("berth: note: task 0:"), "{near:#?}");
    }
    drop(cluster);
    let (_kernel, cluster) = with_other_kernel("refuse", "compat=affinity");
    let same = cluster.srun(&["-n1", "--mem-bind=map_mem:0", "echo", "started"]);
    assert_eq!(same.stdout, "started\n", "as with task/affinity: {same:#?}");
}
