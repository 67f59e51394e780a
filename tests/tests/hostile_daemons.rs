//! A slurmd that is short of memory or descriptors, one that is told to read its configuration
//! again and again, and what a step's files are worth inside a job's own mount namespace.

use berth_tests::hostile::{self, Attacker, Job, Toll, Victim, limit};
use berth_tests::{process, two_cpus};

/// Steps of one job with everything that berth does for one.
fn steps(attacker: &Attacker<'_>, job: &Job<'_>, count: usize) {
    let wide = format!("0x{}*65000", "f".repeat(16_000)).into_bytes();
    let long = vec![b'0'; 4 << 20];
    let place = job.option();
    for number in 0..count {
        let changes: &[(&str, &[u8])] = match number % 4 {
            0 => &[],
            1 => &[("cpu_bind_type", b"0x100"), ("cpu_bind", &wide)],
            2 => &[("mem_bind_type", b"0x10"), ("mem_bind", &wide)],
            _ => &[("cpu_bind_type", b"0x80"), ("cpu_bind", &long)],
        };
        attacker.srun(changes, &[&place, "--overlap", "-n1", "true"]);
        let bound = ["--overlap", "-n1", "--binding=linear:1", "true"];
        attacker.run("srun", &[&[&*place], &bound[..]].concat(), &[]);
    }
}

#[test]
fn short_of_descriptors() {
    if !two_cpus() {
        return;
    }
    let victim = Victim::start(hostile::berth(""));
    limit(victim.slurmd(), "--nofile", 40);
    victim.attacked(|attacker| steps(attacker, &attacker.job(&["-n1"]), 8));
}

#[test]
fn short_of_memory() {
    if !two_cpus() {
        return;
    }
    let victim = Victim::start(hostile::berth(""));
    // Enough for Slurm's own threads and messages.
    limit(victim.slurmd(), "--as", 1536 << 20);
    victim.attacked(|attacker| steps(attacker, &attacker.job(&["-n1"]), 8));
}

#[test]
fn told_to_reconfigure_all_the_time() {
    if !two_cpus() {
        return;
    }
    let victim = Victim::start(hostile::berth(""));
    victim.attacked(|attacker| {
        // A slurmctld that reads its configuration refuses new jobs, which is not the node's.
        let job = attacker.job(&["-n1"]);
        std::thread::scope(|threads| {
            threads.spawn(|| {
                for _ in 0..25 {
                    let _ = victim.cluster().scontrol(&["reconfigure"]);
                    std::thread::sleep(std::time::Duration::from_millis(100));
                }
            });
            steps(attacker, &job, 8);
        });
    });
}

/// Discovery follows the set of online CPUs, and no launch waits for it.
#[test]
fn cpus_that_go_off_and_on() {
    // CPUs of this machine are not ours to take.
    if std::env::var_os("BERTH_VM_OUT").is_none() {
        berth_tests::skip("takes CPUs offline: only in a machine of ci/vm");
        return;
    }
    let count = std::thread::available_parallelism().map_or(1, usize::from);
    let last = format!("/sys/devices/system/cpu/cpu{}/online", count - 1);
    let victim = Victim::start(hostile::berth(""));
    let toll = victim.attacked(|attacker| {
        std::thread::scope(|threads| {
            threads.spawn(|| {
                for turn in 0..30 {
                    let word = if turn % 2 == 0 { "0" } else { "1" };
                    std::fs::write(&last, word).expect("a CPU goes off and on");
                    std::thread::sleep(std::time::Duration::from_millis(150));
                }
            });
            steps(attacker, &attacker.job(&["-n1"]), 16);
        });
    });
    hostile::say(&format!(
        "CPUs go off and on: bystander {:.2?}",
        toll.bystander
    ));
    hostile::in_time("CPUs go off and on", toll, Toll::default());
}

/// A user's process beside the step puts named pipes in place of whatever appears in TMPDIR.
#[test]
fn named_pipes_in_place_of_the_files() {
    if !two_cpus() {
        return;
    }
    let victim = Victim::start(hostile::berth(""));
    victim.attacked(|attacker| {
        let folder = attacker.folder().to_string_lossy().into_owned();
        let swap = "while :; do for f in berth.*/rankfile berth.*/pe_hostfile; do \
                    test -p \"$f\" || { rm -f \"$f\" && mkfifo \"$f\"; }; done 2>/dev/null; done";
        let mut swapping = attacker.program("sh");
        let mut swapping = swapping.args(["-c", swap]).spawn().expect("sh");
        let tmpdir = [("TMPDIR", folder.as_str())];
        let job = attacker.job(&["-n1"]);
        for _ in 0..10 {
            let bound = [
                &*job.option(),
                "--overlap",
                "-n1",
                "--binding=pe:linear:1",
                "true",
            ];
            let done = attacker.run("srun", &bound, &tmpdir);
            assert_ne!(done.code, Some(124), "a step that hangs: {done:#?}");
        }
        process::end(&mut swapping);
    });
}
