//! Lists behind `map_cpu`, `mask_cpu`, `map_ldom` and `mask_ldom`, as srun sends them: inside the
//! step's CPUs, partly or wholly outside, shorter and longer than the tasks.

use crate::case::Case;
use crate::random::Random;

/// task/affinity's masks end there; what lies beyond it does not see in a mask.
const MASK_END: u32 = 1024;
/// Beyond every machine.
const FAR: u32 = 2000;

/// How far a list leaves the step's CPUs: not at all, up to the node's last CPU, or beyond.
fn stray(case: &Case, last: u32, random: &mut Random) -> Option<u32> {
    match random.within(0, 5) {
        0..=3 => None,
        4 => Some(case.machine.pu_count()),
        _ => Some(last),
    }
}

/// The step's CPUs by kernel number, before any are specialised.
fn own_cpus(case: &Case) -> Vec<u32> {
    let (threads, map) = (u32::from(case.machine.threads), &case.machine.map);
    let cores = case.cred.cores();
    let pus = cores
        .iter()
        .flat_map(|core| core * threads..(core + 1) * threads);
    pus.map(|pu| u32::from(map[pu as usize % map.len()]))
        .collect()
}

fn cpu(own: &[u32], stray: Option<u32>, random: &mut Random) -> u32 {
    match stray {
        Some(last) if random.once_in(4) => random.within(0, last),
        _ => random.pick(own),
    }
}

fn length(case: &Case, random: &mut Random) -> u32 {
    random.within(1, u32::from(case.tasks()).min(20) + 2)
}

fn joined(count: u32, mut entry: impl FnMut() -> String) -> String {
    let entries: Vec<_> = (0..count).map(|_| entry()).collect();
    entries.join(",")
}

/// `map_cpu`.
pub fn map(case: &Case, random: &mut Random) -> String {
    let (own, stray) = (own_cpus(case), stray(case, FAR, random));
    joined(length(case, random), || {
        cpu(&own, stray, random).to_string()
    })
}

/// `mask_cpu`: srun takes `0x` away, and nothing else; other clients need not.
pub fn masks(case: &Case, random: &mut Random) -> String {
    let (own, stray) = (own_cpus(case), stray(case, MASK_END - 1, random));
    joined(length(case, random), || {
        let cpus: Vec<u32> = (0..random.within(1, 6))
            .map(|_| cpu(&own, stray, random))
            .collect();
        let digits = hexadecimal(&cpus);
        match random.within(0, 11) {
            0 if random.once_in(4) => "0".into(),
            0..=1 => digits.to_ascii_uppercase(),
            2 => format!("0x{digits}"),
            3 => format!("00{digits}")[..digits.len().min(254) + 2].to_owned(),
            _ => digits,
        }
    })
}

/// `map_ldom`: numbers past the last domain too, which wrap.
pub fn domains(case: &Case, random: &mut Random) -> String {
    let count = u32::from(case.machine.sockets * case.machine.domains);
    joined(length(case, random), || {
        random.within(0, count + 1).to_string()
    })
}

/// `mask_ldom`.
pub fn domain_masks(case: &Case, random: &mut Random) -> String {
    let count = u32::from(case.machine.sockets * case.machine.domains);
    joined(length(case, random), || {
        hexadecimal(&[random.within(0, count - 1), random.within(0, count - 1)])
    })
}

/// A mask of these CPUs.
pub(crate) fn hexadecimal(cpus: &[u32]) -> String {
    let highest = cpus.iter().max().copied().unwrap_or(0);
    let mut digits = vec![0u32; highest as usize / 4 + 1];
    for cpu in cpus {
        digits[*cpu as usize / 4] |= 1 << (cpu % 4);
    }
    digits
        .iter()
        .rev()
        .filter_map(|digit| char::from_digit(*digit, 16))
        .collect()
}
