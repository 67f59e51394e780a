//! The results of `berth tune` in its folder: the numbers as JSON, and a picture of them.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Serialize;

use super::figures::Figures;
use super::statistics::Speed;
use super::{Candidate, Candidates, Goal, Metric, Runs, Series};
use crate::picture::svg::escaped;

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

const WIDTH: f64 = 860.0;
const ROW: f64 = 44.0;
const LEFT: f64 = 16.0;
/// Room for the longest bar.
const ROOM: f64 = 700.0;
/// The letters of a line that fit.
const LETTERS: usize = 110;

/// The picture.
#[must_use]
pub fn svg(runs: &Runs<'_>) -> String {
    let (series, verdict) = (runs.series, runs.verdict);
    let order = verdict.order();
    let ranges = order.iter().filter_map(|at| series[*at].range());
    let largest = ranges
        .map(|[_, most]| most)
        .fold(f64::MIN_POSITIVE, f64::max);
    let height = ROW * order.len() as f64 + 2.0 * LEFT;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\" \
         font-family=\"monospace\" font-size=\"12\">\n<rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#ffffff\"/>\n"
    );
    for (row, at) in (0..).zip(&order) {
        let (Some(median), Some([least, most])) = (series[*at].median(), series[*at].range())
        else {
            continue;
        };
        let place = |value: f64| LEFT + value / largest * ROOM;
        let top = LEFT + ROW * f64::from(row);
        let colour = match verdict.best == Some(*at) && verdict.is_clear {
            true => "#2e7d4f",
            false => "#8aa9d6",
        };
        let line: String = runs.found.all[*at]
            .line
            .chars()
            .filter(|letter| !letter.is_control())
            .take(LETTERS)
            .collect();
        let (bar, middle, name) = (place(median) - LEFT, top + 25.0, top + 12.0);
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "<text x=\"{LEFT}\" y=\"{name}\" fill=\"#1b1f24\">{}</text>\n\
             <rect x=\"{LEFT}\" y=\"{}\" width=\"{bar:.1}\" height=\"16\" fill=\"{colour}\"/>\n\
             <path d=\"M{:.1} {middle}H{:.1}\" stroke=\"#1b1f24\" stroke-width=\"1.5\"/>\n\
             <text x=\"{:.1}\" y=\"{}\" fill=\"#1b1f24\">{median:.4}</text>\n",
            escaped(&line),
            top + 17.0,
            place(least),
            place(most),
            place(most) + 6.0,
            top + 29.0,
        );
    }
    text + "</svg>\n"
}
