//! How measured runs are compared: pairs of runs of the same round, an interval for their ratio, and which line is the
//! fastest, as far as the runs show it. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::f64::consts::PI;

/// The chance that one of all comparisons of a measurement is wrong.
const ERROR: f64 = 0.05;

/// A smaller difference is none.
const LEAST: f64 = 0.01;

/// The measured quantity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Metric {
    /// A larger value is better.
    pub higher: bool,
    /// It is the wall time of a step, in seconds.
    pub is_time: bool,
}

/// The runs of one line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// The rounds that it was run in.
    pub rounds: BTreeSet<u32>,
    /// Values by round; all are above zero.
    pub values: BTreeMap<u32, f64>,
    /// Why runs have no value.
    pub failures: Vec<String>,
    /// Why there were no further runs.
    pub stopped: Option<String>,
    /// How the binding differed from the plan, or why that is not known.
    pub unbound: Option<String>,
}

/// The speed of one line as a multiple of another line's.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub(crate) struct Speed {
    pub ratio: f64,
    pub least: f64,
    pub most: f64,
    /// Rounds in which both have a value.
    pub rounds: usize,
    /// The interval excludes 1, and the difference is one of at least 1 %.
    pub clear: bool,
}

/// The looks and the lines of a measurement: they decide how many comparisons it makes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Comparisons {
    pub looks: u32,
    pub lines: u32,
}

/// Whether the runs are compared after a round: after 3, 6, 12, 24, …, and after the last one.
#[must_use]
pub fn is_look(round: u32, most: u32) -> bool {
    round == most || (round >= 3 && round.is_multiple_of(3) && (round / 3).is_power_of_two())
}

impl Comparisons {
    pub(crate) fn of(most: u32, lines: usize) -> Self {
        let looks = (1..=most).filter(|round| is_look(*round, most)).count() as u32;
        let lines = (lines as u32).saturating_sub(1);
        Self {
            looks: looks.max(1),
            lines: lines.max(1),
        }
    }
}

impl Series {
    pub(crate) fn median(&self) -> Option<f64> {
        let mut all: Vec<_> = self.values.values().copied().collect();
        all.sort_by(f64::total_cmp);
        let middle = all.len().checked_sub(1)? / 2;
        Some((all[middle] + all[all.len() / 2]) / 2.0)
    }

    pub(crate) fn range(&self) -> Option<[f64; 2]> {
        let mut all = self.values.values().copied();
        let first = all.next()?;
        Some(all.fold([first; 2], |[least, most], value| {
            [least.min(value), most.max(value)]
        }))
    }

    /// How many times as fast as `base` this is, from the rounds of both; it needs two of them.
    pub(crate) fn speed(&self, base: &Self, metric: Metric, of: Comparisons) -> Option<Speed> {
        let sign = if metric.higher { 1.0 } else { -1.0 };
        let pairs = self.values.iter().filter_map(|(round, own)| {
            let base = base.values.get(round)?;
            Some(sign * (own / base).ln())
        });
        let pairs: Vec<f64> = pairs.collect();
        let count = pairs.len() as f64;
        let mean = pairs.iter().sum::<f64>() / count;
        let squares: f64 = pairs.iter().map(|pair| (pair - mean).powi(2)).sum();
        let freedom = (pairs.len() as u32)
            .checked_sub(1)
            .filter(|freedom| *freedom > 0)?;
        let error = (squares / f64::from(freedom) / count).sqrt();
        let half = error * student(ERROR / f64::from(of.looks * of.lines), freedom);
        let is_beyond = mean.abs() > half && mean.abs() >= LEAST.ln_1p();
        Some(Speed {
            ratio: mean.exp(),
            least: (mean - half).exp(),
            most: (mean + half).exp(),
            rounds: pairs.len(),
            clear: is_beyond && pairs.len() >= 3,
        })
    }
}

impl Speed {
    /// Whether the difference is surely one of less than 1 %.
    pub(crate) fn is_none(&self) -> bool {
        let limit = LEAST.ln_1p();
        self.rounds >= 3 && self.least.ln() > -limit && self.most.ln() < limit
    }
}

/// The bound that Student's t exceeds, in either direction, with this chance.
fn student(chance: f64, freedom: u32) -> f64 {
    let (mut least, mut most) = (0.0, 1e7);
    for _ in 0..200 {
        let middle = (least + most) / 2.0;
        match within(middle, freedom) < 1.0 - chance {
            true => least = middle,
            false => most = middle,
        }
    }
    most
}

/// The chance that Student's t is between -t and t. Source: Abramowitz and Stegun, 26.7.3 and 26.7.4.
fn within(t: f64, freedom: u32) -> f64 {
    let angle = (t / f64::from(freedom).sqrt()).atan();
    let (sine, cosine) = angle.sin_cos();
    let is_odd = freedom % 2 == 1;
    let (mut sum, mut term) = (0.0, if is_odd { cosine } else { 1.0 });
    let mut at = if is_odd { 2 } else { 1 };
    while at < freedom {
        sum += term;
        term *= f64::from(at) / f64::from(at + 1) * cosine * cosine;
        at += 2;
    }
    match is_odd {
        true => (angle + sine * sum) * 2.0 / PI,
        false => sine * sum,
    }
}

/// The result of all runs: the line that others are compared with, and the fastest.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// The line that the others are compared with: today's, or the first that ran.
    pub base: Option<usize>,
    /// The line with the best mean.
    pub best: Option<usize>,
    /// How fast each line is beside the base.
    pub(crate) speeds: Vec<Option<Speed>>,
    /// Whether the best line is clearly faster than the base; for the base itself, than all others.
    pub is_clear: bool,
    /// Lines that are clearly slower than the best.
    pub slower: Vec<usize>,
    /// Lines of which more runs may show whether they are slower than the best.
    pub open: Vec<usize>,
}

/// Compares the lines, of which at most so many rounds are run.
#[must_use]
pub fn verdict(series: &[Series], metric: Metric, most_rounds: u32) -> Verdict {
    let ran = || (0..series.len()).filter(|at| !series[*at].values.is_empty());
    let of = Comparisons::of(most_rounds, ran().count());
    let base = ran().next();
    let beside = |at: usize| base.and_then(|base| series[at].speed(&series[base], metric, of));
    let speeds: Vec<_> = (0..series.len()).map(beside).collect();
    let ratio = |at: usize| speeds[at].map_or(f64::NEG_INFINITY, |speed| speed.ratio);
    // Of equal ones the first, which is today's or the simplest.
    let best = ran()
        .rev()
        .max_by(|one, other| ratio(*one).total_cmp(&ratio(*other)));
    let mut verdict = Verdict {
        base,
        best,
        speeds,
        is_clear: false,
        slower: Vec::new(),
        open: Vec::new(),
    };
    let Some(best) = best else {
        return verdict;
    };
    for at in ran().filter(|at| *at != best) {
        match series[best].speed(&series[at], metric, of) {
            Some(speed) if speed.clear => verdict.slower.push(at),
            Some(speed) if speed.is_none() => {}
            _ => verdict.open.push(at),
        }
    }
    verdict.open.retain(|at| series[*at].stopped.is_none());
    let others = ran().count() - 1;
    verdict.is_clear = match base == Some(best) {
        true => others > 0 && verdict.slower.len() == others,
        false => base.is_some_and(|base| verdict.slower.contains(&base)),
    };
    verdict
}

#[cfg(test)]
mod tests {
    use std::time::{SystemTime, UNIX_EPOCH};

    use super::*;

    /// Uniform numbers, and normal ones from twelve of them (xorshift64*).
    struct Random(u64);

    impl Random {
        fn uniform(&mut self) -> f64 {
            self.0 ^= self.0 >> 12;
            self.0 ^= self.0 << 25;
            self.0 ^= self.0 >> 27;
            (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11) as f64 / (1_u64 << 53) as f64
        }

        fn normal(&mut self) -> f64 {
            (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
        }
    }

    fn random() -> Random {
        let seed = std::env::var("BERTH_SEED")
            .ok()
            .and_then(|seed| seed.parse().ok());
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap()
            .as_nanos() as u64;
        let seed = seed.unwrap_or(now | 1);
        println!("BERTH_SEED={seed}");
        Random(seed)
    }

    const TIME: Metric = Metric {
        higher: false,
        is_time: true,
    };

    /// One measurement as `berth tune` makes it, of lines with these true times: it ends at the first look at which
    /// nothing is open. Each run has its own noise, each round one that all runs share, and one run in twenty is
    /// disturbed.
    fn measured(random: &mut Random, times: &[f64], noise: f64) -> Verdict {
        let mut series = vec![Series::default(); times.len()];
        for round in 1..=24 {
            let shared = (random.normal() * 0.1).exp();
            for (one, time) in series.iter_mut().zip(times) {
                let disturbed = if random.uniform() < 0.05 {
                    1.0 + random.uniform() * noise * 4.0
                } else {
                    1.0
                };
                let value = time * shared * disturbed * (random.normal() * noise).exp();
                one.values.insert(round, value);
            }
            let found = verdict(&series, TIME, 24);
            if is_look(round, 24) && (found.open.is_empty() || round == 24) {
                return found;
            }
        }
        unreachable!("the last round is a look");
    }

    /// Ten times the fifty trials that are required, with the same rates.
    #[test]
    fn noise_alone_has_no_winner() {
        let mut random = random();
        let wrong = (0..500)
            .filter(|_| measured(&mut random, &[1.0, 1.0], 0.05).is_clear)
            .count();
        println!("{wrong} false winners of 500");
        assert!(wrong <= 50, "{wrong} of 500");
    }

    #[test]
    fn ten_per_cent_are_found() {
        let mut random = random();
        let is_found = |found: Verdict| found.is_clear && found.best == Some(1);
        let found = (0..500).filter(|_| is_found(measured(&mut random, &[1.0, 1.0 / 1.1], 0.05)));
        let found = found.count();
        println!("{found} of 500 found");
        assert!(found >= 450, "{found} of 500");
    }

    /// With nine equal lines the bounds are wider, and no more of the measurements name a winner.
    #[test]
    fn many_equal_lines_have_no_winner_either() {
        let mut random = random();
        let wrong = (0..200)
            .filter(|_| measured(&mut random, &[1.0; 9], 0.05).is_clear)
            .count();
        println!("{wrong} false winners of 200");
        assert!(wrong <= 20, "{wrong} of 200");
    }

    #[test]
    fn a_line_without_values_is_left_out() {
        let series = |value: Option<f64>| Series {
            values: value
                .into_iter()
                .flat_map(|value| (1..=3).map(move |round| (round, value)))
                .collect(),
            ..Series::default()
        };
        let found = verdict(
            &[series(None), series(Some(2.0)), series(Some(1.0))],
            TIME,
            24,
        );
        assert_eq!(
            (found.base, found.best, found.is_clear),
            (Some(1), Some(2), true)
        );
        let none = verdict(&[series(None)], TIME, 24);
        assert_eq!((none.base, none.best, none.is_clear), (None, None, false));
        let alone = verdict(&[series(Some(1.0))], TIME, 24);
        assert_eq!((alone.best, alone.is_clear), (Some(0), false));
    }

    /// Values of a printed table of the t-distribution, two-sided.
    #[test]
    fn student_is_that_of_the_tables() {
        for (chance, freedom, bound) in [
            (0.05, 1, 12.706),
            (0.05, 2, 4.303),
            (0.05, 3, 3.182),
            (0.05, 10, 2.228),
            (0.01, 2, 9.925),
            (0.01, 23, 2.807),
            (0.001, 5, 6.869),
        ] {
            let found = student(chance, freedom);
            assert!((found - bound).abs() < 0.002, "{chance} {freedom}: {found}");
        }
    }

    #[test]
    fn looks_are_few() {
        let looks = |most| {
            (1..=most)
                .filter(|round| is_look(*round, most))
                .collect::<Vec<_>>()
        };
        assert_eq!(looks(24), [3, 6, 12, 24]);
        assert_eq!(looks(10), [3, 6, 10]);
        assert_eq!(looks(3), [3]);
    }

    #[test]
    fn values_that_do_not_vary_differ_clearly_or_not_at_all() {
        let series = |value: f64| Series {
            values: (1..=3).map(|round| (round, value)).collect(),
            ..Series::default()
        };
        let metric = Metric {
            higher: true,
            is_time: false,
        };
        let of = Comparisons::of(24, 9);
        let speed = |one: f64, base: f64| series(one).speed(&series(base), metric, of).unwrap();
        assert!(speed(20.0, 10.0).clear && (speed(20.0, 10.0).ratio - 2.0).abs() < 1e-9);
        assert!(speed(10.05, 10.0).is_none() && !speed(10.05, 10.0).clear);
        assert_eq!(series(3.0).median(), Some(3.0));
        assert_eq!(Series::default().median(), None);
    }
}
