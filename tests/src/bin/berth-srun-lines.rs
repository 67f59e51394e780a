//! `berth-srun-lines FILE [--random N] [--seed S] [--show]`: the real srun's reading of every line of a
//! file, and of N random ones, beside ours; and the table of options beside getopt's. Ends with 1 if one differs without a reason in the file.
//! Meant for this machine (root, Slurm installed) and for those of `ci/vm`.

use std::process::ExitCode;
use std::time::Instant;

use berth_tests::srun_lines::{cases, cluster, compare, release, table_differences};

fn main() -> ExitCode {
    let (mut file, mut more, mut seed, mut show) = (None, 0, 1, false);
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut number = || words.next().and_then(|word| word.parse().ok());
        match word.as_str() {
            "--random" => more = number().unwrap_or(0) as usize,
            "--seed" => seed = number().unwrap_or(1),
            "--show" => show = true,
            path => file = Some(path.to_string()),
        }
    }
    let Some(file) = file else {
        eprintln!("usage: berth-srun-lines FILE [--random N] [--seed S] [--show]");
        return ExitCode::from(2);
    };
    let start = Instant::now();
    let cases = cases(file.as_ref(), more, seed);
    let cluster = cluster();
    let line = release(&cluster);
    let compared = compare(&cluster, cases, line);
    let (mut wrong, mut told, mut refused) = (0, 0, 0);
    for one in &compared {
        match (&one.theirs, one.difference(), &one.case.differs) {
            (_, Some(difference), None) => {
                wrong += 1;
                println!("DIFFERS srun {}\n        {difference}", one.case.text);
            }
            (_, None, Some(why)) if show => {
                println!("no difference: srun {} # {why}", one.case.text)
            }
            _ if show => println!(
                "srun {}\n        {:?}\n        {:?}",
                one.case.text, one.theirs, one.ours
            ),
            _ => {}
        }
        match &one.theirs {
            Ok(facts) if facts.contains_key("cpu-bind") => told += 1,
            Ok(_) => {}
            Err(_) => refused += 1,
        }
    }
    let table = table_differences(&cluster, line);
    for difference in &table {
        println!("DIFFERS {difference}");
    }
    wrong += table.len();
    let count = compared.len();
    println!(
        "{line}: {count} lines (seed {seed}): {told} ran, {refused} refused by srun, {} by slurmctld; \
         {wrong} differ ({} s)",
        count - told - refused,
        start.elapsed().as_secs()
    );
    ExitCode::from(u8::from(wrong > 0))
}
