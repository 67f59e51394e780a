//! Random requests: tasks, `--map-by`, `--rank-by` and `--bind-to`, as srun and mpirun both take them.

use fastrand::Rng;

const LEVELS: [&str; 7] = [
    "hwthread", "core", "l1cache", "l2cache", "l3cache", "numa", "package",
];

/// So many requests for a node with so many cores.
#[must_use]
pub fn requests(random: &mut Rng, count: usize, cores: u32) -> Vec<String> {
    (0..count).map(|_| request(random, cores)).collect()
}

fn request(random: &mut Rng, cores: u32) -> String {
    let tasks = random.u32(1..=cores + 2);
    let mut words = vec![format!("-n{tasks}")];
    if random.u8(..) < 230 {
        words.push(format!("--map-by {}", map(random, cores)));
    }
    if random.u8(..) < 80 {
        let orders = ["slot", "node", "fill", "span"];
        words.push(format!("--rank-by {}", one(random, &orders)));
    }
    if words.len() == 1 || random.u8(..) < 110 {
        words.push(format!("--bind-to {}", bind(random)));
    }
    words.join(" ")
}

fn map(random: &mut Rng, cores: u32) -> String {
    let level = one(random, &LEVELS);
    let base = match random.u8(..10) {
        0 => "slot".into(),
        1 => "node".into(),
        2 => {
            let count = random.u32(1..=3);
            format!("ppr:{count}:{level}")
        }
        3 => {
            let first = random.u32(..cores / 2);
            return format!("pe-list={first}-{}", first + random.u32(..cores / 2));
        }
        _ => level.into(),
    };
    let more = match random.u8(..8) {
        0 => format!(":pe={}", random.u32(1..=3)),
        1 => ":hwtcpus".into(),
        2 if LEVELS.contains(&base.as_str()) => ":span".into(),
        _ => String::new(),
    };
    base + &more
}

fn bind(random: &mut Rng) -> String {
    let level = one(random, &LEVELS);
    match random.u8(..8) {
        0 => "none".into(),
        1 => format!("{level}:overload-allowed"),
        2 => format!("{level}:if-supported"),
        _ => level.into(),
    }
}

fn one<'a>(random: &mut Rng, of: &[&'a str]) -> &'a str {
    of.get(random.usize(..of.len()))
        .copied()
        .unwrap_or_default()
}
