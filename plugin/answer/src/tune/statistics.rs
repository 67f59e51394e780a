//! The arithmetic of measured runs: pairs of runs of the same round, and an interval for their ratio. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::f64::consts::PI;

/// The chance that one of all comparisons of a measurement is wrong.
const ERROR: f64 = 0.05;

/// A smaller difference is none.
const LEAST: f64 = 0.01;

/// What is measured.
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

#[cfg(test)]
mod tests {
    use super::*;

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
