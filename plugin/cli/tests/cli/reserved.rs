//! `berth plan --reserved`: CPUs that the site keeps free.
use crate::plan_common::berth;

/// The exit code, the CPUs of each task, and what is wrong.
fn ask(words: &str) -> (i32, String, String) {
    let machine = ["plan", "--machine=pack:2 core:4 pu:2", "--format=cpus"];
    let words: Vec<_> = machine.into_iter().chain(words.split(' ')).collect();
    let done = berth(&words, "");
    (done.code, done.stdout.trim().into(), done.stderr)
}

#[test]
fn reserved_cpus_are_never_planned() {
    for options in [
        "",
        " --cpu-bind=cores",
        " --binding=linear:1",
        " --map-by=core",
    ] {
        let (code, cpus, stderr) = ask(&format!("-n2 --cores all --reserved 0-11{options}"));
        assert_eq!(code, 0, "{options}: {stderr}");
        let own = cpus
            .split_whitespace()
            .flat_map(|task| task.split([',', '-']));
        let own: Vec<u32> = own.map(|cpu| cpu.parse().unwrap()).collect();
        assert!(own.iter().all(|cpu| *cpu > 11), "{options}: {cpus}");
    }
}

/// Only slurm.conf can keep slurmctld from giving them away.
#[test]
fn a_step_whose_cpus_are_all_reserved_runs_there() {
    for options in [
        "",
        " --cpu-bind=cores",
        " --binding=linear:1",
        " --map-by=core",
        " --binding=auto",
    ] {
        for own in ["--cores all --reserved 0-15", "--cpus 2-5 --reserved 0-7"] {
            let (code, cpus, stderr) = ask(&format!("-n2 {own}{options}"));
            let (_, same, _) = ask(&format!(
                "-n2 {}{options}",
                own.split(" --res").next().unwrap()
            ));
            assert_eq!((code, &cpus), (0, &same), "{own}{options}: {stderr}");
            let why = "Slurm has given this step no others; it runs there";
            assert!(stderr.contains(why), "{own}{options}: {stderr}");
        }
    }
}

/// Slurm has granted sixteen CPUs, and the tasks share those that are left.
#[test]
fn tasks_share_what_is_not_reserved() {
    for compat in ["berth", "affinity"] {
        let mapped = " --map-by=hwthread";
        for options in ["", " --cpu-bind=cores", " --cpu-bind=threads", mapped] {
            let line = format!("-n16 --cores all --reserved 0-7 --compat={compat}{options}");
            let (code, cpus, stderr) = ask(&line);
            assert_eq!(code, 0, "{line}: {stderr}");
            assert_eq!(cpus, ["8-15"; 16].join("\n"), "{line}");
            let why = "16 tasks share the others, CPUs 8-15";
            assert!(stderr.contains(why), "{line}: {stderr}");
        }
    }
    let (code, _, stderr) = ask("-n2 --cores all --reserved 0 --cpu-bind=map_cpu:0,1");
    assert!(code == 1 && stderr.contains("names CPU 0"), "{stderr}");
    // It does not fit without reserved CPUs either, or it names them.
    for line in [
        "-n17 --cores all --reserved 0-7 --map-by=hwthread",
        "-n2 --cores all --reserved 0-13 --map-by=pe-list=0,1",
    ] {
        let (code, _, stderr) = ask(line);
        assert!(code == 1 && stderr.contains("refused"), "{line}: {stderr}");
    }
}

/// slurmctld does not know the CPUs that berth keeps free, so it chooses as without them; the answer says
/// so. Those of `CpuSpecList` are slurmctld's own business.
#[test]
fn an_assumed_allocation_says_that_slurmctld_does_not_know_them() {
    let why = "slurmctld may choose reserved CPUs: it keeps only those of slurm.conf's CpuSpecList";
    let (code, cpus, stderr) = ask("-n4 --reserved 0");
    assert_eq!((code, cpus.split_whitespace().count()), (0, 4), "{stderr}");
    assert!(
        stderr.contains("cores 0,4 (assumed: slurmctld's choice"),
        "{stderr}"
    );
    assert!(stderr.contains(why), "{stderr}");
    let (code, _, stderr) = ask("-n2 --reserved 0-3");
    let runs = stderr.contains("Slurm has given this step no others; it runs there");
    assert!(code == 0 && runs && stderr.contains(why), "{stderr}");
    for options in [
        "-n4",
        "-n4 --cores all --reserved 0",
        "-n4 --cpus 0-7 --reserved 0",
    ] {
        let (code, _, stderr) = ask(options);
        assert!(
            code == 0 && !stderr.contains("may choose"),
            "{options}: {stderr}"
        );
    }
}

#[test]
fn a_reserved_cpu_that_does_not_exist_is_a_wrong_line() {
    for list in ["999", "0,15-16"] {
        let (code, _, stderr) = ask(&format!("-n2 --cores all --reserved {list}"));
        assert_ne!(code, 0, "{list}: {stderr}");
        assert!(
            stderr.contains("this machine has CPUs 0-15; name only those"),
            "{list}: {stderr}"
        );
    }
}
