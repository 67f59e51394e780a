//! `berth-fuzz`: every parser of text that a user can write, fed with texts that are nearly right
//! and texts that are not. None may panic; an error says what it found and stays short; what is
//! accepted reads the same again from its own text.
//!
//! `BERTH_FUZZ_CASES` (a million) texts a target, from `BERTH_FUZZ_SEED` (the clock).

mod batch;
mod cluster;
#[path = "../../../plugin/placement/tests/engine/harness/random.rs"]
#[allow(dead_code, reason = "texts need a part")]
mod random;
mod targets;
mod texts;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use random::Random;
use targets::{TARGETS, Verdict};
use texts::Words;

/// One target's sums.
#[derive(Default)]
struct Sums {
    accepted: u64,
    refused: u64,
    wrong: u64,
}

fn main() -> ExitCode {
    let cases = variable("BERTH_FUZZ_CASES").unwrap_or(1_000_000);
    let clock = SystemTime::now().duration_since(UNIX_EPOCH);
    let clock = clock.map_or(0, |since| since.as_nanos() as u64);
    let seed = variable("BERTH_FUZZ_SEED").unwrap_or(clock);
    println!("{cases} texts a target, BERTH_FUZZ_SEED={seed}");
    std::panic::set_hook(Box::new(|_| {}));
    let mut is_right = true;
    for (number, (name, parse)) in (0u64..).zip(TARGETS) {
        is_right &= report(name, || run(name, *parse, cases, seed ^ number << 56));
    }
    match std::env::var_os("BERTH_COMMAND") {
        None => println!(
            "{}: BERTH_COMMAND names no program, so none was run",
            batch::NAME
        ),
        Some(_) => {
            is_right &= report(batch::NAME, || {
                batch::run(cases, !seed).expect("BERTH_COMMAND can be run")
            });
        }
    }
    ExitCode::from(u8::from(!is_right))
}

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Prints a target's sums; whether they are right.
fn report(name: &str, run: impl FnOnce() -> Sums) -> bool {
    let start = Instant::now();
    let Sums {
        accepted,
        refused,
        wrong,
    } = run();
    let seconds = start.elapsed().as_secs_f64();
    println!("{name:12} {accepted:8} accepted {refused:8} refused {wrong:3} wrong {seconds:6.1} s");
    if accepted == 0 || refused == 0 {
        println!("{name}: one side was never seen, which proves nothing");
    }
    wrong == 0 && accepted > 0 && refused > 0
}

fn run(name: &str, parse: fn(&str) -> Verdict, cases: u64, seed: u64) -> Sums {
    let (words, mut random) = (Words::of(name), Random::new(seed));
    let mut sums = Sums::default();
    for _ in 0..cases {
        let text = texts::text(&words, &mut random);
        let why = match catch_unwind(AssertUnwindSafe(|| parse(&text))) {
            Ok(Verdict::Accepted) => {
                sums.accepted += 1;
                continue;
            }
            // An error is read by a person.
            Ok(Verdict::Refused(said)) if (1..=2000).contains(&said.len()) => {
                sums.refused += 1;
                continue;
            }
            Ok(Verdict::Refused(said)) => format!("its error has {} bytes", said.len()),
            Ok(Verdict::Wrong(why)) => why,
            Err(_) => "it panics".into(),
        };
        sums.wrong += 1;
        if sums.wrong <= 5 {
            let shown: String = text.chars().take(300).collect();
            println!("{name}: {why}\n  {shown:?} ({} bytes)", text.len());
        }
    }
    sums
}
