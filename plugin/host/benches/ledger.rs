//! `cargo bench -p berth-host`: what the ledger costs one launch in slurmstepd, by the number of live
//! steps: opened, locked, read, looked through, an entry written and freed again. Each live step is
//! a real process that holds its entry.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use berth_host::StateDir;
use berth_host::ledger::{Entry, Ledger, StepKey};
use berth_placement::{CpuId, CpuSet};

const SIZES: [u32; 4] = [0, 16, 64, 256];
const CALLS: usize = 2001;
const PATIENCE: Duration = Duration::from_secs(1);

fn main() {
    if let Ok(job) = std::env::var("LIVES") {
        return live(job.parse().expect("a job's number"));
    }
    println!(
        "| live steps | elsewhere on the node, µs | on the step's CPUs, of one job | on the step's CPUs, a job each |"
    );
    println!("|---:|---:|---:|---:|");
    for steps in SIZES {
        let cells = [(false, false), (true, false), (true, true)].map(|(near, jobs)| {
            let (least, middle) = measure(steps, near, jobs);
            format!("{least:.1}, {middle:.1}")
        });
        println!("| {steps} | {} |", cells.join(" | "));
    }
}

fn step(job: u32, step: u32) -> StepKey {
    StepKey {
        job,
        step,
        component: u32::MAX,
    }
}

/// The part of a live step's process.
fn live(number: u32) {
    let base = std::env::var("BASE").expect("the state directory");
    let job = std::env::var("JOB")
        .ok()
        .and_then(|job| job.parse().ok())
        .unwrap_or(number);
    let dir = StateDir::new(base.as_ref(), "n1").expect("a node's name");
    let ledger = Ledger::open(&dir).expect("a ledger");
    let entry = Entry {
        step: step(job, number),
        cpus: [CpuId(number * 2), CpuId(number * 2 + 1)]
            .into_iter()
            .collect(),
        request: "linear:1".into(),
        ..Entry::default()
    };
    let mut session = ledger.session(PATIENCE).expect("the ledger");
    let mut held = session.hold(entry).expect("a written entry");
    drop(session);
    held.started(std::process::id() as i32, Vec::new())
        .expect("a written entry");
    println!("ready");
    std::thread::sleep(Duration::from_secs(600));
}

/// Least and middle microseconds of one launch.
fn measure(steps: u32, near: bool, jobs: bool) -> (f64, f64) {
    let base = tempfile::tempdir().expect("a temporary folder");
    let dir = StateDir::new(base.path(), "n1").expect("a node's name");
    dir.prepare().expect("a state directory");
    let own: CpuSet = if near {
        CpuSet::first(512)
    } else {
        (512..1024).map(CpuId).collect()
    };
    let mut living: Vec<Child> = Vec::new();
    for number in 0..steps {
        let job = if jobs { number } else { 7 };
        living.push(start(number, (!jobs).then_some(job), base.path()));
    }
    let mut times: Vec<f64> = (0..CALLS).map(|_| launch(&dir, &own)).collect();
    for child in &mut living {
        let _ = child.kill();
        let _ = child.wait();
    }
    times.sort_by(f64::total_cmp);
    (times[0], times[times.len() / 2])
}

fn start(number: u32, job: Option<u32>, base: &std::path::Path) -> Child {
    use std::io::{BufRead, BufReader};
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command
        .env("LIVES", number.to_string())
        .env("BASE", base)
        .stdout(Stdio::piped());
    if let Some(job) = job {
        command.env("JOB", job.to_string());
    }
    let mut child = command.spawn().expect("a process");
    let mut line = String::new();
    let out = child.stdout.as_mut().expect("its output");
    BufReader::new(out).read_line(&mut line).expect("its word");
    assert_eq!(line, "ready\n");
    child
}

fn launch(dir: &StateDir, own: &CpuSet) -> f64 {
    let entry = Entry {
        step: step(9999, 0),
        cpus: own.clone(),
        request: "linear:1".into(),
        ..Entry::default()
    };
    let since = Instant::now();
    let ledger = Ledger::open(dir).expect("a ledger");
    let mut session = ledger.session(PATIENCE).expect("the ledger");
    let occupied = session.others(entry.step, own).all_running();
    let held = session.hold(entry).expect("a written entry");
    drop(session);
    let took = since.elapsed();
    held.release().expect("a written entry");
    std::hint::black_box(occupied);
    took.as_secs_f64() * 1e6
}
