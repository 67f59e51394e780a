//! Batch scripts: counts of tasks in the submitter's environment, and a script that can be read
//! only once.

use std::fs;
use std::time::{Duration, Instant};

use berth_tests::hostile::{self, Attacker, Victim};
use berth_tests::{Builder, process, two_cpus};

/// A slurmstepd of stock Slurm has about 10 MiB at its peak.
const STEPD: u64 = 40 << 10;

/// Submits a script, waits until it has ended or a few seconds are over, and cancels it.
fn submit(attacker: &Attacker<'_>, variables: &[(&str, &str)]) {
    // The script's parent is its slurmstepd.
    let peak = attacker.folder().join("peak");
    let script = format!("--wrap=grep VmHWM /proc/$PPID/status > {}", peak.display());
    let options = ["--parsable", "--no-requeue", &script];
    let done = attacker.run("sbatch", &options, variables);
    let job = done.stdout.trim().to_owned();
    let end = Instant::now() + Duration::from_secs(10);
    let waits = || {
        let state = attacker.run("squeue", &["-h", "-o", "%T", "-j", &job], &[]);
        state.ok() && !state.stdout.trim().is_empty()
    };
    while done.ok() && waits() && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(50));
    }
    attacker.run("scancel", &[&job], &[]);
    let Ok(text) = fs::read_to_string(&peak) else {
        return;
    };
    let _ = fs::remove_file(peak);
    let kib = text.split_whitespace().nth(1);
    let kib: u64 = kib.and_then(|kib| kib.parse().ok()).unwrap_or(0);
    assert!(
        kib < STEPD,
        "slurmstepd had {kib} KiB with {variables:.100?}"
    );
}

fn counts(attacker: &Attacker<'_>, bindings: &[&str]) {
    let parts = vec!["1(x1048576)"; 200].join(",");
    let wide = vec!["65535(x65535)"; 200].join(",");
    for binding in bindings {
        for (tasks, per_node) in [
            ("4294967295", "1"),
            ("4294967295", "4294967295"),
            ("2", parts.as_str()),
            ("4294967295", wide.as_str()),
            ("-1", "1(x4294967295)"),
        ] {
            submit(
                attacker,
                &[
                    ("BERTH_BINDING", binding),
                    ("SLURM_NTASKS", tasks),
                    ("SLURM_NPROCS", tasks),
                    ("SLURM_TASKS_PER_NODE", per_node),
                    ("SLURM_STEP_TASKS_PER_NODE", per_node),
                ],
            );
        }
    }
}

fn play(name: &str, builder: Builder) {
    if !two_cpus() {
        return;
    }
    let victim = Victim::start(builder);
    let bindings = ["pe:linear:1", "pe:host:linear:1", "linear:1"];
    let toll = victim.attacked(|attacker| counts(attacker, &bindings));
    let log = victim.cluster().slurmd_log();
    assert!(!log.contains("slurmstepd return code -1"), "{name}: {log}");
    let crashed = victim.cluster().folder().join("log/core");
    assert!(!crashed.exists(), "{name}: slurmstepd left a core");
    // Stock Slurm reads none of these texts.
    let none = hostile::stock("task/none").attacked(|attacker| counts(attacker, &bindings[..1]));
    hostile::within(name, toll, none);
    hostile::in_time(name, toll, none);
}

#[test]
fn counts_in_the_environment() {
    play("counts in the environment", hostile::berth(""));
}

/// slurmstepd binds alone where TaskPlugin does not list berth.
#[test]
fn counts_in_the_environment_without_the_task_plugin() {
    let builder = hostile::berth("").task_plugin("task/none");
    play("counts in the environment, SPANK plugin alone", builder);
}

/// A named pipe gives its script once; who reads it before sbatch takes it away.
#[test]
fn a_script_from_a_named_pipe() {
    if !two_cpus() {
        return;
    }
    for (name, victim) in [
        ("task/none", hostile::stock("task/none")),
        ("berth", Victim::start(hostile::berth(""))),
    ] {
        victim.attacked(|attacker| {
            let pipe = attacker.folder().join("script");
            let path = pipe.to_string_lossy().into_owned();
            attacker.run("mkfifo", &[&path], &[]).expect_ok();
            let text = "#!/bin/sh\n#SBATCH -n1\necho ran > ran\n";
            let write = format!("printf '{}' > {path}", text.replace('\n', "\\n"));
            let mut writer = attacker.program("sh");
            let mut writer = writer.args(["-c", &write]).spawn().expect("a writer");
            let bound = [("BERTH_BINDING", "linear:1")];
            let mut options = vec!["--wait"];
            if name == "berth" {
                options.push("--binding=linear:1");
            }
            options.push(&path);
            let done = attacker.run("sbatch", &options, &bound);
            process::end(&mut writer);
            assert!(done.ok(), "{name}: {done:#?}");
            let ran = fs::read_to_string(attacker.folder().join("ran"));
            assert_eq!(ran.ok().as_deref(), Some("ran\n"), "{name}: {done:#?}");
        });
    }
}
