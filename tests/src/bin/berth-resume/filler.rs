//! The tasks' program: it fills memory, and then shows in a file that it runs.

use std::fs;
use std::process::exit;
use std::thread::{sleep, spawn};
use std::time::Duration;

use nix::sys::signal::{SigSet, Signal};

/// A page of every machine here.
const PAGE: usize = 4096;
const BEAT: Duration = Duration::from_millis(50);

/// Fills so many MiB, and counts until somebody ends it.
pub fn fill(mark: &str, size: usize) -> ! {
    let mut memory = vec![0_u8; size << 20];
    memory.iter_mut().step_by(PAGE).for_each(|byte| *byte = 1);
    let file = own_file(mark);
    for beat in 0_u64.. {
        // It may be frozen at any point.
        fs::write(format!("{file}.new"), beat.to_string()).expect("a file that shows it");
        fs::rename(format!("{file}.new"), &file).expect("the same file");
        // It stays in use.
        let at = beat as usize * PAGE % memory.len();
        memory[at] = memory[at].wrapping_add(1);
        sleep(BEAT);
    }
    exit(0)
}

/// The same, but it notes a SIGTERM in another file before it ends. The kernel ends it at no other signal than SIGKILL
/// while it is frozen.
pub fn fill_and_hear(mark: &str, size: usize) -> ! {
    let mut term = SigSet::empty();
    term.add(Signal::SIGTERM);
    term.thread_block().expect("a signal that waits");
    let file = heard_file(&own_file(mark));
    spawn(move || {
        term.wait().expect("a signal");
        fs::write(file, "").expect("a file that shows the signal");
        exit(0)
    });
    fill(mark, size)
}

fn own_file(mark: &str) -> String {
    let task = std::env::var("SLURM_PROCID").unwrap_or_default();
    format!("{mark}.{task}")
}

/// Beside the file of a task.
pub fn heard_file(file: &str) -> String {
    format!("{file}.heard")
}
