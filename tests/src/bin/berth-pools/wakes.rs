//! How soon a pool's threads have their CPUs when they wake, beside busy normal jobs on the same CPUs.

use std::fs;
use std::time::Duration;

use crate::job::{Job, start};
use crate::program::{BEATS, TURN};
use crate::scenes::Scene;
use crate::shares::{Beside, fill};
use crate::{Here, Told, figures};

/// Half of a pool's wake-ups beside busy jobs come within so many microseconds.
const WOKEN: f64 = 1000.0;
/// A job that ends by itself has ended within this time after its last wake-up.
const ENDED: Duration = Duration::from_secs(120);
/// Half of them have this part of the next 20 ms, and of their whole turn.
const PART: f64 = 0.9;
/// The job outside of its pool has so much less of its turns on average, or the normal jobs were not in its way and
/// nothing was measured.
const IN_THE_WAY: f64 = 0.1;

pub(crate) const SCENES: &[Scene] = &[
    Scene::new("wake-up", |here| woken(here, Beside::Serial)),
    Scene::of(&["weight"], "wake-up beside the wide job", |here| {
        woken(here, Beside::Wide)
    }),
    Scene::new("light sleeper", |here| light(here, true)),
    Scene::of(&["weight"], "light sleeper beside no pool", |here| {
        light(here, false)
    }),
];

/// What one job's wake-ups came to.
struct Wakes {
    /// Microseconds from the timer's time until the thread ran.
    late: Vec<f64>,
    /// Microseconds that it waited for the CPU.
    waited: Vec<f64>,
    /// Its part of the next 20 ms, and of its whole turn.
    first: Vec<f64>,
    whole: Vec<f64>,
}

/// The pool job works for 100 ms and sleeps for 100 ms on all of its CPUs, and so does the same job outside of its pool.
fn woken(here: &Here, beside: Beside) -> Told {
    let normal = fill(here, beside)?;
    let name = format!("{beside:?}");
    let outside = beaten(here, ("none", &name), &normal)?;
    let inside = beaten(here, (here.class, &name), &normal)?;
    // What a timer of an emulated CPU is late, while others are busy, is the host's doing: the CPU itself does not run.
    // The kernel begins to count when it wakes the thread.
    let waited = at(&inside.waited, 50);
    if here.class == "weight" && is_from_6_12() && waited > WOKEN {
        return Err(format!(
            "half of the threads wait for {waited} µs or longer when they wake"
        ));
    }
    for (name, parts) in [
        ("next 20 ms", &inside.first),
        ("turn of 100 ms", &inside.whole),
    ] {
        let part = at(parts, 50);
        if part < PART {
            return Err(format!("half of them have {part} of their {name} or less"));
        }
    }
    if at(&outside.waited, 100) <= 0.0 {
        return Err("this kernel does not count for how long a thread waits".into());
    }
    let [own, others] = [mean(&inside.whole), mean(&outside.whole)];
    println!("  on average {own:.3} of each turn, outside of the pool {others:.3}");
    // The wide job has fewer turns on each CPU than a serial one, so the same job is hindered less.
    match beside != Beside::Serial || others < own - IN_THE_WAY {
        true => Ok(()),
        false => Err("the normal jobs were not in its way".into()),
    }
}

/// Plays that job in a class or outside of its pool, and prints what was measured.
fn beaten(here: &Here, (class, beside): (&str, &str), normal: &[Job]) -> Result<Wakes, String> {
    let words = ["-pmulti8", "--pool=none"];
    let words = match class {
        "none" => &words[..],
        _ => &words[..1],
    };
    let mut job = start(&here.cluster, words, ("beat", here.pool, 1))?;
    let own = job.cpus();
    let theirs: Vec<_> = normal.iter().flat_map(Job::cpus).collect();
    if own.len() != here.pool as usize || !own.iter().all(|cpu| theirs.contains(cpu)) {
        return Err(format!(
            "it has the CPUs {own:?}, and the normal jobs {theirs:?}"
        ));
    }
    let texts = here.cluster.wait_for("the wake-ups", || {
        let file = |id| fs::read_to_string(job.told.join(format!("beats.{id}"))).ok();
        let all: Option<Vec<_>> = (0..here.pool).map(file).collect();
        all.filter(|all| all.iter().all(|text| text.ends_with("end\n")))
    });
    let wakes = read(&texts);
    let count = wakes.late.len();
    for (name, values) in [
        ("late-us", &wakes.late),
        ("waited-us", &wakes.waited),
        ("part-of-20ms", &wakes.first),
        ("part-of-turn", &wakes.whole),
    ] {
        let all = [0, 50, 90, 99, 100].map(|percent| at(values, percent).to_string());
        println!(
            "  {class} beside {beside}: {name} at 0, 50, 90, 99, 100 %: {} of {count}",
            all.join(" ")
        );
        figures::add(&["wake", class, beside, name, &all.join(" ")]);
    }
    println!("  on CPUs {own:?}");
    job.ends(ENDED)?;
    // One that has missed half of its turns was in no pool.
    let turns = BEATS.as_millis() / (TURN.as_millis() * 2) * u128::from(here.pool);
    match class == "none" || count as u128 * 2 >= turns {
        true => Ok(wakes),
        false => Err(format!("{count} of {turns} wake-ups came")),
    }
}

fn read(texts: &[String]) -> Wakes {
    let lines = texts.iter().flat_map(|text| text.lines());
    let rows: Vec<Vec<f64>> = lines
        .map(|line| {
            let words = line.split(' ');
            words.filter_map(|word| word.parse().ok()).collect()
        })
        .filter(|row: &Vec<f64>| row.len() == 4)
        .collect();
    let column = |at: usize| {
        let mut all: Vec<f64> = rows.iter().map(|row| row[at]).collect();
        all.sort_by(f64::total_cmp);
        all
    };
    Wakes {
        late: column(0),
        waited: column(1),
        first: column(2),
        whole: column(3),
    }
}

/// The value below which so many per cent are, of sorted ones.
fn at(sorted: &[f64], percent: usize) -> f64 {
    let last = sorted.len().saturating_sub(1);
    sorted
        .get(last * percent / 100)
        .copied()
        .unwrap_or(f64::NAN)
}

fn mean(all: &[f64]) -> f64 {
    all.iter().sum::<f64>() / all.len() as f64
}

/// A task that sleeps for moments, on a CPU on which a normal job has two busy threads. The machine's other CPUs are
/// idle: an emulated CPU waits for each other one that is busy.
fn light(here: &Here, is_pool: bool) -> Told {
    let _normal = start(&here.cluster, &["-pnormal"], ("spin", 1, 2))?;
    let words = ["-pmulti8", "--pool=none"];
    let words = if is_pool { &words[..1] } else { &words[..] };
    let job = start(&here.cluster, words, ("wake", 1, 1))?;
    let late = here.cluster.wait_for("the wake-ups", || {
        let text = fs::read_to_string(job.told.join("late")).ok()?;
        text.ends_with('\n').then_some(text)
    });
    println!(
        "  late by microseconds, least, 50, 90, 99, 100 %: {}",
        late.trim()
    );
    let class = if is_pool { here.class } else { "none" };
    figures::add(&["late", class, late.trim()]);
    let middle = late.split_whitespace().nth(1);
    let middle = middle.and_then(|text| text.parse::<f64>().ok());
    match middle.ok_or("no wake-ups")? {
        late if class == "weight" && is_from_6_12() && late > WOKEN => {
            Err(format!("half of them come later than {WOKEN} µs"))
        }
        _ => Ok(()),
    }
}

/// Whether this kernel chooses by deadlines, as the promise needs it.
pub(crate) fn is_from_6_12() -> bool {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut numbers = release.split('.').map(|text| text.parse::<u32>().ok());
    let mut next = || numbers.next().flatten();
    next().zip(next()) >= Some((6, 12))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_sorted_and_other_lines_are_none() {
        let texts = [
            "30 2 0.9 1.0\n10 4 0.5 0.8\nend\n".to_owned(),
            "20 3 1.0 0.7\nend\n".to_owned(),
        ];
        let wakes = read(&texts);
        assert_eq!(wakes.late, [10.0, 20.0, 30.0]);
        assert_eq!(at(&wakes.waited, 50), 3.0);
        assert_eq!(at(&wakes.first, 100), 1.0);
        assert!(at(&[], 50).is_nan());
    }
}
