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
    let mut wrong = 0;
    for (number, target) in (0u64..).zip(TARGETS) {
        let start = Instant::now();
        let (name, parse) = target;
        let sums = run(name, *parse, cases, seed ^ number << 56);
        println!(
            "{name:12} {:8} accepted {:8} refused {:3} wrong {:6.1} s",
            sums.accepted,
            sums.refused,
            sums.wrong,
            start.elapsed().as_secs_f64()
        );
        wrong += sums.wrong;
        if sums.accepted == 0 || sums.refused == 0 {
            println!("{name}: one side was never seen, which proves nothing");
            wrong += 1;
        }
    }
    wrong += batch::run(cases, seed);
    ExitCode::from(u8::from(wrong > 0))
}

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

fn run(name: &str, parse: fn(&str) -> Verdict, cases: u64, seed: u64) -> Sums {
    let (words, mut random) = (Words::of(name), Random::new(seed));
    let mut sums = Sums::default();
    for _ in 0..cases {
        let text = texts::text(&words, &mut random);
        let verdict = catch_unwind(AssertUnwindSafe(|| parse(&text)));
        let why = match verdict {
            Ok(Verdict::Accepted) => {
                sums.accepted += 1;
                continue;
            }
            Ok(Verdict::Refused(said)) => {
                sums.refused += 1;
                match bad_error(&said) {
                    None => continue,
                    Some(why) => why,
                }
            }
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

/// An error is read by a person.
fn bad_error(said: &str) -> Option<String> {
    if said.is_empty() {
        return Some("it is refused without a word".into());
    }
    (said.len() > 2000).then(|| format!("its error has {} bytes", said.len()))
}
