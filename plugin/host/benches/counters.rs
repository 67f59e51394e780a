//! `cargo bench -p berth-host --bench counters`: what counting costs the end of a step, alone and
//! while other steps of the node end at the same moment.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use berth_host::StateDir;
use berth_host::counters::{self, Counters, Facts};

const CALLS: usize = 2001;
const OTHERS: [usize; 3] = [0, 1, 7];

fn main() {
    println!("| others at the same moment | least, µs | middle | longest | not counted |");
    println!("|---:|---:|---:|---:|---:|");
    for others in OTHERS {
        measure(others);
    }
}

fn measure(others: usize) {
    // Where the state directory is on a node: in memory.
    let base = tempfile::tempdir_in("/dev/shm").expect("a temporary folder");
    let dir = StateDir::new(base.path(), "n1").expect("a node's name");
    dir.prepare().expect("a state directory");
    let facts = Facts::default();
    let one = Counters {
        launches: 1,
        ..Counters::default()
    };
    let ended = AtomicBool::new(false);
    let (mut times, mut lost) = (Vec::new(), 0);
    std::thread::scope(|scope| {
        for _ in 0..others {
            scope.spawn(|| {
                while !ended.load(Ordering::Relaxed) {
                    let _ = counters::add(&dir, &facts, &one);
                }
            });
        }
        for _ in 0..CALLS {
            let since = Instant::now();
            lost += usize::from(counters::add(&dir, &facts, &one).is_err());
            times.push(since.elapsed().as_secs_f64() * 1e6);
        }
        ended.store(true, Ordering::Relaxed);
    });
    times.sort_by(f64::total_cmp);
    let (least, middle, longest) = (times[0], times[CALLS / 2], times[CALLS - 1]);
    println!("| {others} | {least:.1} | {middle:.1} | {longest:.1} | {lost} of {CALLS} |");
}
