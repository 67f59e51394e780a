//! What the jobs of the experiment run: this very program, with a role.

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::thread;
use std::time::{Duration, Instant};

/// How long the wake-ups are watched, and how long each sleep is.
const WATCHED: Duration = Duration::from_secs(8);
const NAP: Duration = Duration::from_millis(2);
/// Half of the time a thread of the role `half` sleeps.
const TURN: Duration = Duration::from_millis(100);

/// Plays a role, if the words name one.
pub(crate) fn run(words: &[String]) -> Option<ExitCode> {
    let [role, threads, folder] = words else {
        return None;
    };
    let (threads, folder) = (threads.parse().ok()?, Path::new(folder));
    match role.as_str() {
        "spin" => spin(threads, folder, |_| true),
        "half" => spin(threads, folder, |since| {
            (since.as_millis() / TURN.as_millis()).is_multiple_of(2)
        }),
        "wake" => wake(folder),
        "escape" => escape(threads, folder),
        _ => return None,
    }
    Some(ExitCode::SUCCESS)
}

/// Says who it is, and begins.
fn tell(folder: &Path) {
    let variable = |name| std::env::var(name).unwrap_or_default();
    let id = variable("SLURM_PROCID");
    let told = ["NCPUS", "OMP_NUM_THREADS", "SLURM_JOB_ID"]
        .map(variable)
        .join(" ");
    fs::write(folder.join(format!("told.{id}")), told).expect("a file");
    let own = fs::read_to_string("/proc/self/cgroup").expect("a cgroup");
    fs::write(folder.join(format!("cgroup.{id}")), own).expect("a file");
}

/// Keeps some threads busy until it is killed, whenever it is their turn.
fn spin(threads: u32, folder: &Path, is_turn: fn(Duration) -> bool) {
    let since = Instant::now();
    let work = move || {
        loop {
            while is_turn(since.elapsed()) {
                std::hint::black_box(
                    (0..10_000).fold(0_u64, |sum, number| sum ^ std::hint::black_box(number)),
                );
            }
            thread::sleep(TURN / 10);
        }
    };
    let spinners: Vec<_> = (0..threads).map(|_| thread::spawn(work)).collect();
    tell(folder);
    spinners.into_iter().for_each(|one| drop(one.join()));
}

/// Sleeps for moments, and writes down how late it was woken: microseconds at 0, 50, 90, 99 and 100 %.
fn wake(folder: &Path) {
    tell(folder);
    let since = Instant::now();
    let mut late = Vec::new();
    while since.elapsed() < WATCHED {
        let before = Instant::now();
        thread::sleep(NAP);
        late.push(before.elapsed().saturating_sub(NAP).as_micros());
    }
    late.sort_unstable();
    let at = |percent: usize| late[(late.len() - 1) * percent / 100];
    let text = format!(
        "{} {} {} {} {} of {}\n",
        at(0),
        at(50),
        at(90),
        at(99),
        at(100),
        late.len()
    );
    fs::write(folder.join("late"), text).expect("a file");
}

/// Does what a program does that wants more than it was given: widens its affinity, asks for a higher priority,
/// leaves its session and its parent; the one that is left works on as many threads as it may.
fn escape(threads: u32, folder: &Path) {
    let me = std::env::current_exe().expect("this program's path");
    let widened = Command::new("taskset")
        .args(["-cp", "0-1023"])
        .arg(std::process::id().to_string())
        .status();
    let higher = Command::new("chrt")
        .args(["-r", "-p", "50"])
        .arg(std::process::id().to_string())
        .status();
    println!("widened: {widened:?}, higher: {higher:?}");
    let higher = higher.is_ok_and(|status| status.success());
    fs::write(folder.join("higher"), if higher { "yes" } else { "no" }).expect("a file");
    let spun = Command::new("setsid")
        .arg("--fork")
        .arg(me)
        .arg("spin")
        .arg(threads.to_string())
        .arg(folder)
        .status();
    assert!(spun.expect("setsid").success(), "setsid fails");
    thread::sleep(Duration::from_secs(3600));
}
