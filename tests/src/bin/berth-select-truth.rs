//! `berth-select-truth [--lines N] [--seed S] [--cluster N] [--compare] [--file FILE] [--release LINE]`: asks the real slurmctld N random
//! lines on random clusters, and prints what it gave, one paragraph for each line
//! (`select_truth::record` has the form). With `--compare` it prints only the lines for which the model says
//! otherwise, and ends with 1 if these are too many. `--file` reads such paragraphs instead of
//! asking; `--command` asks `berth plan --cluster` for the jobs and first steps; and `--cluster` asks one cluster of a run again.
//! Asking needs root and Slurm, as `ci/cluster` does. The seed stands on stderr and in each paragraph.

use std::process::ExitCode;
use std::time::Instant;

use berth_srun::Release;
use berth_tests::select_truth::record::Record;
use berth_tests::select_truth::{
    Compared, Known, Tally, ask, ask_cluster, compare, record, release, through_the_command,
};

struct Options {
    lines: usize,
    seed: u64,
    compare: bool,
    command: bool,
    file: Option<String>,
    release: Option<Release>,
    cluster: Option<usize>,
}

fn options() -> Option<Options> {
    let mut options = Options {
        lines: 500,
        seed: fastrand::u64(..1_000_000),
        compare: false,
        command: false,
        file: None,
        release: None,
        cluster: None,
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--compare" => options.compare = true,
            "--command" => (options.compare, options.command) = (true, true),
            "--lines" => options.lines = words.next()?.parse().ok()?,
            "--seed" => options.seed = words.next()?.parse().ok()?,
            "--file" => options.file = Some(words.next()?),
            "--cluster" => options.cluster = Some(words.next()?.parse().ok()?),
            "--release" => options.release = Some(words.next()?.parse().ok()?),
            _ => return None,
        }
    }
    Some(options)
}

fn main() -> ExitCode {
    let Some(options) = options() else {
        eprintln!(
            "usage: berth-select-truth [--lines N] [--seed S] [--compare] [--command] [--file FILE] [--cluster N] [--release LINE]"
        );
        return ExitCode::from(2);
    };
    let (start, seed) = (Instant::now(), options.seed);
    let records = match (&options.file, options.cluster) {
        (Some(file), _) => {
            let text = std::fs::read_to_string(file).unwrap_or_else(|why| panic!("{file}: {why}"));
            record::read(&text).unwrap_or_else(|why| panic!("{file}: {why}"))
        }
        (None, Some(cluster)) => {
            let records = ask_cluster(seed, cluster);
            for record in records.iter().filter(|_| !options.compare) {
                println!("{record}");
            }
            records
        }
        (None, None) => {
            eprintln!("seed {seed}");
            ask(seed, options.lines, |records| {
                for record in records.iter().filter(|_| !options.compare) {
                    println!("{record}");
                }
            })
        }
    };
    let (count, seconds) = (records.len(), start.elapsed().as_secs());
    eprintln!("{count} lines in {seconds} s");
    if !options.compare {
        return ExitCode::SUCCESS;
    }
    let release = options.release.unwrap_or_else(release);
    let tally = tallied(&records, release, options.command);
    print!("{}", tally.report);
    println!("{release}: {}", tally.summary());
    ExitCode::from(u8::from(!tally.is_good(release)))
}

/// What the model says of every record, or the command of every first step.
fn tallied(records: &[Record], release: Release, by_command: bool) -> Tally {
    let (mut tally, known) = (Tally::default(), Known::listed());
    for record in records {
        let mut compared = compare(record, release);
        if by_command {
            let Some(job) = through_the_command(record, release) else {
                continue;
            };
            compared = Compared {
                job,
                cpus: None,
                step: None,
            };
        }
        tally.add(record, &compared, &known);
    }
    tally
}
