//! `berth-srun-lines FILE [--random N] [--seed S]`: the real srun's reading of every line of a
//! file, and of N random ones, beside ours; and the table of options beside getopt's. Ends with 1 if one
//! differs without a reason in the file. Meant for this machine (root, Slurm installed) and for those of `ci/vm`.

use std::process::ExitCode;
use std::time::Instant;

use berth_tests::srun_lines::{Compared, cases, cluster, compare, release, table_differences};

fn main() -> ExitCode {
    let (mut file, mut more, mut seed) = (None, 0, 1);
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut number = || words.next().and_then(|word| word.parse().ok());
        match word.as_str() {
            "--random" => more = number().unwrap_or(0) as usize,
            "--seed" => seed = number().unwrap_or(1),
            path => file = Some(path.to_string()),
        }
    }
    let Some(file) = file else {
        eprintln!("usage: berth-srun-lines FILE [--random N] [--seed S]");
        return ExitCode::from(2);
    };
    let start = Instant::now();
    let cases = cases(file.as_ref(), more, seed);
    let cluster = cluster();
    let line = release(&cluster);
    let compared = compare(&cluster, cases, line);
    let differ = compared.iter().filter(|one| differs(one)).count();
    let refused = compared.iter().filter(|one| one.theirs.is_err()).count();
    let ran = |one: &&Compared| {
        one.theirs
            .as_ref()
            .is_ok_and(|facts| facts.contains_key("cpu-bind"))
    };
    let told = compared.iter().filter(ran).count();
    let table = table_differences(&cluster, line);
    for difference in &table {
        println!("DIFFERS {difference}");
    }
    let wrong = differ + table.len();
    let count = compared.len();
    println!(
        "{line}: {count} lines (seed {seed}): {told} ran, {refused} refused by srun, {} by slurmctld; \
         {wrong} differ ({} s)",
        count - told - refused,
        start.elapsed().as_secs()
    );
    ExitCode::from(u8::from(wrong > 0))
}

/// Whether a line differs without a reason, and prints it then.
fn differs(one: &Compared) -> bool {
    let difference = one.difference().filter(|_| one.case.differs.is_none());
    if let Some(difference) = &difference {
        println!("DIFFERS srun {}\n        {difference}", one.case.text);
    }
    difference.is_some()
}
