//! Cpusets under attack: texts and sizes that srun would never send, and two requests in one job. Whatever is
//! sent, a task stays on its job's CPUs, nothing is held afterwards, and others go on.

use std::process::Stdio;
use std::thread;
use std::time::Duration;

use berth_tests::hostile::cpusets::{LOOK, MOST_SAID, all_is_free, found, own_cpus, stays, step};
use berth_tests::hostile::{self, Attacker, FORGED, Victim};
use berth_tests::{Service, process, two_cpus};

/// Requests: too long, with numbers that no machine has, with names of files, and of control characters.
fn texts() -> Vec<Vec<u8>> {
    let mut all: Vec<Vec<u8>> = [
        "CPU_LIST=2147483648",
        "CPU_LIST=4294967296;NCPUS=1",
        "CPU_LIST=0-4000000000",
        "CPU_LIST=0-65536",
        "CPU_LIST=4294967295-0",
        "CPU_LIST=18446744073709551616",
        "CPU_LIST=-1",
        "CPU_LIST=0x0",
        "MEM_LIST=0-4000000000",
        "MEM_LIST=2147483648",
        "NCPUS=4294967295",
        "NCPUS=4294967296",
        "NCPUS=-1",
        "NCPUS=0",
        "MAX_RADIUS=4294967295",
        "MAX_RADIUS=99999999999999999999",
        "MAX_CPU_PER_NODE=4294967295",
        "MAX_CPU_PER_NODE=0",
        "NODE_EX=Y;MAX_CPU_PER_NODE=1",
        "CPUSET_NAME=../../etc",
        "CPUSET_NAME=/etc/passwd",
        "CPUSET_NAME=.",
        "CPUSET_TYPE=static",
        "CPUSET_TYPE=dynamic;CPUSET_NAME=MYSET",
        "CPUSET_TYPE=none;NCPUS=1",
        "CPU_LIST=0;CPU_LIST=1",
        "CPUSET_OPTIONS=CPUSET_POLICY_PAGE|CPUSET_POLICY_KILL|CPUSET_MEMORY_MANDATORY",
        "CPUSET_OPTIONS=|||",
        "CPUSET[CPUSET[CPUSET[",
        "%s%n%x",
    ]
    .map(|text| text.as_bytes().to_vec())
    .to_vec();
    let long = [
        format!("CPU_LIST={}", "0,".repeat(5 << 10)),
        format!("CPU_LIST=0;{}", " ".repeat(8 << 10)),
        format!("CPUSET_NAME={}", "A".repeat(9 << 10)),
        format!("CPUSET_OPTIONS={}", "CPUSET_CPU_EXCLUSIVE|".repeat(400)),
        "CPUSET[".repeat(1 << 10),
        ";".repeat(8 << 10),
        format!("NCPUS={}", "9".repeat(4 << 10)),
        format!("CPU_LIST={}", "1-4000000000,".repeat(1 << 20)),
        format!("CPUSET_NAME=x\n{FORGED}"),
        format!("x\n{FORGED}\n\u{1b}[2J=1"),
        "CPUSET_NAME=\u{1b}]0;x\u{7}".to_owned(),
    ];
    all.extend(long.map(String::into_bytes));
    // No text at all.
    all.push(b"CPU_LIST=\xff\xfe\x80".to_vec());
    all
}

/// Words in the place of those that berth itself writes beside a `--cpuset`.
fn sizes() -> Vec<Vec<u8>> {
    let long = ["9".repeat(64 << 10), format!("job:1\n{FORGED}")];
    let short = [
        "job:999999",
        "step:-1",
        "step:999999",
        "job:4294967295",
        "step:4294967296",
        "job:0",
        "step:0",
        "job:",
        "",
        ":",
        "job:1:1",
        "root:1",
        "\u{1b}[2J",
    ];
    let short = short.map(|text| text.as_bytes().to_vec());
    short
        .into_iter()
        .chain(long.map(String::into_bytes))
        .collect()
}

#[test]
fn requests_that_srun_would_not_send() {
    if !two_cpus() {
        return;
    }
    let victim = Victim::start(hostile::berth("").set("SlurmdDebug=debug"));
    let attack = |attacker: &Attacker<'_>| {
        let job = attacker.job(&["-n1"]);
        let own = own_cpus(attacker, &job);
        for text in texts() {
            let option = [("option cpuset", text.as_slice())];
            stays(
                &step(attacker, &job.option(), "--cpuset=NCPUS=1", &option),
                &own,
                &text,
            );
        }
        for size in sizes() {
            for cpuset in [
                "--cpuset=NCPUS=1",
                "--cpuset=CPUSET_OPTIONS=CPUSET_CPU_EXCLUSIVE",
            ] {
                let option = [("option berth-cpuset-size", size.as_slice())];
                stays(&step(attacker, &job.option(), cpuset, &option), &own, &size);
            }
        }
    };
    let toll = victim.attacked(attack);
    all_is_free(victim.cluster());
    victim.stands();
    // Stock Slurm knows no such option: there the same bytes travel as variables.
    let none = hostile::stock("task/none").attacked(|attacker| {
        let job = attacker.job(&["-n1"]);
        let place = job.option();
        let words = [&[&*place, "--overlap", "-n1"], &LOOK[..]].concat();
        for text in texts().into_iter().chain(sizes()).chain(sizes()) {
            let entry = [b"BIG=".to_vec(), text].concat();
            attacker.srun(&[("env", &entry)], &words);
        }
    });
    hostile::within("requests for cpusets", toll, none);
    hostile::in_time("requests for cpusets", toll, none);
}

/// The texts that slurmd finds in a batch script's environment.
#[test]
fn requests_in_a_script_s_environment() {
    if !two_cpus() {
        return;
    }
    let victim = Victim::start(hostile::berth(""));
    victim.attacked(|attacker| {
        let names = [
            "_SLURM_SPANK_OPTION_berth_cpuset",
            "SLURM_SPANK__SLURM_SPANK_OPTION_berth_cpuset",
            "BERTH_CPUSET",
        ];
        let size = "_SLURM_SPANK_OPTION_berth_berth_cpuset_size";
        // The kernel gives no program a longer variable.
        let usable = |text: &Vec<u8>| text.len() < 100 << 10 && !text.is_empty();
        for text in texts().iter().filter(|text| usable(text)) {
            let Ok(text) = std::str::from_utf8(text) else {
                continue;
            };
            for name in names {
                let variables = [(name, text), (size, "job:999999"), ("BERTH_CONFINE", text)];
                let done = attacker.run(
                    "sbatch",
                    &["-n1", "--no-requeue", "-o/dev/null", "--wrap=true"],
                    &variables,
                );
                // sbatch itself shows its user what it was given; here it is the node that counts.
                assert!(
                    done.stderr.len() < MOST_SAID,
                    "{text:.200}: {:.500}",
                    done.stderr
                );
            }
        }
        attacker.run("scancel", &["-u", &hostile::USER.to_string()], &[]);
    });
    all_is_free(victim.cluster());
    victim.stands();
}

/// Two requests in one job, at the same time and again and again: the job has one cpuset.
#[test]
fn two_requests_in_one_job() {
    if !two_cpus() {
        return;
    }
    let victim = Victim::start(hostile::berth(""));
    victim.attacked(|attacker| {
        let job = attacker.job(&["-n1", "--mincpus=2"]);
        let place = job.option();
        let request = |text: &'static [u8]| {
            let changes = [
                ("option cpuset", text),
                ("option berth-cpuset-size", &b"job:1"[..]),
            ];
            step(attacker, &place, "--cpuset=NCPUS=1", &changes)
        };
        let texts: [&[u8]; 3] = [
            b"CPU_LIST=0;CPUSET_OPTIONS=CPUSET_CPU_EXCLUSIVE",
            b"CPU_LIST=1;CPUSET_OPTIONS=CPUSET_CPU_EXCLUSIVE",
            b"NCPUS=1",
        ];
        std::thread::scope(|threads| {
            for text in texts {
                threads.spawn(move || {
                    for _ in 0..6 {
                        let done = request(text);
                        if let Some((cpus, _)) = found(&done) {
                            let expected = match text {
                                b"NCPUS=1" => cpus.len() == 1,
                                other => other[9..10] == *cpus.as_bytes(),
                            };
                            let text = String::from_utf8_lossy(text);
                            assert!(expected, "{text} got {cpus}: {done:#?}");
                        } else {
                            assert!(done.stderr.contains("cpuset"), "{done:#?}");
                        }
                    }
                });
            }
        });
    });
    all_is_free(victim.cluster());
    victim.stands();
}

/// A step that holds both CPUs, and forty that wait for them, or that only sleep as long.
fn forty(attacker: &Attacker<'_>, waits: bool) {
    const WANTED: &str = "--cpuset=CPUSET_OPTIONS=CPUSET_CPU_EXCLUSIVE";
    let options = |own: &'static str| match waits {
        true => vec![WANTED],
        false => vec![own],
    };
    let all = ["-n1", "-c2", "-N1"];
    let holder = attacker.job(&all);
    let mut holding = attacker.program("srun");
    holding.args([&*holder.option(), "-n1", "-c2"]);
    holding.args(options("--overlap")).args(["sleep", "40"]);
    let mut holding = holding.spawn().expect("srun");
    thread::sleep(Duration::from_secs(1));
    let job = attacker.job(&all);
    let steps: Vec<_> = (0..40)
        .map(|_| {
            let mut step = attacker.program("srun");
            step.args([&*job.option(), "--overlap", "-n1", "-c2"]);
            step.args(options("--overlap"));
            step.args(["sleep", if waits { "0" } else { "5" }]);
            step.stdout(Stdio::null()).stderr(Stdio::piped());
            step.spawn().expect("srun")
        })
        .collect();
    for step in steps {
        let done = step.wait_with_output().expect("srun's end");
        let said = String::from_utf8_lossy(&done.stderr);
        let refused = said.contains("is not started: --cpuset:") && said.contains("has waited");
        assert_eq!(refused, waits, "{said}");
    }
    process::end(&mut holding);
}

#[test]
fn steps_that_wait_disturb_nobody() {
    if !two_cpus() {
        return;
    }
    let berth = Victim::start(hostile::berth(""));
    // Only where the service runs a step waits for a job that may just be stopping.
    let _service = Service::start(berth.cluster());
    let berth = berth.attacked(|attacker| forty(attacker, true));
    let stock = hostile::stock("task/affinity");
    let stock = stock.attacked(|attacker| forty(attacker, false));
    let ratio = berth.bystander.as_secs_f64() / stock.bystander.as_secs_f64();
    hostile::say(&format!(
        "forty steps that wait for a cpuset: bystander {:.2?}, {ratio:.1} times task/affinity's",
        berth.bystander
    ));
    hostile::within("forty steps that wait", berth, stock);
    hostile::in_time("forty steps that wait", berth, stock);
}
