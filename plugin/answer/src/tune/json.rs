//! The lines for scripts: `berth-tune`, version 1. A field may be added within a version; none changes its meaning or
//! disappears.

use std::collections::BTreeMap;

use serde::Serialize;

use super::figures::Figures;
use super::statistics::Speed;
use super::{Candidate, Candidates, Goal, Metric, Runs, Series};

/// The whole answer.
#[derive(Serialize)]
struct Document<'a> {
    #[serde(rename = "for")]
    goal: Goal,
    measured: bool,
    higher: bool,
    wall_time: bool,
    /// The position of the fastest line, if that is clear; without runs, of the best by its figures.
    best: Option<usize>,
    clear: bool,
    lines: Vec<Line<'a>>,
}

/// A line; today's is the first.
#[derive(Serialize)]
struct Line<'a> {
    line: &'a str,
    alike: &'a [String],
    /// The command that plans it.
    plan: String,
    /// Its options as a batch script has them.
    batch: Vec<String>,
    refused: Option<&'a str>,
    figures: Option<&'a Figures>,
    notes: &'a [String],
    /// Values by round.
    values: Option<&'a BTreeMap<u32, f64>>,
    median: Option<f64>,
    range: Option<[f64; 2]>,
    speed: Option<Speed>,
    failures: &'a [String],
    stopped: Option<&'a str>,
    /// How the binding differed from the plan.
    unbound: Option<&'a str>,
}

/// The document, with the runs if there were any.
pub fn document<'a>(
    found: &'a Candidates,
    runs: Option<&Runs<'a>>,
    metric: Metric,
) -> impl Serialize + 'a {
    let lines = found.all.iter().enumerate().map(|(at, one)| {
        let series = runs.map(|runs| &runs.series[at]);
        let speed = runs.and_then(|runs| runs.verdict.speeds[at]);
        line(found, one, series, speed)
    });
    Document {
        goal: found.goal,
        measured: runs.is_some(),
        higher: metric.higher,
        wall_time: metric.is_time,
        best: runs.map_or_else(|| found.best_by_figures(), |runs| runs.verdict.clear_best()),
        clear: runs.is_some_and(|runs| runs.verdict.is_clear),
        lines: lines.collect(),
    }
}

fn line<'a>(
    found: &Candidates,
    one: &'a Candidate,
    series: Option<&'a Series>,
    speed: Option<Speed>,
) -> Line<'a> {
    Line {
        line: &one.line,
        alike: &one.alike,
        plan: found.plan_of(&one.line),
        batch: one.typed.batch(),
        refused: one.refused.as_deref(),
        figures: one.figures.as_ref(),
        notes: &one.notes,
        values: series.map(|runs| &runs.values),
        median: series.and_then(Series::median),
        range: series.and_then(Series::range),
        speed,
        failures: series.map_or(&[], |runs| &runs.failures),
        stopped: series.and_then(|runs| runs.stopped.as_deref()),
        unbound: series.and_then(|runs| runs.unbound.as_deref()),
    }
}
