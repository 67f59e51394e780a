//! `berth-select-truth [--lines N] [--seed S]`: asks the real slurmctld N random lines on random clusters, prints those
//! for which the model says otherwise, and ends with 1 if these are too many. Asking needs root and Slurm, as `ci/cluster`
//! does. The seed stands on stderr and in each paragraph; `select_truth::record` has their form.

use std::process::ExitCode;
use std::time::Instant;

use berth_tests::select_truth::{Known, Tally, ask, compare, release};

fn main() -> ExitCode {
    let (mut lines, mut seed) = (500, fastrand::u64(..1_000_000));
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let number = words.next().and_then(|word| word.parse().ok());
        match (word.as_str(), number) {
            ("--lines", Some(number)) => lines = number as usize,
            ("--seed", Some(number)) => seed = number,
            _ => {
                eprintln!("usage: berth-select-truth [--lines N] [--seed S]");
                return ExitCode::from(2);
            }
        }
    }
    eprintln!("seed {seed}");
    let start = Instant::now();
    let records = ask(seed, lines);
    let (count, seconds) = (records.len(), start.elapsed().as_secs());
    eprintln!("{count} lines in {seconds} s");
    let release = release();
    let (mut tally, known) = (Tally::default(), Known::listed());
    for record in &records {
        tally.add(record, &compare(record, release), &known);
    }
    print!("{}", tally.report);
    println!("{release}: {}", tally.summary());
    ExitCode::from(u8::from(!tally.is_good(release)))
}
