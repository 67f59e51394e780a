//! Environments: of many megabytes, with many names, and with line breaks meant for the log.

use berth_tests::hostile::{self, Attacker, FORGED, Victim};
use berth_tests::two_cpus;

/// What a user would have the log say: a line of its own, and an order to a terminal.
fn lines() -> String {
    format!("x\n{FORGED}\n\u{1b}[2J")
}

fn big(attacker: &Attacker<'_>) {
    let job = attacker.job(&["-n1"]);
    let one = format!("BIG={}", "x".repeat(8 << 20)).into_bytes();
    let name = format!("BERTH_BINDING={}", "explicit:".repeat(1 << 20)).into_bytes();
    let note = format!("BERTH_NOTE={}", "n".repeat(8 << 20)).into_bytes();
    let place = job.option();
    for entry in [&one, &name, &note] {
        let entry = ("env", entry.as_slice());
        attacker.srun(&[entry], &[&place, "--overlap", "-n1", "true"]);
    }
    let many: Vec<_> = (0..4_000)
        .map(|number| format!("BERTH_{number}=1").into_bytes())
        .collect();
    let many: Vec<_> = many.iter().map(|entry| ("env", entry.as_slice())).collect();
    attacker.srun(&many, &[&place, "--overlap", "-n1", "true"]);
}

#[test]
fn environments_of_megabytes() {
    if !two_cpus() {
        return;
    }
    hostile::compare("environments of megabytes", hostile::berth(""), big);
}

/// A user's variables with line breaks, in every kind of launch.
fn speak(attacker: &Attacker<'_>) {
    let lines = lines();
    let names = [
        "TMPDIR",
        "BERTH_NOTE",
        "BERTH_REQUEST",
        "BERTH_RULE",
        "BERTH_BINDING",
        "BERTH_CPU_BIND",
        "BERTH_MEM_BIND",
        "BERTH_BINDING_CORES",
        "BERTH_BINDING_ROUTED",
        "BERTH_CPUS",
    ];
    let entries: Vec<_> = names
        .iter()
        .map(|name| (*name, format!("{name}={lines}").into_bytes()))
        .collect();
    let job = attacker.job(&["-n1"]);
    let place = job.option();
    for kind in ["0x4", "0x8000", "0x8100", "0x20"] {
        for (_, entry) in &entries {
            let changes: [(&str, &[u8]); 2] = [("cpu_bind_type", kind.as_bytes()), ("env", entry)];
            attacker.srun(&changes, &[&place, "--overlap", "-n1", "true"]);
        }
    }
    let tmpdir = [("TMPDIR", lines.as_str())];
    let bound = ["--overlap", "-n1", "--binding=pe:linear:1", "true"];
    attacker.run("srun", &[&[&*place], &bound[..]].concat(), &tmpdir);
    for (name, _) in &entries {
        let variable = [(*name, lines.as_str())];
        attacker.run("sbatch", &["--wait", "-n1", "--wrap=true"], &variable);
    }
    // Texts of lists, of options, and of names that a refusal quotes.
    let text = lines.as_bytes();
    for changes in [
        [("cpu_bind_type", &b"0x100"[..]), ("cpu_bind", text)],
        [("mem_bind_type", &b"0x10"[..]), ("mem_bind", text)],
        [("cpu_bind_type", &b"0x8100"[..]), ("cpu_bind", text)],
        [("cpu_bind_type", &b"0x4"[..]), ("tres_bind", text)],
    ] {
        attacker.srun(&changes, &[&place, "--overlap", "-n1", "true"]);
    }
    let option = [("option binding", text)];
    let bound = ["--overlap", "-n1", "--binding=linear:1", "true"];
    attacker.srun(&option, &[&[&*place], &bound[..]].concat());
}

#[test]
fn no_line_of_the_log_is_a_users() {
    if !two_cpus() {
        return;
    }
    // As much is logged as an administrator who looks for something would have.
    let builder = hostile::berth("").set("SlurmdDebug=debug");
    Victim::start(builder).attacked(speak);
}

/// A task prolog's output may hold a mask of its own.
#[test]
fn a_task_prolog_that_sets_a_mask() {
    if !two_cpus() {
        return;
    }
    let play = |builder: berth_tests::Builder| {
        let victim = Victim::start(builder);
        victim.attacked(|attacker| {
            let prolog = attacker.folder().join("prolog");
            let option = format!("--task-prolog={}", prolog.display());
            let job = attacker.job(&["-n1", "-c1"]);
            let ask = "while read -r key cpus; do case $key in Cpus_allowed_list:) echo $cpus;; esac; done < /proc/self/status";
            let options = ["--overlap", "-n1", "-c1", "--cpu-bind=cores", &option];
            let place = job.option();
            let cpus = |options: &[&str]| {
                let task = [&[&*place], options, &["/bin/sh", "-c", ask]].concat();
                let done = attacker.run("srun", &task, &[]);
                done.expect_ok().trim().to_owned()
            };
            let own = cpus(&options[..4]);
            let (_, mask) = hostile::outside(&own);
            let text = format!("#!/bin/sh\necho export SLURM_PROLOG_CPU_MASK={mask}\n");
            std::fs::write(&prolog, text).expect("a prolog");
            executable(&prolog);
            let got = cpus(&options);
            assert!(hostile::is_inside(&got, &own), "{got}, and the step owns {own}");
        });
    };
    play(hostile::berth(""));
}

fn executable(file: &std::path::Path) {
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(file, mode).expect("a program");
}
