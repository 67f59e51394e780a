//! Launch messages at random: all kinds of binding, lists of all kinds and lengths, broken counts.

use std::time::{SystemTime, UNIX_EPOCH};

use berth_tests::hostile::{self, Attacker, Victim};
use berth_tests::two_cpus;

/// Messages that are sent.
const MESSAGES: usize = 60;

/// Fields of 16 and of 32 bits that srun or slurmctld fill and nobody checks again.
const COUNTS: [&str; 9] = [
    "cpus_per_task",
    "threads_per_core",
    "ntasks_per_core",
    "ntasks_per_socket",
    "job_core_spec",
    "node_cpus",
    "task_dist",
    "flags",
    "ntasks",
];

const PIECES: [&str; 15] = [
    "0x1",
    "0x2",
    "0xffffffffffffffff",
    "0",
    "1",
    "-1",
    "*",
    "*65535",
    "*99999999999",
    ",",
    ",,",
    "0x",
    "mask_cpu:0x2",
    "\u{1b}[2J",
    FORGED_LINE,
];

const FORGED_LINE: &str = "\n[2026-01-01T00:00:00.000] a user says that all is well\n";

fn list(random: &mut fastrand::Rng) -> Vec<u8> {
    let mut text = String::new();
    for _ in 0..random.usize(0..40) {
        text.push_str(random.choice(&PIECES).unwrap_or(&""));
    }
    if random.u8(0..6) == 0 {
        text = text.repeat(1 << random.u8(0..14));
    }
    if random.u8(0..6) == 0 {
        text = format!("0x{}", "f".repeat(1 << random.u8(0..20)));
    }
    text.into_bytes()
}

fn number(random: &mut fastrand::Rng, most: u32) -> u32 {
    match random.u8(0..4) {
        0 => 0,
        1 => most,
        2 => most - 1,
        _ => random.u32(0..=most) >> random.u8(0..16),
    }
}

/// One message's changes: names and values.
fn changes(random: &mut fastrand::Rng) -> Vec<(&'static str, Vec<u8>)> {
    let bits = |random: &mut fastrand::Rng| match random.bool() {
        true => 1u32 << random.u8(0..16),
        false => random.u32(0..=0xffff),
    };
    let mut changes = vec![
        ("cpu_bind_type", bits(random).to_string().into_bytes()),
        ("cpu_bind", list(random)),
    ];
    if random.bool() {
        changes.push(("mem_bind_type", bits(random).to_string().into_bytes()));
        changes.push(("mem_bind", list(random)));
    }
    for (at, name) in COUNTS.into_iter().enumerate() {
        if random.u8(0..4) == 0 {
            let most = if at < 6 { 0xffff } else { 0xffff_ffff };
            // Without an allocation, with a terminal, several programs: srun would wait for more.
            let kept = if name == "flags" { !0x1f } else { u32::MAX };
            let value = number(random, most) & kept;
            changes.push((name, value.to_string().into_bytes()));
        }
    }
    changes
}

fn play(attacker: &Attacker<'_>, seed: u64) {
    let mut random = fastrand::Rng::with_seed(seed);
    let job = attacker.job(&["-n1"]);
    for _ in 0..MESSAGES {
        let changes = changes(&mut random);
        let changes: Vec<_> = changes
            .iter()
            .map(|(name, value)| (*name, value.as_slice()))
            .collect();
        attacker.srun(&changes, &[&job.option(), "--overlap", "-n1", "true"]);
    }
}

/// srun was granted one task; more of them are the user's own, whoever counts.
#[test]
fn more_tasks_than_were_granted() {
    if !two_cpus() {
        return;
    }
    let builder = hostile::berth("");
    hostile::compare("more tasks than were granted", builder, |attacker| {
        let job = attacker.job(&["-n1"]);
        for tasks in [&b"3"[..], b"100"] {
            for bind in ["--cpu-bind=cores", "--cpu-bind=none"] {
                let place = job.option();
                let options = [&*place, "--overlap", "-n1", bind, "true"];
                attacker.srun(&[("tasks_to_launch", tasks)], &options);
            }
        }
    });
}

#[test]
fn messages_at_random() {
    if !two_cpus() {
        return;
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let seed = match std::env::var("BERTH_SEED") {
        Ok(seed) => seed.parse().expect("BERTH_SEED is a number"),
        Err(_) => now.map_or(0, |now| now.as_nanos() as u64),
    };
    println!("seed {seed}: BERTH_SEED={seed} repeats this test");
    let toll = Victim::start(hostile::berth("")).attacked(|attacker| play(attacker, seed));
    let none = hostile::stock("task/none").attacked(|attacker| play(attacker, seed));
    hostile::within("messages at random", toll, none);
    hostile::in_time("messages at random", toll, none);
}
