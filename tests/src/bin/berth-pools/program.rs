//! What the jobs of the experiment run: this very program, with a role.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::thread;
use std::time::{Duration, Instant};

use nix::time::{ClockId, ClockNanosleepFlags, clock_gettime, clock_nanosleep};

use crate::hidden::hide;

/// How long the light sleeper is watched, and how long each of its sleeps is.
const WATCHED: Duration = Duration::from_secs(8);
const NAP: Duration = Duration::from_millis(2);
/// The roles `half` and `beat` work for a turn, and then sleep for one.
pub(crate) const TURN: Duration = Duration::from_millis(100);
/// How long the role `beat` works and sleeps, and the first part of each turn that is looked at by itself.
pub(crate) const BEATS: Duration = Duration::from_secs(20);
const FIRST: Duration = Duration::from_millis(20);
/// The role `brief` ends by itself after this time. It is long enough for slurmstepd's looks at its threads, and for
/// what is looked at meanwhile on an emulated machine.
const BRIEF: Duration = Duration::from_secs(30);
/// The role `talk` writes a line so often.
const LINE: Duration = Duration::from_millis(10);

/// Plays a role, if the words name one.
pub(crate) fn run(words: &[String]) -> Option<ExitCode> {
    let [role, threads, folder] = words else {
        return None;
    };
    let (threads, folder) = (threads.parse().ok()?, Path::new(folder));
    match role.as_str() {
        "spin" => busy(threads, folder, |_| spin(None)),
        "half" => busy(threads, folder, half),
        "brief" => busy(threads, folder, |_| spin(Some(BRIEF))),
        "talk" => talk(threads, folder),
        "beat" => beat(folder),
        "wake" => wake(folder),
        "escape" => escape(threads, folder),
        "daemon" => daemon(threads, folder),
        "hide" => hide(threads, folder),
        _ => return None,
    }
    Some(ExitCode::SUCCESS)
}

/// Writes down who it is: the job has begun.
pub(crate) fn tell(folder: &Path) {
    let variable = |name| std::env::var(name).unwrap_or_default();
    let id = variable("SLURM_PROCID");
    let told = ["NCPUS", "OMP_NUM_THREADS", "SLURM_JOB_ID"]
        .map(variable)
        .join(" ");
    fs::write(folder.join(format!("told.{id}")), told).expect("a file");
    let own = fs::read("/proc/self/cgroup").expect("a cgroup");
    fs::write(folder.join(format!("cgroup.{id}")), own).expect("a file");
}

/// Some work; a small part of a millisecond.
fn work() {
    std::hint::black_box((0..2_000).fold(0_u64, |sum, number| sum ^ std::hint::black_box(number)));
}

/// Keeps some threads busy, each with the same work since the same time.
fn busy(threads: u32, folder: &Path, work: fn(Duration)) {
    let since = monotonic();
    let all: Vec<_> = (0..threads)
        .map(|_| thread::spawn(move || work(since)))
        .collect();
    tell(folder);
    all.into_iter().for_each(|one| drop(one.join()));
}

/// Works for some time, or until it is killed.
fn spin(most: Option<Duration>) {
    let since = Instant::now();
    while most.is_none_or(|most| since.elapsed() < most) {
        work();
    }
}

/// Works for a turn and sleeps for a turn, until it is killed.
fn half(since: Duration) {
    let mut begins = since;
    loop {
        while monotonic() < begins + TURN {
            work();
        }
        begins = next(begins, monotonic());
        sleep_until(begins);
    }
}

/// The first turn of work that begins after a moment.
fn next(begins: Duration, now: Duration) -> Duration {
    let mut next = begins + TURN * 2;
    while next <= now {
        next += TURN * 2;
    }
    next
}

/// Keeps threads busy and writes all the time, so that its slurmstepd is at work too.
fn talk(threads: u32, folder: &Path) {
    for _ in 0..threads {
        thread::spawn(|| spin(None));
    }
    tell(folder);
    loop {
        println!("a line that slurmstepd passes on");
        thread::sleep(LINE);
    }
}

/// Works for a turn and sleeps for a turn, and writes a line for each wake-up: microseconds from the timer's due time
/// until the thread ran, microseconds that it waited for the CPU as the kernel counts them, its part of the next
/// 20 ms, and its part of the turn, of which the wait is a part.
fn beat(folder: &Path) {
    tell(folder);
    let (mut text, mut due) = (String::new(), monotonic() + TURN);
    let end = due + BEATS;
    while due < end {
        let before = waited();
        sleep_until(due);
        let (woke, began) = (monotonic(), used());
        let waited = waited().saturating_sub(before);
        let part = |until: Duration, lost: Duration| {
            while monotonic() < until {
                work();
            }
            let (used, passed) = (used() - began, monotonic() - woke + lost);
            used.as_secs_f64() / passed.as_secs_f64()
        };
        let first = part(woke + FIRST, Duration::ZERO);
        let whole = part(due + TURN, waited);
        let (late, waited) = ((woke - due).as_micros(), waited.as_micros());
        // A String takes everything.
        let _ = writeln!(text, "{late} {waited} {first:.4} {whole:.4}");
        // A turn that it had no CPU for is no wake-up.
        due = next(due, monotonic());
    }
    let id = std::env::var("SLURM_PROCID").unwrap_or_default();
    fs::write(folder.join(format!("beats.{id}")), text + "end\n").expect("a file");
}

fn monotonic() -> Duration {
    clock_gettime(ClockId::CLOCK_MONOTONIC)
        .expect("a clock")
        .into()
}

/// The CPU time of this thread.
fn used() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID)
        .expect("a clock")
        .into()
}

/// For how long this thread could have run and had no CPU.
fn waited() -> Duration {
    let text = fs::read_to_string("/proc/thread-self/schedstat").expect("the kernel's account");
    let waited = text.split(' ').nth(1).and_then(|text| text.parse().ok());
    Duration::from_nanos(waited.expect("a time"))
}

/// Sleeps until a moment: the kernel has the timer's time itself, whatever happens to this thread before it sleeps.
fn sleep_until(then: Duration) {
    let flags = ClockNanosleepFlags::TIMER_ABSTIME;
    while clock_nanosleep(ClockId::CLOCK_MONOTONIC, flags, &then.into()).is_err() {}
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

/// Does what a program does that wants more than it was given: widens its affinity, asks for a higher priority, and
/// starts a daemon that does so again.
fn escape(threads: u32, folder: &Path) {
    try_tool(folder, "widened", &["taskset", "-cp", "0-1023"]);
    try_tool(folder, "higher", &["chrt", "-r", "-p", "50"]);
    fork(folder, "daemon", threads);
    thread::sleep(Duration::from_secs(3600));
}

/// The first child, in a session of its own: it has left its parent's session, widens its affinity again, forks another
/// child and ends. That one is nobody's child any more, and works on as many threads as it may.
fn daemon(threads: u32, folder: &Path) {
    try_tool(folder, "widened-again", &["taskset", "-cp", "0-1023"]);
    fork(folder, "spin", threads);
}

/// This program with another role, in a session of its own and without its parent.
fn fork(folder: &Path, role: &str, threads: u32) {
    let me = std::env::current_exe().expect("this program's path");
    let mut setsid = Command::new("setsid");
    setsid.arg("--fork").arg(me).arg(role);
    setsid.arg(threads.to_string()).arg(folder);
    assert!(
        setsid.status().expect("setsid").success(),
        "setsid has failed"
    );
}

/// Has a program change this process, and writes down whether it did: `yes`, `no`, or `missing`.
fn try_tool(folder: &Path, name: &str, words: &[&str]) {
    let mut tool = Command::new(words[0]);
    tool.args(&words[1..]).arg(std::process::id().to_string());
    let told = match tool.status() {
        Ok(status) if status.success() => "yes",
        Ok(_) => "no",
        Err(_) => "missing",
    };
    println!("{name}: {told}");
    fs::write(folder.join(name), told).expect("a file");
}
