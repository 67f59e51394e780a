//! Sums up comparisons: how many lines are equal, how many the model has, and each difference.
//! In: records with their verdicts, and the list of known differences. Out: counts and a report.

use std::fmt::Write;

use berth_srun::Release;

use super::compare::{Compared, Verdict};
use super::record::{JobTruth, Record};

/// Differences that are known, each with its reason: words that all stand in the record, and behind
/// `#` the reason.
#[derive(Clone, Debug, Default)]
pub struct Known(Vec<(Vec<String>, String)>);

impl Known {
    /// Reads the list: one entry a line; `_` in a word is a blank; lines that begin with `#` are comments.
    ///
    /// # Errors
    /// An entry without a reason, or one that would explain every difference.
    pub fn read(text: &str) -> Result<Self, String> {
        let entry = |line: &str| {
            let (words, why) = line
                .split_once(" # ")
                .ok_or_else(|| format!("no reason: {line}"))?;
            let words: Vec<_> = words
                .split_whitespace()
                .map(|word| word.replace('_', " "))
                .collect();
            match words.is_empty() || why.trim().is_empty() {
                true => Err(format!("an entry needs words and a reason: {line}")),
                false => Ok((words, why.trim().to_string())),
            }
        };
        let lines = text
            .lines()
            .filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
        lines.map(entry).collect::<Result<_, _>>().map(Self)
    }

    /// The reason why this record's answers may differ.
    fn reason(&self, record: &Record) -> Option<&str> {
        let text = record.to_string();
        let holds =
            |(words, _): &&(Vec<String>, String)| words.iter().all(|word| text.contains(word));
        self.0.iter().find(holds).map(|(_, why)| why.as_str())
    }
}

/// Counts of verdicts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Equal ones.
    pub equal: usize,
    /// Others.
    pub differ: usize,
    /// Those of them that the list explains.
    pub explained: usize,
    /// Those that the model does not have.
    pub not_modelled: usize,
}

impl Count {
    fn add(&mut self, verdict: &Verdict, known: bool) {
        match verdict {
            Verdict::Equal => self.equal += 1,
            Verdict::NotModelled(_) => self.not_modelled += 1,
            Verdict::Differs(_) => {
                self.differ += 1;
                self.explained += usize::from(known);
            }
        }
    }

    /// Whether so many of a hundred modelled ones are equal.
    #[must_use]
    pub fn is_equal(&self, percent: usize) -> bool {
        self.equal * 100 >= (self.equal + self.differ) * percent
    }
}

/// A whole comparison.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// All jobs.
    pub jobs: Count,
    /// The jobs that slurmctld gave cores.
    pub granted: Count,
    /// Counts of CPUs, of jobs that are equal.
    pub cpus: Count,
    /// First steps of jobs that are equal.
    pub steps: Count,
    /// Each difference, with its record.
    pub report: String,
}

impl Tally {
    /// Adds one line.
    pub fn add(&mut self, record: &Record, compared: &Compared, known: &Known) {
        let reason = known.reason(record);
        self.jobs.add(&compared.job, reason.is_some());
        if matches!(record.job, JobTruth::Granted { .. }) {
            self.granted.add(&compared.job, reason.is_some());
        }
        let (step, cpus) = (compared.step.as_ref(), compared.cpus.as_ref());
        cpus.inspect(|cpus| self.cpus.add(cpus, reason.is_some()));
        step.inspect(|step| self.steps.add(step, reason.is_some()));
        for (what, verdict) in [("job", Some(&compared.job)), ("step", step), ("CPUs", cpus)] {
            if let Some(Verdict::Differs(ours)) = verdict {
                let why = reason.map_or(String::new(), |why| format!(" (known: {why})"));
                let _ = write!(self.report, "{record}the model's {what}: {ours}{why}\n\n");
            }
        }
    }

    /// Whether enough is equal: of 100 modelled jobs 99 on 22.05 and 97 on later lines, of 100 first
    /// steps 98; and 95 of 100 jobs that got cores are modelled.
    #[must_use]
    pub fn is_good(&self, release: Release) -> bool {
        let granted = self.granted;
        let all = granted.equal + granted.differ + granted.not_modelled;
        let modelled = (granted.equal + granted.differ) * 100 >= all * 95;
        let jobs = if release == Release::V22_05 { 99 } else { 97 };
        modelled && self.jobs.is_equal(jobs) && self.cpus.is_equal(jobs) && self.steps.is_equal(98)
    }

    /// Differences that the list does not explain.
    fn unexplained(&self) -> usize {
        let of = |count: Count| count.differ - count.explained;
        of(self.jobs) + of(self.cpus) + of(self.steps)
    }

    /// The counts in a line.
    #[must_use]
    pub fn summary(&self) -> String {
        let of = |count: Count| format!("{} of {}", count.equal, count.equal + count.differ);
        format!(
            "jobs {} equal (counts of CPUs {}), {} of the {} granted ones not modelled; first steps {} equal, {} not modelled; {} differences are not explained",
            of(self.jobs),
            of(self.cpus),
            self.granted.not_modelled,
            self.granted.equal + self.granted.differ + self.granted.not_modelled,
            of(self.steps),
            self.steps.not_modelled,
            self.unexplained(),
        )
    }
}
