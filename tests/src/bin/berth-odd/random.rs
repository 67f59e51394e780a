//! Random requests, the same for the same seed, in srun's own spelling.

use fastrand::Rng;

const ORDERS: [&str; 9] = [
    "block:block",
    "block:cyclic",
    "block:fcyclic",
    "cyclic:block",
    "cyclic:cyclic",
    "cyclic:fcyclic",
    "block:block:cyclic",
    "block:cyclic:fcyclic",
    "plane=2",
];
const LIMITS: [&str; 6] = [
    "--ntasks-per-core=1",
    "--ntasks-per-core=2",
    "--ntasks-per-socket=1",
    "--ntasks-per-socket=3",
    "--hint=nomultithread",
    "--threads-per-core=1",
];
const LEVELS: [&str; 6] = ["", "threads", "threads", "cores", "cores", "sockets"];

/// So many requests.
pub fn requests(count: usize, seed: u64) -> Vec<String> {
    let mut rng = Rng::with_seed(seed);
    (0..count).map(|_| request(&mut rng)).collect()
}

fn request(rng: &mut Rng) -> String {
    let mut words = Vec::new();
    if rng.u8(0..5) == 0 {
        words.push(format!("-n{}", rng.u32(1..=4)));
        words.push(format!("--binding={}", strategy(rng)));
        return words.join(" ");
    }
    let overcommit = rng.u8(0..3) == 0;
    let most = if overcommit { 16 } else { 8 };
    words.push(format!("-n{}", rng.u32(1..=most)));
    if rng.bool() {
        words.push(format!("-c{}", rng.u32(1..=3)));
    }
    let level = LEVELS[rng.usize(0..LEVELS.len())];
    if !level.is_empty() {
        words.push(format!("--cpu-bind={level}"));
    }
    if rng.bool() {
        words.push(format!("-m {}", ORDERS[rng.usize(0..ORDERS.len())]));
    }
    if rng.u8(0..3) == 0 {
        words.push(LIMITS[rng.usize(0..LIMITS.len())].into());
    }
    if overcommit {
        words.push("-O".into());
    } else if rng.u8(0..4) == 0 {
        words.push("--exact".into());
    }
    words.join(" ")
}

fn strategy(rng: &mut Rng) -> String {
    let amount = rng.u32(1..=3);
    let scope = if rng.u8(0..4) == 0 { "host:" } else { "" };
    let (socket, core) = (rng.u32(0..2), rng.u32(0..4));
    match rng.u8(0..4) {
        0 => format!("{scope}linear:{amount}"),
        1 => format!("{scope}linear:{amount}:{socket},{core}"),
        2 => format!("{scope}striding:{amount}:{}", rng.u32(1..=3)),
        _ => format!("explicit:{socket},{core}"),
    }
}
