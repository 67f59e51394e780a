//! `--mem-bind` on real clusters: what the task has, what it prints beside what
//! task/affinity prints, what is refused before anything starts.

use berth_tests::{Cluster, Done, Preload};

/// Each task prints its policy as the kernel tells it, read by the task itself.
const POLICY: [&str; 3] = [
    "/bin/sh",
    "-c",
    "read -r place policy rest < /proc/self/numa_maps; echo $policy",
];

fn has_numa() -> bool {
    let there = std::path::Path::new("/proc/self/numa_maps").exists();
    if !there {
        berth_tests::skip("this kernel has no memory policies");
    }
    there
}

fn policies(cluster: &Cluster, options: &[&str]) -> Vec<String> {
    let printed = cluster.srun(&[options, &POLICY].concat()).expect_ok();
    printed.lines().map(String::from).collect()
}

/// The verbose lines of a step, without the task's process id.
fn verbose(cluster: &Cluster, option: &str) -> Vec<String> {
    let done = cluster.srun(&["-n1", option, "true"]);
    assert!(done.ok(), "{done:#?}");
    let lines = done.stderr.lines();
    lines
        .filter(|line| line.starts_with("mem-bind"))
        .map(|line| {
            let (head, tail) = line.split_once('[').unwrap();
            format!("{head}{}", tail.split_once(']').unwrap().1)
        })
        .collect()
}

#[test]
fn every_policy_is_applied_and_nothing_else() {
    if !has_numa() {
        return;
    }
    let cluster = Cluster::builder().plugstack(Some("")).up();
    for (option, policy) in [
        ("--mem-bind=local", "bind:0"),
        ("--mem-bind=rank", "bind:0"),
        ("--mem-bind=map_mem:0", "bind:0"),
        ("--mem-bind=map_mem:0,5", "bind:0"),
        ("--mem-bind=mask_mem:0x1", "bind:0"),
        ("--mem-bind=prefer,local", "prefer:0"),
        ("--mem-bind=p,map_mem:0", "prefer:0"),
        ("--mem-bind=none", "default"),
        ("--mem-bind=quiet", "default"),
        ("--mem-bind=prefer", "default"),
        ("--cpu-bind=cores", "default"),
    ] {
        assert_eq!(policies(&cluster, &["-n1", option]), [policy], "{option}");
    }
    // A word that 26.05 no longer knows: its srun refuses it before berth is asked.
    let sort = cluster.srun(&["-n1", "--mem-bind=sort", "true"]);
    if !sort.stderr.contains("unrecognized --mem-bind argument") {
        assert_eq!(policies(&cluster, &["-n1", "--mem-bind=sort"]), ["default"]);
    }
    let several = policies(&cluster, &["-n3", "-O", "--mem-bind=map_mem:0"]);
    assert_eq!(several, ["bind:0"; 3], "lists wrap");
    let numactl = cluster.srun(&["-n1", "--mem-bind=local", "numactl", "--show"]);
    let shown = numactl.expect_ok();
    assert!(shown.starts_with("policy: bind\n"), "{shown}");
    assert!(shown.contains("\nmembind: 0 \n"), "{shown}");

    let quiet = cluster.srun(&["-n1", "--mem-bind=local", "true"]);
    assert_eq!(quiet.stderr, "", "nothing to say");
    cluster.wait_idle();
    let log = cluster.slurmd_log();
    let line = log.lines().rfind(|line| line.contains("berth: step="));
    let line = line.unwrap_or_default();
    for part in [" mem=local\"", " memory=0x1 bound=1/1 "] {
        assert!(line.contains(part), "no {part:?} in {line}");
    }
}

#[test]
fn the_verbose_lines_are_task_affinitys() {
    if !has_numa() {
        return;
    }
    let options = [
        "--mem-bind=verbose",
        "--mem-bind=none,v",
        "--mem-bind=local,v",
        "--mem-bind=rank,v",
        "--mem-bind=map_mem:0,v",
        "--mem-bind=mask_mem:0x1,v",
        "--mem-bind=prefer,local,v",
        "--mem-bind=prefer,map_mem:0,v",
        "--mem-bind=local,q",
    ];
    let lines = |cluster: &Cluster| -> Vec<Vec<String>> {
        options
            .iter()
            .map(|option| verbose(cluster, option))
            .collect()
    };
    let affinity = Cluster::builder()
        .task_plugin("task/affinity")
        .plugstack(None)
        .up();
    let theirs = lines(&affinity);
    drop(affinity);
    assert!(
        theirs[2][0].starts_with("mem-bind=LOC - ") && theirs[2][0].ends_with(" set"),
        "{theirs:?}"
    );
    let berth = Cluster::builder().plugstack(Some("compat=affinity")).up();
    for ((option, ours), theirs) in options.iter().zip(lines(&berth)).zip(theirs) {
        assert_eq!(ours, theirs, "{option}");
    }
}

/// A refused step: the text for the user, and no task was started.
#[track_caller]
fn refused(cluster: &Cluster, options: &[&str], says: &str) {
    let begun = cluster.folder().join("begun");
    let touch = ["touch", &begun.to_string_lossy()];
    let done: Done = cluster.srun(&[options, &touch].concat());
    assert!(!done.ok(), "{options:?}: {done:#?}");
    assert!(done.stderr.contains(says), "no {says:?} in {done:#?}");
    assert!(!begun.exists(), "{options:?}: a task was started");
    cluster.wait_idle();
}

#[test]
fn what_cannot_be_is_refused_before_a_task_starts() {
    let cluster = Cluster::builder().plugstack(Some("")).up();
    if !has_numa() {
        return;
    }
    for (options, says) in [
        (
            &["-n1", "--mem-bind=map_mem:5"][..],
            "berth: --mem-bind=map_mem:5 gives task 0 on this node NUMA node 5; this node has \
             NUMA nodes 0; name only those, or let --mem-bind=local choose",
        ),
        (
            &["-n2", "-O", "--mem-bind=mask_mem:0x1,0x2"],
            "gives task 1 on this node NUMA node 1",
        ),
        (
            &["-n1", "--mem-bind=prefer,mask_mem:0x0"],
            "gives task 0 on this node an empty mask",
        ),
    ] {
        refused(&cluster, options, says);
    }
    let log = cluster.slurmd_log();
    assert_eq!(log.matches("bound=refused").count(), 3, "{log}");
}

#[test]
fn scripts_and_shells_have_no_policy() {
    if !has_numa() {
        return;
    }
    let cluster = Cluster::builder()
        .plugstack(Some(""))
        .set("LaunchParameters=use_interactive_step")
        .set("InteractiveStepOptions=\"--interactive -n1 /bin/grep -m1 -o default /proc/self/numa_maps\"")
        .up();
    let shell = cluster.run("salloc", &["-n1", "--mem-bind=local"]);
    assert_eq!(shell.expect_ok().trim(), "default");
    let ask = "read -r place policy rest < /proc/self/numa_maps; echo script=$policy\n\
               srun sh -c 'read -r place policy rest < /proc/self/numa_maps; echo step=$policy'";
    let script = cluster.sbatch(&["-n1", "--mem-bind=local"], ask);
    assert!(script.output.contains("script=default"), "{script:?}");
    let policy = "read -r place policy rest < /proc/self/numa_maps; echo outer=$policy\n\
                  srun --overlap --mem-bind=none -n1 sh -c \"$1\"; srun --overlap -n1 sh -c \"$1\"";
    let inner = "read -r place policy rest < /proc/self/numa_maps; \
                 echo $policy asked=$BERTH_MEM_BIND masks=$BERTH_MEM";
    let nested = cluster.srun(&["-n1", "--mem-bind=local", "sh", "-c", policy, "-", inner]);
    assert_eq!(
        nested.expect_ok(),
        "outer=bind:0\ndefault asked= masks=\nbind:0 asked=local masks=0x1\n",
        "a step inside inherits the request, not the masks"
    );
}

#[test]
fn several_numa_nodes_are_planned_and_the_step_runs() {
    let cluster = Cluster::builder()
        .plugstack(Some(""))
        .env("HWLOC_SYNTHETIC", "pack:2 numa:2 core:2 pu:1")
        .up();
    for (options, masks) in [
        ("-n4 --mem-bind=rank", "0x1,0x2,0x4,0x8"),
        ("-n4 --mem-bind=map_mem:3,0", "0x8,0x1,0x8,0x1"),
        ("-n4 --mem-bind=mask_mem:0xc,3", "0xc,0x3,0xc,0x3"),
        ("-n4 --mem-bind=p,mask_mem:0xc", "0x4,0x4,0x4,0x4"),
        (
            "-n4 -c2 --mem-bind=local --cpu-bind=map_cpu:7,0,2,4",
            "0x8,0x1,0x2,0x4",
        ),
        (
            "-n2 -c4 --mem-bind=local --cpu-bind=mask_cpu:0x81,ff",
            "0x9,0xf",
        ),
        ("-n2 -c4 --mem-bind=local --cpu-bind=none", "0xf,0xf"),
        ("-n4 --mem-bind=none", ""),
    ] {
        let mut words = vec!["--exclusive"];
        words.extend(options.split(' '));
        words.extend(["-l", "/bin/sh", "-c", "echo \"[$SLURM_MEM_BIND_LIST]\""]);
        let done = cluster.srun(&words);
        let line = format!("0: [{masks}]");
        assert!(done.ok(), "{options}: {done:#?}");
        assert!(
            done.stdout.lines().any(|found| found == line),
            "{options}: no {line:?} in {done:#?}"
        );
        assert!(!done.stderr.contains("mem-bind"), "{options}: {done:#?}");
    }
    refused(
        &cluster,
        &["-n5", "--mem-bind=rank"],
        "--mem-bind=rank gives task 4 on this node NUMA node 4; this node has NUMA nodes 0-3",
    );
}

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
    if !has_numa() {
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
    if !has_numa() {
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
