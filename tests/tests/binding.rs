//! Steps and scripts on a real cluster: what was asked, what the kernel says, what
//! the user and the administrator are told.

use berth_srun::Release;
use berth_tests::srun_lines::release;
use berth_tests::{Cluster, Done, Preload};

/// Two CPUs are enough for every fact here, and all that a small machine has.
fn cluster() -> Option<Cluster> {
    if !berth_tests::two_cpus() {
        return None;
    }
    Some(Cluster::builder().plugstack(Some("")).up())
}

/// A refused command: a text for the user, an exit code, and a node that is well.
#[track_caller]
fn refused(cluster: &Cluster, done: &Done, says: &[&str]) {
    assert!(!done.ok(), "{done:#?}");
    for text in says {
        assert!(done.stderr.contains(text), "no {text:?} in {done:#?}");
    }
    cluster.wait_idle();
}

#[test]
#[expect(clippy::too_many_lines, reason = "one story of one cluster")]
fn masks_are_planned_applied_and_reported() {
    let Some(cluster) = cluster() else { return };
    let config = cluster.scontrol(&["show", "config"]).expect_ok();
    let task_plugin = config.lines().find(|line| line.starts_with("TaskPlugin "));
    assert!(
        task_plugin.is_some_and(|line| line.ends_with("= task/berth")),
        "{task_plugin:?}"
    );

    let verbose = cluster.srun(&["-n2", "-c1", "--cpu-bind=verbose,cores", "true"]);
    let mut lines: Vec<_> = verbose
        .stderr
        .lines()
        .filter(|line| line.contains("cpu-bind"))
        .collect();
    lines.sort_unstable();
    assert_eq!(lines.len(), 2, "{verbose:#?}");
    for (task, line) in lines.iter().enumerate() {
        assert!(line.starts_with("cpu-bind=MASK - berth"), "{line}");
        assert!(
            line.contains(&format!(", task  {task}  {task} [")),
            "{line}"
        );
        assert!(
            line.ends_with(&format!(": mask 0x{} set", 1 << task)),
            "{line}"
        );
    }
    for (options, masks) in [
        (&["-n2", "--cpu-bind=cores"][..], &["0x1", "0x2"][..]),
        (
            &["-n2", "--cpu-bind=threads", "-m", "block:block"],
            &["0x1", "0x2"],
        ),
        (&["-n2", "--cpu-bind=map_cpu:1,0"], &["0x2", "0x1"]),
        (&["-n2", "--cpu-bind=mask_cpu:0x3,0x2"], &["0x3", "0x2"]),
        (&["-n2", "--cpu-bind=none"], &["0x3", "0x3"]),
        (&["-n2", "--cpu-bind=rank"], &["0x1", "0x2"]),
        (&["-n2", "--cpu-bind=ldoms"], &["0x3", "0x3"]),
        (&["-n1", "-c2"], &["0x3"]),
        (&["-n2"], &["0x1", "0x2"]),
        (&["-n2", "--binding=linear:1"], &["0x1", "0x2"]),
        (&["-n2", "--binding=host:linear:2"], &["0x3", "0x3"]),
        (
            &["-n2", "--berth-binding=linear:1", "--export=NONE"],
            &["0x1", "0x2"],
        ),
        (
            &["-n2", "--binding=none", "--cpu-bind=map_cpu:1"],
            &["0x2", "0x2"],
        ),
    ] {
        // The whole node, so that the numbers are known.
        let options = [&["--exclusive"], options].concat();
        assert_eq!(cluster.task_masks(&options), masks, "{options:?}");
    }
}

/// On a first day nothing changes: task/affinity binds to whole memory domains, and it prints nothing.
#[test]
fn under_compat_affinity_a_step_has_task_affinitys_masks_and_prints_nothing() {
    if !berth_tests::two_cpus() {
        return;
    }
    let cluster = Cluster::builder()
        .plugstack(Some("compat=affinity confine=task"))
        .up();
    for (options, masks) in [
        (&["-n1", "--cpu-bind=ldoms"][..], &["0x3"][..]),
        (
            &["-n2", "-O", "--ntasks-per-node=2", "--cpu-bind=ldoms"],
            &["0x3", "0x3"],
        ),
        (&["-n1", "--cpu-bind=cores"], &["0x1"]),
    ] {
        assert_eq!(cluster.task_masks(options), masks, "{options:?}");
        cluster.wait_idle();
        let step = cluster.srun(&[options, &["true"]].concat());
        assert_eq!((step.ok(), step.stderr.as_str()), (true, ""), "{options:?}");
        cluster.wait_idle();
    }
    // One of berth's own options keeps to the step's CPUs, and its notes are shown.
    let ours = ["-n1", "--cpu-bind=ldoms", "--binding=linear:1"];
    assert_eq!(cluster.task_masks(&ours), ["0x1"]);
    let step = cluster.srun(&["-n2", "--exclusive", "--binding=linear:2", "true"]);
    let note = "berth: note: --binding=linear:2";
    assert!(step.stderr.contains(note), "{step:#?}");
}

/// Up to 24.05: later lines of srun ignore the word.
#[test]
fn rank_is_task_affinitys_where_that_is_asked_for() {
    if !berth_tests::two_cpus() {
        return;
    }
    for (settings, is_rank) in [("compat=affinity", true), ("", false)] {
        let cluster = Cluster::builder().plugstack(Some(settings)).up();
        if release(&cluster) >= Release::V24_11 {
            return berth_tests::skip("this srun ignores --cpu-bind=rank");
        }
        let asked = ["--exclusive", "-n2", "--cpu-bind=verbose,rank"];
        assert_eq!(cluster.task_masks(&asked), ["0x1", "0x2"]);
        let ask = "echo $SLURM_CPU_BIND_TYPE $SLURM_CPU_BIND";
        let step = cluster.srun(&[&asked[..], &["sh", "-c", ask]].concat());
        let told = match is_rank {
            true => "rank verbose,rank",
            false => "mask_cpu: verbose,mask_cpu:0x1,0x2",
        };
        assert_eq!(step.stdout.lines().next(), Some(told), "{step:#?}");
        let verbose = step.stderr.contains("cpu-bind=RANK - ");
        assert_eq!(verbose, is_rank, "{step:#?}");
    }
}

#[test]
fn a_refusal_teaches_the_user_and_leaves_the_node_alone() {
    let Some(cluster) = cluster() else { return };
    let far = cluster.srun(&["-n2", "--cpu-bind=map_cpu:7", "true"]);
    refused(
        &cluster,
        &far,
        &[
            "--cpu-bind=map_cpu:7 names CPU 7",
            "this step owns CPUs 0-1 on this node",
            "name only those",
            "Unable to satisfy cpu bind request",
        ],
    );
    let beside = cluster.srun(&["-n1", "--binding=linear:1", "--cpu-bind=map_cpu:0", "true"]);
    refused(&cluster, &beside, &["drop one of them"]);
    // Without --exclusive srun itself knows that it can never fit.
    let strict = cluster.srun(&["-n2", "--exclusive", "--binding=strict:linear:2", "true"]);
    refused(
        &cluster,
        &strict,
        &[
            "2 tasks × 2 cores",
            "2 whole free cores on this node",
            "host:strict:linear:2 would fit",
        ],
    );
    for (option, says) in [
        ("--binding=linier:2", "expected a strategy"),
        ("--binding=linear:2:0", "expected ','"),
    ] {
        for (command, work) in [
            ("srun", "true"),
            ("sbatch", "--wrap=true"),
            ("salloc", "true"),
        ] {
            let done = cluster.run(command, &[option, work]);
            refused(&cluster, &done, &[says]);
        }
    }
    let jobs = cluster.scontrol(&["-o", "show", "jobs"]).expect_ok();
    assert!(
        !jobs.contains("JobName=salloc"),
        "a wrong option was queued: {jobs}"
    );
}

#[test]
fn what_cannot_be_had_is_said_once_and_the_step_runs() {
    let Some(cluster) = cluster() else { return };
    let done = cluster.srun(&["-n2", "--exclusive", "--binding=linear:2", "true"]);
    assert!(done.ok(), "{done:#?}");
    let notes: Vec<_> = done
        .stderr
        .lines()
        .filter(|line| line.contains("note"))
        .collect();
    assert_eq!(notes.len(), 1, "{done:#?}");
    assert!(
        notes[0].starts_with("berth: note: --binding=linear:2 asks for 2 tasks × 2 cores"),
        "{notes:?}"
    );
    assert!(
        notes[0].contains("--binding=host:linear:2 would fit"),
        "{notes:?}"
    );
    // srun says so itself where its job waits for the one before to end.
    cluster.wait_idle();
    let quiet = cluster.srun(&["-n2", "--cpu-bind=cores", "true"]);
    assert_eq!(quiet.stderr, "", "nothing to say");
    cluster.wait_idle();
    let asked = ["-n2", "--exclusive", "--binding=linear:2", "true"];
    let hushed = cluster.run_with("srun", &asked, &[("BERTH_NOTES", "off")]);
    assert_eq!((hushed.ok(), hushed.stderr.as_str()), (true, ""));
    let log = cluster.slurmd_log();
    assert_eq!(
        log.matches(": note: --binding=linear:2").count(),
        2,
        "{log}"
    );
}

#[test]
fn scripts_are_bound_to_their_allocation() {
    let Some(cluster) = cluster() else { return };
    let ask = "grep Cpus_allowed_list /proc/self/status; echo bound=$BERTH_BOUND rule=$BERTH_RULE";
    let script = cluster.sbatch(&["-n1", "-c1"], ask);
    assert!(
        script.output.contains("Cpus_allowed_list:\t0\n"),
        "{script:?}"
    );
    assert!(
        script.output.contains("bound=1 rule=batch:own-cpus"),
        "{script:?}"
    );
    let one = cluster.sbatch(&["-n1", "--exclusive", "--binding=linear:1"], ask);
    assert!(one.output.contains("Cpus_allowed_list:\t0\n"), "{one:?}");
    let two = cluster.sbatch(&["-n2", "--exclusive", "--binding=linear:1"], ask);
    assert!(
        two.output.contains("Cpus_allowed_list:\t0-1\n"),
        "its sruns inherit the request: {two:?}"
    );

    let refused = cluster.sbatch(&["-n1", "--binding=strict:linear:9"], ask);
    assert_eq!(refused.state, "FAILED");
    assert_ne!(refused.exit_code, "0:0");
    assert!(
        refused
            .output
            .contains("the script is not started: --binding=strict:linear:9 asks for 9 cores"),
        "{refused:?}"
    );
    assert!(!refused.output.contains("bound="), "{refused:?}");
    cluster.wait_idle();
}

#[test]
fn an_interactive_step_keeps_its_allocation() {
    if !berth_tests::two_cpus() {
        return;
    }
    let cluster = Cluster::builder()
        .plugstack(Some("binding_default=linear:1"))
        .set("LaunchParameters=use_interactive_step")
        .set("InteractiveStepOptions=\"--interactive -n1 /bin/grep Cpus_allowed_list /proc/self/status\"")
        .up();
    let shell = cluster.run("salloc", &["-n1", "-c2"]);
    assert!(
        shell.stdout.contains("Cpus_allowed_list:\t0-1"),
        "{shell:#?}"
    );
    assert_eq!(
        cluster.task_masks(&["-n1", "--exclusive"]),
        ["0x1"],
        "the default is for regular steps"
    );
    for (bind, mask) in [("threads", "0x3"), ("map_cpu:1", "0x2"), ("cores", "0x3")] {
        let asked = format!("--cpu-bind={bind}");
        let masks = cluster.task_masks(&["-n1", "-c2", &asked]);
        assert_eq!(masks, [mask], "{bind}: the user's own wish comes first");
    }
}

#[test]
fn every_step_leaves_one_line_and_slurmd_says_when_it_is_ready() {
    let Some(cluster) = cluster() else { return };
    let log = cluster.slurmd_log();
    let ready: Vec<_> = log
        .lines()
        .filter(|line| line.contains("berth: ready:"))
        .collect();
    assert_eq!(ready.len(), 1, "{log}");
    for part in [
        "berth 0.",
        ", Slurm 2",
        ", layout 2",
        ", machine S:C:T ",
        "(S",
        "compat=berth",
    ] {
        assert!(ready[0].contains(part), "no {part:?} in {ready:?}");
    }
    cluster
        .srun(&["-n2", "--exclusive", "--cpu-bind=cores", "true"])
        .expect_ok();
    cluster.srun(&["-n2", "--cpu-bind=map_cpu:9", "true"]);
    cluster.wait_idle();
    let log = cluster.slurmd_log();
    let steps: Vec<_> = log
        .lines()
        .filter(|line| line.contains("berth: step="))
        .collect();
    assert_eq!(steps.len(), 2, "{steps:#?}");
    assert!(
        steps[0].ends_with(
            "tasks=2 cores=0-1 request=\"n=2 c=1 cores dist=*\" rule=cores:cyclic masks=0x1,0x2 \
             bound=2/2 deviations=\"none\""
        ),
        "{steps:#?}"
    );
    assert!(steps[1].contains("bound=refused why="), "{steps:#?}");
}

#[test]
fn the_switch_off_file_works_at_the_next_launch() {
    let Some(cluster) = cluster() else { return };
    let ask = ["-n2", "--exclusive", "--cpu-bind=cores"];
    assert_eq!(cluster.task_masks(&ask), ["0x1", "0x2"]);
    let off = cluster.folder().join("run/berth/off");
    std::fs::write(&off, "").unwrap();
    assert_eq!(cluster.task_masks(&ask), ["0x3", "0x3"]);
    std::fs::remove_file(&off).unwrap();
    assert_eq!(cluster.task_masks(&ask), ["0x1", "0x2"]);
}

#[test]
fn the_option_stands_in_every_help() {
    let Some(cluster) = cluster() else { return };
    for command in ["srun", "sbatch", "salloc"] {
        let help = cluster.run(command, &["--help"]).expect_ok();
        for option in ["--binding=", "--berth-binding="] {
            assert!(help.contains(option), "{command}: {help}");
        }
    }
}

/// After fork slurmstepd's child descends from a process with threads: what it may do
/// is little, and telling the kernel its mask is not among it.
#[test]
fn the_parent_tells_the_kernel_not_the_task() {
    let source = "#define _GNU_SOURCE\n#include <dlfcn.h>\n#include <fcntl.h>\n#include <sched.h>\n\
        #include <stdarg.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <sys/syscall.h>\n\
        #include <unistd.h>\n\
        static void note(long target) { const char *file = getenv(\"WATCH_FILE\"); char line[64];\n\
        int length = snprintf(line, sizeof line, \"%d %ld\\n\", (int)getpid(), target);\n\
        int fd = file ? open(file, O_WRONLY | O_CREAT | O_APPEND, 0600) : -1;\n\
        if (fd >= 0) { if (write(fd, line, length) < 0) abort(); close(fd); } }\n\
        int sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *set) { note(pid);\n\
        return ((int (*)(pid_t, size_t, const cpu_set_t *))dlsym(RTLD_NEXT, \"sched_setaffinity\"))(pid, size, set); }\n\
        long syscall(long number, ...) { va_list list; va_start(list, number); long a[6];\n\
        for (int i = 0; i < 6; i++) a[i] = va_arg(list, long); va_end(list);\n\
        if (number == SYS_sched_setaffinity) note(a[0]);\n\
        return ((long (*)(long, ...))dlsym(RTLD_NEXT, \"syscall\"))(number, a[0], a[1], a[2], a[3], a[4], a[5]); }\n";
    let watch = Preload::build(source);
    let calls = watch.folder().join("calls");
    let cluster = Cluster::builder()
        .plugstack(Some(""))
        .env("LD_PRELOAD", watch.object())
        .env("WATCH_FILE", &calls.to_string_lossy())
        .up();
    // hwloc binds itself to look at each CPU, when slurmd starts and in our child.
    std::fs::remove_file(&calls).unwrap();
    cluster
        .srun(&["-n1", "-c1", "--cpu-bind=cores", "true"])
        .expect_ok();
    let calls = std::fs::read_to_string(&calls).unwrap();
    let calls: Vec<_> = calls
        .lines()
        .filter_map(|line| line.split_once(' '))
        .collect();
    // hwloc in slurmstepd itself looks at its CPUs the same way: target 0.
    let told: Vec<_> = calls.iter().filter(|(_, target)| *target != "0").collect();
    assert_eq!(told.len(), 1, "one call for one task: {calls:?}");
    let (parent, task) = told[0];
    assert_ne!(parent, task);
    assert!(
        calls.iter().all(|(caller, _)| caller == parent),
        "the task called too: {calls:?}"
    );
}
