//! The rounds: each runs every line once, in an order of its own, until the differences are clear or the time is over.

use std::fs::File;
use std::io::{IsTerminal, Write, stderr};
use std::time::{Duration, Instant};

use berth_answer::text::one_line;
use berth_answer::tune::{Candidates, Metric, Series, Verdict, is_look, verdict};
use berth_placement::counted;
use regex::bytes::Regex;

use super::folder::{Folder, Record};
use super::output;
use super::step::{self, End, Signals};
use crate::say;
use crate::world::slurm_commands;

/// A run that takes longer than this times the longest one hangs.
const HANGS: u32 = 10;
/// No run hangs before.
const LEAST: Duration = Duration::from_secs(60);
/// A line that failed so often, and never had a value, is not run again.
const FAILURES: usize = 3;

const OVER: &str = "the time is over";

/// srun's words about a job that is over.
const EXPIRED: &str = "Expired or invalid job";

/// A measurement, and its progress.
pub(super) struct Measurement<'a> {
    pub found: &'a Candidates,
    pub job: u32,
    pub folder: Folder,
    pub signals: Signals,
    pub pattern: Option<Regex>,
    pub metric: Metric,
    pub deadline: Instant,
    pub timeout: Option<Duration>,
    pub warmup: u32,
    pub rounds: u32,
    pub seed: u64,
    pub series: Vec<Series>,
    /// The longest run.
    pub longest: Duration,
}

/// Why there are no more runs.
pub(super) type Ended = String;

/// Why a run has no value.
struct Failed {
    why: String,
    hangs: bool,
}

impl Failed {
    fn new(why: String) -> Self {
        Self { why, hangs: false }
    }
}

impl Measurement<'_> {
    /// Takes runs over that were made before.
    pub(super) fn take(&mut self, records: Vec<Record>) {
        let mut unknown = 0;
        for record in records {
            let mut lines = self.found.all.iter();
            match lines.position(|one| one.line == record.line) {
                Some(at) => self.keep(at, record),
                None => unknown += 1,
            }
        }
        if unknown > 0 {
            say::note(&format!(
                "{} of lines that this job does not have",
                counted(unknown, "run")
            ));
        }
    }

    fn keep(&mut self, at: usize, record: Record) {
        let series = &mut self.series[at];
        series.rounds.insert(record.round);
        let is_right = |value: &f64| value.is_finite() && *value > 0.0;
        let value = record.value.filter(is_right);
        series
            .values
            .extend(value.map(|value| (record.round, value)));
        if record.hangs {
            series.stopped.clone_from(&record.failed);
        }
        series.failures.extend(record.failed);
        if series.values.is_empty() && series.failures.len() >= FAILURES {
            let why = format!("it has failed {FAILURES} times, and never had a value");
            series.stopped.get_or_insert(why);
        }
    }

    /// The verdict so far.
    pub(super) fn verdict(&self) -> Verdict {
        verdict(&self.series, self.metric, self.rounds)
    }

    /// Runs all rounds.
    pub(super) fn run(&mut self) -> Result<(), Ended> {
        let lines: Vec<_> = self.found.runnable().collect();
        let is_alone = lines.len() == 1;
        let first = self.series.iter().all(|series| series.rounds.is_empty());
        for at in &lines {
            self.check(*at)?;
        }
        let warmup = if is_alone || !first { 0 } else { self.warmup };
        for (run, at) in (0..warmup).flat_map(|run| lines.iter().map(move |at| (run, *at))) {
            self.progress(&format!("warm-up, line {at}"));
            let ran = self.once(at, &format!("warmup-{}-line-{at}.out", run + 1))?;
            if let Some(failed) = ran.err().filter(|failed| failed.hangs) {
                self.series[at].failures.push(failed.why.clone());
                self.series[at].stopped = Some(failed.why);
            }
        }
        for round in 1..=if is_alone { 1 } else { self.rounds } {
            let mut order = lines.clone();
            order.retain(|at| self.series[*at].stopped.is_none());
            if order.is_empty() {
                break;
            }
            fastrand::Rng::with_seed(self.seed.wrapping_add(round.into())).shuffle(&mut order);
            if !stderr().is_terminal() {
                say::note(&self.place(round));
            }
            for at in order {
                if !self.series[at].rounds.contains(&round) {
                    self.progress(&format!("{}, line {at}", self.place(round)));
                    self.count(round, at)?;
                }
            }
            if is_look(round, self.rounds) && self.look() {
                break;
            }
        }
        Ok(())
    }

    /// Leaves out lines that are clearly slower. Returns whether nothing is open.
    fn look(&mut self) -> bool {
        let found = self.verdict();
        for at in found.slower.iter().filter(|at| Some(**at) != found.base) {
            self.series[*at]
                .stopped
                .get_or_insert("it is clearly slower than the fastest".into());
        }
        found.best.is_some() && found.open.is_empty()
    }

    /// A run that counts.
    fn count(&mut self, round: u32, at: usize) -> Result<(), Ended> {
        let found = self.once(at, &format!("round-{round:03}-line-{at}.out"))?;
        let record = Record {
            round,
            line: self.found.all[at].line.clone(),
            value: found.as_ref().ok().copied(),
            hangs: found.as_ref().is_err_and(|failed| failed.hangs),
            failed: found.err().map(|failed| failed.why),
        };
        let written = self.folder.add(&record);
        self.keep(at, record);
        written.map_err(|why| {
            format!(
                "{}/runs.jsonl cannot be written: {why}",
                self.folder.path.display()
            )
        })
    }

    /// One run: its value, or the reason why it has none.
    fn once(&mut self, at: usize, output: &str) -> Result<Result<f64, Failed>, Ended> {
        let hangs = self.timeout.unwrap_or((self.longest * HANGS).max(LEAST));
        let left = self.remaining();
        if self.longest > left {
            return Err(OVER.into());
        }
        let program = &self.found.all[at].typed.program;
        let (code, time, file) = self.start(at, program, output, hangs)?;
        Ok(match code {
            None if hangs > left => return Err(OVER.into()),
            None => Err(Failed {
                why: format!(
                    "it did not end within {} s (--timeout)",
                    (hangs.as_secs_f64() * 10.0).round() / 10.0
                ),
                hangs: true,
            }),
            Some(0) => {
                self.longest = self.longest.max(time);
                match &self.pattern {
                    Some(pattern) => output::value(pattern, &file).map_err(Failed::new),
                    None => Ok(time.as_secs_f64()),
                }
            }
            Some(code) => {
                let last = output::last_line(&file);
                if slurm_commands::is_over(self.job).unwrap_or_else(|| last.contains(EXPIRED)) {
                    return Err("the job has ended".into());
                }
                Err(Failed::new(format!("exit code {code}: {last}")))
            }
        })
    }

    /// Whether the tasks of a line are bound as planned.
    fn check(&mut self, at: usize) -> Result<(), Ended> {
        let planned = &self.found.all[at].cpus;
        let Some(program) = output::report_program().filter(|_| !planned.is_empty()) else {
            return Ok(());
        };
        self.progress(&format!("checking the binding of line {at}"));
        let (_, _, file) = self.start(at, &program, &format!("binding-line-{at}.out"), LEAST)?;
        self.series[at].unbound = output::difference(&file, planned);
        Ok(())
    }

    /// Runs a program with the options of a line, no longer than until the time is over: its exit code, or nothing if it
    /// took too long; the time; and its output.
    fn start(
        &self,
        at: usize,
        program: &[String],
        output: &str,
        most: Duration,
    ) -> Result<(Option<i32>, Duration, File), Ended> {
        let file = self.folder.output(output).map_err(|why| why.to_string())?;
        let line = &self.found.all[at].typed;
        let left = self.remaining();
        if left.is_zero() {
            return Err(OVER.into());
        }
        let ran = step::run(line, program, &file, &self.signals, most.min(left));
        match ran.map_err(|why| format!("{} cannot be started: {why}", line.srun))? {
            (End::Interrupted, _) => Err("it was interrupted".into()),
            (End::TimedOut, time) => Ok((None, time, file)),
            (End::Code(code), time) => Ok((Some(code), time, file)),
        }
    }

    /// The time that is left.
    fn remaining(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    fn place(&self, round: u32) -> String {
        let open = self.series.iter().zip(&self.found.all);
        let open = open.filter(|(series, one)| series.stopped.is_none() && one.refused.is_none());
        let left = self.remaining();
        let all = self.longest * (self.rounds + 1 - round) * open.count() as u32;
        format!(
            "round {round} of at most {}, at most {:.0} min left",
            self.rounds,
            (all.min(left).as_secs_f64() / 60.0).ceil().max(1.0)
        )
    }

    /// Shows how far it is; a terminal has one line for it.
    pub(super) fn progress(&self, text: &str) {
        if stderr().is_terminal() {
            // A terminal that is gone needs no progress.
            let _ = write!(stderr(), "\r\x1b[K{}", one_line(text));
        }
    }
}
