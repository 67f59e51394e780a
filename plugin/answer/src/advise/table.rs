//! The advice for people: the criteria in words, the lines with what each costs, and their figures.

use std::io::{self, Write};

use super::criteria::{costs, range};
use super::tried::Tried;
use super::{Advice, Criterion};
use crate::columns::{Columns, folded, write_named};
use crate::picture::Screen;
use crate::plan::write_place;
use crate::text;

/// The whole text.
///
/// # Errors
/// Those of `out`.
pub(super) fn write(out: &mut impl Write, advice: &Advice, width: usize) -> io::Result<()> {
    let Some(first) = advice.lines().next() else {
        return Ok(());
    };
    write_place(
        out,
        &first.args,
        &advice.on,
        &first.step,
        Screen {
            width,
            has_colours: false,
        },
    )?;
    let words: Vec<_> = advice.criteria().iter().map(|one| one.words()).collect();
    let name = format!("for {}", advice.goal.word());
    write_named(
        out,
        width,
        &name,
        &format!(
            "fewer is better, in this order; only lines that are best in the first point in which the \
             lines differ are shown: {}",
            words.join("; ")
        ),
    )?;
    write_named(out, width, "tried", &counts(advice))?;
    writeln!(out)?;
    for (number, one) in (1..).zip(advice.lines()) {
        writeln!(out, "{number:<2} {}", text::one_line(&one.line))?;
        for text in advice.about(one, first) {
            for piece in folded(&text, width.saturating_sub(3).max(20)) {
                writeln!(out, "   {piece}")?;
            }
        }
    }
    writeln!(out)?;
    figures(out, advice)?;
    writeln!(out)?;
    let plan = advice.plan_of("the line");
    write_named(
        out,
        width,
        "look",
        &format!("{plan} shows each task's CPUs"),
    )
}

/// `29 lines, of which 28 would run; 23 of these are left out: they are worse in that point, …`
fn counts(advice: &Advice) -> String {
    let shown = advice.kept.len();
    let mut text = format!(
        "{} lines, of which {} would run",
        advice.all, advice.would_run
    );
    let others = advice.tried.len() - shown - advice.more;
    if others > 0 {
        text += &format!(
            "; {others} of these are left out: worse in that point, better in none than another line, \
             or sharing cores while others stay idle"
        );
    }
    if advice.more > 0 {
        let all = shown + advice.more;
        text += &format!("; --lines {all} shows {} more", advice.more);
    }
    text
}

impl Advice {
    /// Remarks on a line: its allocation if the first line has another one, its costs and its conditions.
    fn about(&self, one: &Tried, first: &Tried) -> impl Iterator<Item = String> {
        let costs = costs(self.criteria(), &one.figures);
        let costs = match costs.is_empty() {
            true => "costs nothing by these criteria".to_string(),
            false => format!("costs: {}", costs.join("; ")),
        };
        let allocation = one.allocation();
        let other = (allocation != first.allocation()).then(|| format!("allocation: {allocation}"));
        other
            .into_iter()
            .chain([costs])
            .chain(one.condition.clone())
    }
}

/// The figures, with a column for each criterion in its order.
fn figures(out: &mut impl Write, advice: &Advice) -> io::Result<()> {
    let heads = |row: usize| {
        let first = [["", "CPUs"], ["line", "each"]][row];
        let others = advice
            .criteria()
            .iter()
            .map(move |one: &Criterion| one.head()[row]);
        first.into_iter().chain(others).map(String::from).collect()
    };
    let mut rows: Vec<Vec<String>> = vec![heads(0), heads(1)];
    for (number, one) in (1..).zip(advice.lines()) {
        let first = [format!("{number}"), range(one.figures.cpus_per_task)];
        let others = advice
            .criteria()
            .iter()
            .map(|criterion| criterion.cell(&one.figures));
        rows.push(first.into_iter().chain(others).collect());
    }
    let mut columns = Columns::default();
    for row in &rows {
        columns.fit(row.iter().map(String::as_str));
    }
    rows.iter()
        .try_for_each(|row| columns.write(out, row.iter().map(String::as_str)))
}
