//! `berth-select-truth [--lines N] [--seed S]`: asks the real slurmctld N random lines on random
//! clusters, and prints what it gave, one paragraph for each line (`select_truth::record` has the form).
//! Needs root and Slurm, as `ci/cluster` does. The seed stands on stderr and in each paragraph.

use std::process::ExitCode;
use std::time::Instant;

use berth_tests::select_truth::ask;

fn main() -> ExitCode {
    let (mut lines, mut seed) = (500, None);
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let number = words.next().and_then(|word| word.parse::<u64>().ok());
        match (word.as_str(), number) {
            ("--lines", Some(number)) => lines = number as usize,
            ("--seed", Some(number)) => seed = Some(number),
            _ => {
                eprintln!("usage: berth-select-truth [--lines N] [--seed S]");
                return ExitCode::from(2);
            }
        }
    }
    let seed = seed.unwrap_or_else(|| fastrand::u64(..1_000_000));
    let start = Instant::now();
    let records = ask(seed, lines, |records| {
        for record in records {
            println!("{record}");
        }
    });
    let seconds = start.elapsed().as_secs();
    eprintln!("seed {seed}: {} lines in {seconds} s", records.len());
    ExitCode::SUCCESS
}
