//! What users can do to a node, played on real clusters: by a user without rights, with a client
//! that sends what srun would not, beside a bystander whose launches are timed. The same attack
//! is played against Slurm without berth, and the two are compared.

mod client;
pub mod cpusets;
mod victim;

pub use client::{Attacker, Changes, Job, USER};
pub use victim::{FORGED, Toll, Victim, limit};

use std::io::Write;
use std::time::Duration;

use berth_placement::{CpuId, CpuSet};

use crate::builder::Builder;
use crate::cluster::Cluster;

/// slurmd may take so much more than with task/none.
const MEMORY: u64 = 16 * 1024;
/// A bystander's launch never takes longer, on a machine where a launch takes [`LAUNCH`].
const PATIENCE: Duration = Duration::from_secs(5);
/// What a launch takes without an attack; emulated machines are many times as slow.
const LAUNCH: Duration = Duration::from_millis(250);

/// The cluster that is attacked: berth with these arguments of its plugstack line.
#[must_use]
pub fn berth(arguments: &str) -> Builder {
    Cluster::builder().plugstack(Some(arguments))
}

/// Slurm without berth. It need not stand an attack.
#[must_use]
pub fn stock(task_plugin: &str) -> Victim {
    Victim::of_stock(Cluster::builder().task_plugin(task_plugin).plugstack(None))
}

/// Plays an attack against berth, task/affinity and task/none, and compares.
///
/// # Panics
/// Where a node does not stand it, or pays more for berth than it may.
pub fn compare(name: &str, builder: Builder, attack: impl Fn(&Attacker<'_>) + Sync) {
    let toll = |victim: Victim| victim.attacked(&attack);
    let berth = toll(Victim::start(builder));
    let affinity = toll(stock("task/affinity"));
    let none = toll(stock("task/none"));
    let ratio = berth.bystander.as_secs_f64() / affinity.bystander.as_secs_f64().max(1e-3);
    say(&format!(
        "{name}: memory {} KiB (task/none {} KiB), bystander {:.2} s, {ratio:.1} times task/affinity's",
        berth.memory,
        none.memory,
        berth.bystander.as_secs_f64(),
    ));
    within(name, berth, none);
    in_time(name, berth, affinity);
}

/// What berth may cost beyond task/none.
///
/// # Panics
/// Where it is more.
pub fn within(name: &str, berth: Toll, none: Toll) {
    assert!(
        berth.memory <= none.memory + MEMORY,
        "{name}: slurmd took {} KiB more, with task/none {} KiB",
        berth.memory,
        none.memory
    );
}

/// A bystander waited no longer than anybody may, on this machine: five seconds, or where stock
/// Slurm needs half as long or longer under the same attack, twice what it needs.
///
/// # Panics
/// Where one did.
pub fn in_time(name: &str, toll: Toll, stock: Toll) {
    let pace = toll.launch.as_secs_f64() / LAUNCH.as_secs_f64();
    let most = PATIENCE.mul_f64(pace.max(1.0)).max(stock.bystander * 2);
    assert!(
        toll.bystander < most,
        "{name}: a bystander waited {:?}, {:?} without an attack, {:?} with stock Slurm",
        toll.bystander,
        toll.launch,
        stock.bystander
    );
}

/// A CPU that is not among a step's own (`0-1`), and its mask.
///
/// # Panics
/// Where the text is no list of CPUs.
#[must_use]
pub fn outside(own: &str) -> (u32, String) {
    let own = CpuSet::from_list(own).expect("a list of CPUs");
    let cpu = (0..).find(|cpu| !own.contains(CpuId(*cpu))).unwrap_or(0);
    (cpu, format!("{:#x}", 1u64 << cpu))
}

/// Whether all of these CPUs are among a step's own.
///
/// # Panics
/// Where a text is no list of CPUs.
#[must_use]
pub fn is_inside(cpus: &str, own: &str) -> bool {
    let set = |list| CpuSet::from_list(list).expect("a list of CPUs");
    set(cpus).is_subset(&set(own))
}

/// A line for whoever runs the tests; `ci/test` shows those of `BERTH_SUMMARY_FILE`.
pub fn say(line: &str) {
    println!("{line}");
    let Some(file) = std::env::var_os("BERTH_SUMMARY_FILE") else {
        return;
    };
    let file = std::fs::OpenOptions::new()
        .append(true)
        .create(true)
        .open(file);
    let written = file.and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()));
    written.expect("BERTH_SUMMARY_FILE can be written");
}
