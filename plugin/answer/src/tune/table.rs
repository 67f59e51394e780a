//! The lines for people, the answer first: before any run by the figures of the plans, afterwards by the runs.

use std::io::{self, Write};

use berth_placement::answer::quality::Range;
use berth_placement::counted;

use super::figures::Figures;
use super::{Candidate, Candidates, Metric, Series, Verdict};
use crate::text::{one_line, write_named, write_table};

/// The heads of the figures.
const FIGURES: [&str; 6] = ["CPUs", "shared", "span NUMA", "span L3", "per NUMA", "idle"];

/// The head of the column that has what a line adds.
const CHANGE: &str = "options";

/// The lines, and what their runs show.
#[derive(Clone, Copy)]
pub struct Runs<'a> {
    /// The lines.
    pub found: &'a Candidates,
    /// The runs of each.
    pub series: &'a [Series],
    /// The verdict of the runs.
    pub verdict: &'a Verdict,
    /// The measured quantity.
    pub metric: Metric,
}

/// The lines with the figures of their plans, without any run.
///
/// # Errors
/// Those of `out`.
pub fn dry_run(out: &mut impl Write, found: &Candidates, width: usize) -> io::Result<()> {
    let order = found.by_figures();
    if let Some(best) = found.best_by_figures() {
        let why = format!("fewer is better, in this order: {}", found.goal);
        write_named(out, width, "most likely", &found.all[best].line)?;
        write_named(out, width, "because", &why)?;
    }
    let count = counted(found.runnable().count(), "different line");
    let count = format!("{count}; nothing was measured");
    write_named(out, width, "would run", &count)?;
    variables(out, found, width)?;
    writeln!(out)?;
    let heads = ["", CHANGE].into_iter().chain(FIGURES);
    let row = |at: usize| {
        let one = &found.all[at];
        let cells = [number(at), one.change.clone()].into_iter();
        cells.chain(figures(one)).collect()
    };
    let shown = order
        .into_iter()
        .filter(|at| found.all[*at].refused.is_none());
    write_table(out, width, heads, shown.map(row))?;
    below(out, found, &[], width)?;
    writeln!(out)?;
    let look = format!("{} shows the CPUs of each task", found.plan_of("LINE"));
    write_named(out, width, "look", &look)
}

/// The variables that were added to all lines but today's.
fn variables(out: &mut impl Write, found: &Candidates, width: usize) -> io::Result<()> {
    let is_places = |word: &str| word.starts_with("OMP_PLACES");
    let Some(one) = found.all.iter().find(|one| is_places(&one.change)) else {
        return Ok(());
    };
    let words = one.line.split(' ').take_while(|word| word.contains('='));
    let words: Vec<_> = words.filter(|word| !is_places(word)).collect();
    let text = format!(
        "{}, on every line but today's, as -c gives each task several CPUs",
        words.join(" ")
    );
    write_named(out, width, "variables", &text)
}

/// `today`, or the line's number.
fn number(at: usize) -> String {
    match at {
        0 => "today".into(),
        _ => at.to_string(),
    }
}

fn figures(one: &Candidate) -> Vec<String> {
    let range = |Range { least, most }| match least == most {
        true => most.to_string(),
        false => format!("{least}-{most}"),
    };
    let cells = |all: &Figures| {
        let quality = &all.quality;
        [
            range(all.cpus_per_task),
            quality.shared_cores.to_string(),
            quality.span_numa.to_string(),
            quality
                .tasks_per_l3
                .map_or("-".into(), |_| quality.span_l3.to_string()),
            range(quality.tasks_per_numa),
            quality.idle_cores.to_string(),
        ]
    };
    one.figures
        .as_ref()
        .map_or_else(Vec::new, |all| cells(all).into())
}

/// Writes refusals, failures and lines planned alike below the table; a text that holds for several lines is written once.
fn below(
    out: &mut impl Write,
    found: &Candidates,
    series: &[Series],
    width: usize,
) -> io::Result<()> {
    let mut remarks: Vec<(String, Vec<usize>)> = Vec::new();
    for (at, one) in found.all.iter().enumerate() {
        for text in remarks_on(one, series.get(at)) {
            match remarks.iter_mut().find(|(known, _)| *known == text) {
                Some((_, lines)) => lines.push(at),
                None => remarks.push((text, vec![at])),
            }
        }
    }
    if !remarks.is_empty() {
        writeln!(out)?;
    }
    for (text, lines) in remarks {
        let name: Vec<_> = lines.into_iter().map(number).collect();
        write_named(out, width, &name.join(","), &text)?;
    }
    Ok(())
}

fn remarks_on(one: &Candidate, runs: Option<&Series>) -> Vec<String> {
    let failed = runs.filter(|runs| !runs.failures.is_empty());
    let failed = failed.filter(|runs| runs.failures.last() != runs.stopped.as_ref());
    let failed = failed.map(|runs| {
        let all = runs.failures.len() + runs.values.len();
        let last = runs.failures.last().map_or("", String::as_str);
        format!(
            "{} of {} failed: {last}",
            runs.failures.len(),
            counted(all, "run")
        )
    });
    let stopped = runs.and_then(|runs| runs.stopped.as_ref());
    let all = [
        one.refused.as_ref().map(|why| format!("not run: {why}")),
        failed,
        stopped.map(|why| format!("not run any further: {why}")),
        runs.and_then(|runs| runs.unbound.clone()),
        (!one.alike.is_empty())
            .then(|| format!("planned alike, and run once: {}", one.alike.join("; "))),
    ];
    all.into_iter().flatten().collect()
}

/// The lines with what their runs show.
///
/// # Errors
/// Those of `out`.
pub fn measured(out: &mut impl Write, runs: &Runs<'_>, width: usize) -> io::Result<()> {
    let Runs {
        found,
        series,
        verdict,
        metric,
    } = *runs;
    answer(out, runs, width)?;
    variables(out, found, width)?;
    writeln!(out)?;
    let unit = if metric.is_time { "median s" } else { "median" };
    let heads = ["", CHANGE, unit, "spread", "speed-up", "rounds"];
    let is_planned = found.all.iter().any(|one| one.figures.is_some());
    let planned = FIGURES.into_iter().filter(|_| is_planned);
    let heads = heads.into_iter().chain(planned);
    let mut rows: Vec<Vec<String>> = Vec::new();
    for at in verdict.order() {
        let (one, runs) = (&found.all[at], &series[at]);
        let median = runs.median().unwrap_or_default();
        let [least, most] = runs.range().unwrap_or_default();
        let speed = match verdict.speeds[at] {
            Some(_) if verdict.base == Some(at) => "1".into(),
            Some(speed) => format!(
                "{:.3} ({:.3} to {:.3})",
                speed.ratio, speed.least, speed.most
            ),
            None => "-".into(),
        };
        let cells = [
            number(at),
            one.change.clone(),
            significant(median),
            format!("{:.1} %", (most - least) / median * 100.0),
            speed,
            runs.values.len().to_string(),
        ];
        rows.push(cells.into_iter().chain(figures(one)).collect());
    }
    if !rows.is_empty() {
        write_table(out, width, heads, rows)?;
    }
    below(out, found, series, width)?;
    let Some(best) = verdict.clear_best() else {
        return Ok(());
    };
    writeln!(out, "\nin a batch script:")?;
    found.all[best]
        .typed
        .batch()
        .iter()
        .try_for_each(|line| writeln!(out, "{}", one_line(line)))
}

/// Four digits.
fn significant(value: f64) -> String {
    let digits = 3 - value.abs().log10().floor().clamp(-6.0, 3.0) as i32;
    format!("{value:.*}", usize::try_from(digits).unwrap_or(0))
}

/// The first lines: which line is the fastest, and by how much.
fn answer(out: &mut impl Write, runs: &Runs<'_>, width: usize) -> io::Result<()> {
    let verdict = runs.verdict;
    let (Some(best), Some(base)) = (verdict.best, verdict.base) else {
        return write_named(out, width, "result", "no line has a value");
    };
    if verdict.is_clear {
        write_named(out, width, "fastest", &runs.found.all[best].line)?;
    }
    write_named(out, width, "result", &result(runs, best, base))?;
    let equal: Vec<_> = verdict
        .order()
        .into_iter()
        .filter(|at| *at != best && !verdict.slower.contains(at))
        .map(number)
        .collect();
    if verdict.is_clear && !equal.is_empty() {
        let equal = format!("not clearly slower: {}", equal.join(", "));
        write_named(out, width, "as good", &equal)?;
    }
    Ok(())
}

/// The verdict of the runs, in words.
fn result(runs: &Runs<'_>, best: usize, base: usize) -> String {
    let verdict = runs.verdict;
    let ran = verdict.order().len();
    let others = if base == 0 {
        "today's line"
    } else {
        "the first line that ran, because today's has no value"
    };
    match verdict.speeds[best] {
        _ if ran == 1 && runs.found.runnable().count() == 1 => {
            "all lines that run are planned alike, so there is nothing to compare".into()
        }
        Some(_) if verdict.is_clear && best == base => "today's line is clearly the fastest".into(),
        Some(speed) if verdict.is_clear => format!(
            "{:.2} times as fast as {others} ({:.2} to {:.2}, from {})",
            speed.ratio,
            speed.least,
            speed.most,
            counted(speed.rounds, "round")
        ),
        _ if runs.series.iter().all(|runs| runs.rounds.len() < 3) => {
            "fewer than three rounds were run, so no difference is clear".into()
        }
        _ if ran == 1 => "only one line has values; the reasons of the others stand below".into(),
        _ => format!("no clear difference: none is clearly faster than {others}"),
    }
}

impl Verdict {
    /// The best line, if that is clear.
    pub(super) fn clear_best(&self) -> Option<usize> {
        self.best.filter(|_| self.is_clear)
    }

    /// The lines that have values, the fastest first.
    pub(super) fn order(&self) -> Vec<usize> {
        let ratio = |at: &usize| self.speeds[*at].map_or(1.0, |speed| speed.ratio);
        let is_known = |at: &usize| self.speeds[*at].is_some() || self.base == Some(*at);
        let mut all: Vec<_> = (0..self.speeds.len()).filter(is_known).collect();
        all.sort_by(|one, other| ratio(other).total_cmp(&ratio(one)));
        all
    }
}
