//! Which line is the fastest, as far as the runs show it. Pure.

use super::statistics::{Comparisons, Metric, Series, Speed};

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
            if super::super::is_look(round, 24) && (found.open.is_empty() || round == 24) {
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
}
