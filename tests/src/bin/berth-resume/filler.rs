//! The tasks' program: it fills memory, and then shows in a file that it runs.

use std::fs;
use std::thread::sleep;
use std::time::Duration;

/// A page of every machine here.
const PAGE: usize = 4096;
const BEAT: Duration = Duration::from_millis(50);

/// Fills so many MiB, and counts until somebody ends it.
pub fn fill(mark: &str, size: usize) -> ! {
    let mut memory = vec![0_u8; size << 20];
    memory.iter_mut().step_by(PAGE).for_each(|byte| *byte = 1);
    let task = std::env::var("SLURM_PROCID").unwrap_or_default();
    let file = format!("{mark}.{task}");
    for beat in 0_u64.. {
        // It may be frozen at any point.
        fs::write(format!("{file}.new"), beat.to_string()).expect("a file that shows it");
        fs::rename(format!("{file}.new"), &file).expect("the same file");
        // It stays in use.
        let at = beat as usize * PAGE % memory.len();
        memory[at] = memory[at].wrapping_add(1);
        sleep(BEAT);
    }
    std::process::exit(0)
}
