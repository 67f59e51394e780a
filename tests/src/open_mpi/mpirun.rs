//! What mpirun binds: each rank's CPUs as the kernel has them.

use std::collections::BTreeMap;
use std::process::{Command, ExitCode};

use crate::process::own_status;

/// Slots of the node where `ppr` counts them; elsewhere there are as many as tasks.
const MANY_SLOTS: u32 = 64;

/// Each rank's CPUs, or the reason why mpirun started none.
pub type Ranks = Result<BTreeMap<u32, String>, String>;

/// The version that mpirun says.
///
/// # Panics
/// If there is no mpirun.
#[must_use]
pub fn version() -> String {
    let said = Command::new("mpirun").arg("--version").output();
    let said = said.expect("mpirun is installed").stdout;
    let said = String::from_utf8_lossy(&said).into_owned();
    said.lines().next().unwrap_or_default().into()
}

/// Runs a request, `-n4 --map-by core`.
///
/// # Errors
/// Why mpirun starts no rank.
///
/// # Panics
/// If mpirun cannot be run.
pub fn ask(request: &str) -> Ranks {
    let (tasks, words) = with_threads(request);
    let slots = match request.contains("ppr:") {
        false => tasks.clone(),
        true => MANY_SLOTS.to_string(),
    };
    let this = std::env::current_exe().expect("this program");
    let output = Command::new("timeout")
        .args(["--kill-after=5", "120", "mpirun", "--allow-run-as-root"])
        .args(["--host", &format!("localhost:{slots}"), "-n", &tasks])
        .args(words)
        .arg(this)
        .arg("rank")
        .output()
        .expect("mpirun can be run");
    let printed = String::from_utf8_lossy(&output.stdout);
    // Some failures end with 0.
    if !output.status.success() || printed.trim().is_empty() {
        return Err(why(&String::from_utf8_lossy(&output.stderr)));
    }
    let ranks = printed.lines().filter_map(|line| {
        let (rank, cpus) = line.split_once(' ')?;
        Some((rank.parse().ok()?, cpus.to_string()))
    });
    Ok(ranks.collect())
}

/// The first words of what mpirun says, without its frames and empty lines.
fn why(said: &str) -> String {
    let lines = said.lines().map(str::trim);
    let words = lines.filter(|line| line.contains(char::is_alphabetic));
    words.take(3).collect::<Vec<_>>().join(" ")
}

/// The number of tasks and the options. Where tasks are mapped to hardware threads, and where they are
/// bound to some without a mapping, mpirun needs `hwtcpus`, which berth implies.
fn with_threads(request: &str) -> (String, Vec<String>) {
    let mut words = request.split(' ').map(String::from);
    let tasks = words.next().unwrap_or_default();
    let mut words: Vec<_> = words.collect();
    let map = words.iter().position(|word| word == "--map-by");
    match map.and_then(|at| words.get_mut(at + 1)) {
        Some(map) if map.contains("hwthread") && !map.contains("hwtcpus") => *map += ":hwtcpus",
        None if request.contains("hwthread") => {
            words.extend(["--map-by".into(), ":hwtcpus".into()]);
        }
        _ => {}
    }
    (tasks.trim_start_matches("-n").into(), words)
}

/// What each rank prints: its number and its CPUs.
#[must_use]
pub fn rank() -> ExitCode {
    let rank = std::env::var("PMIX_RANK").unwrap_or_default();
    println!("{rank} {}", own_status("Cpus_allowed_list"));
    ExitCode::SUCCESS
}
