//! Random lines of srun, salloc and sbatch, and first steps.
//! In: a generator of random numbers and the size of the cluster. Out: options, as users type them.

use fastrand::Rng;

use super::world::{World, one, percent};

/// Where a random number ends: small ones are wanted most.
fn small(random: &mut Rng, most: u32) -> u32 {
    let most = most.max(1);
    let most = random.u32(1..=most);
    random.u32(1..=most)
}

/// One option of a job, with its value.
fn option(random: &mut Rng, world: &World) -> String {
    let nodes = world.shapes.len() as u32;
    let cores = world.cores;
    match random.u32(0..100) {
        0..14 => format!("-c{}", small(random, cores.min(6))),
        14..26 => node_count(random, nodes),
        26..34 => format!("--ntasks-per-node={}", small(random, 5)),
        34..39 => format!("--ntasks-per-socket={}", small(random, 4)),
        39..43 => format!("--ntasks-per-core={}", small(random, 3)),
        43..50 => node_info(random),
        50..55 => format!("--threads-per-core={}", random.u32(1..=2)),
        55..59 => format!("--hint={}", one(random, &HINTS)),
        59..63 => "--exclusive".into(),
        63..65 => "--contiguous".into(),
        65..67 => format!("--core-spec={}", random.u32(0..=2)),
        67..68 => format!("--thread-spec={}", random.u32(1..=2)),
        68..71 => "-O".into(),
        71..85 => format!("-m {}", distribution(random)),
        85..88 => format!("--mincpus={}", small(random, cores + 2)),
        88..92 => names(random, "-w", nodes),
        92..94 => names(random, "-x", nodes.saturating_sub(1)),
        94..95 => "--use-min-nodes".into(),
        95..97 => "--spread-job".into(),
        97..99 => match world.memory {
            true => format!("--mem={}", random.u32(1..=10) * 200),
            false => "-s".into(),
        },
        _ => match world.memory {
            true => format!("--mem-per-cpu={}", random.u32(1..=6) * 50),
            false => "-s".into(),
        },
    }
}

const HINTS: [&str; 4] = [
    "compute_bound",
    "memory_bound",
    "multithread",
    "nomultithread",
];

fn node_count(random: &mut Rng, nodes: u32) -> String {
    let most = nodes + u32::from(percent(random, 5));
    let least = small(random, most);
    match percent(random, 30) {
        true => format!("-N{least}-{}", random.u32(least..=nodes.max(least))),
        false => format!("-N{least}"),
    }
}

fn node_info(random: &mut Rng) -> String {
    match random.u32(0..6) {
        0 => format!("-B {}", random.u32(1..=2)),
        1 => format!("-B {}:{}", random.u32(1..=2), random.u32(1..=3)),
        2 => format!("-B *:{}", random.u32(1..=3)),
        3 => format!("-B *:*:{}", random.u32(1..=2)),
        4 => format!("--sockets-per-node={}", random.u32(1..=2)),
        _ => format!("--cores-per-socket={}", random.u32(1..=3)),
    }
}

fn distribution(random: &mut Rng) -> String {
    if percent(random, 15) {
        return format!("plane={}", random.u32(1..=4));
    }
    let mut text = one(random, &["block", "cyclic", "*"]).to_string();
    if percent(random, 65) {
        text += one(random, &[":block", ":block", ":cyclic", ":fcyclic", ":*"]);
        if percent(random, 25) {
            text += one(random, &[":block", ":cyclic", ":fcyclic"]);
        }
    }
    text + one(random, &["", "", "", ",Pack", ",NoPack"])
}

fn names(random: &mut Rng, letter: &str, nodes: u32) -> String {
    match nodes {
        0 => String::new(),
        _ => format!("{letter} n{}", random.u32(1..=nodes)),
    }
}

/// The option's name: a letter, or all before a value.
fn name(option: &str) -> &str {
    match option.starts_with("--") {
        true => option.split('=').next().unwrap_or_default(),
        false => option.get(..2).unwrap_or_default(),
    }
}

/// The options of a job. Only an option's last value would count, so each stands there once.
pub(crate) fn job(random: &mut Rng, world: &World) -> String {
    let mut options: Vec<String> = Vec::new();
    if percent(random, 75) {
        options.push(format!("-n{}", small(random, (world.cpus + 1).min(16))));
    }
    for _ in 0..random.u32(0..=4) {
        let added = option(random, world);
        let same = |known: &String| name(known) == name(&added);
        if !added.is_empty() && !options.iter().any(same) {
            options.push(added);
        }
    }
    random.shuffle(&mut options);
    options.join(" ")
}

/// The options of a step inside a job; many have none.
pub(crate) fn step(random: &mut Rng, world: &World) -> String {
    let mut options: Vec<String> = Vec::new();
    if percent(random, 55) {
        options.push(format!("-n{}", small(random, 8)));
    }
    for (often, option) in [
        (30, "--exact".to_string()),
        (10, "--overlap".into()),
        (5, "--exclusive".into()),
        (15, format!("-c{}", small(random, 4))),
        (
            12,
            format!("-N{}", small(random, world.shapes.len() as u32)),
        ),
        (15, format!("-m {}", distribution(random))),
        (7, format!("--threads-per-core={}", random.u32(1..=2))),
        (6, format!("--ntasks-per-node={}", random.u32(1..=3))),
        (3, "-O".into()),
    ] {
        if percent(random, often) {
            options.push(option);
        }
    }
    options.join(" ")
}
