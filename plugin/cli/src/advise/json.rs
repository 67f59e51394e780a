//! The advice for scripts: `berth-advise`, version 1. A field may be added within a version; none
//! changes its meaning or disappears.

use std::io::Write;

use serde::Serialize;

use super::Advice;
use super::criteria::costs;
use super::figures::Figures;
use super::rank::Kept;
use crate::Failure;
use berth_answer::Fact;

/// The whole answer.
#[derive(Serialize)]
struct Document<'a> {
    /// `berth-advise`
    format: &'static str,
    version: u32,
    /// The machine, as it was given.
    machine: &'a str,
    /// What the best line is good for.
    #[serde(rename = "for")]
    goal: &'static str,
    criteria: Vec<CriterionJson>,
    /// How many lines were tried, and how many of them would run.
    tried: usize,
    would_run: usize,
    /// Lines that are left out because of `--lines`.
    more: usize,
    lines: Vec<LineJson<'a>>,
}

/// A criterion, the most important first; the smaller figure is better.
#[derive(Serialize)]
struct CriterionJson {
    name: &'static str,
    words: &'static str,
}

/// A line, the best first.
#[derive(Serialize)]
struct LineJson<'a> {
    line: &'a str,
    /// The command that plans it.
    plan: String,
    figures: &'a Figures,
    /// In words.
    costs: Vec<String>,
    /// What must hold for it, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    condition: Option<&'a str>,
    notes: &'a [String],
    assumed: &'a [Fact],
    /// Lines that give other masks with the same figures by these criteria.
    alike: Vec<&'a str>,
}

/// Writes it.
///
/// # Errors
/// Those of `out`.
pub(super) fn write(out: &mut impl Write, advice: &Advice<'_>) -> Result<(), Failure> {
    serde_json::to_writer_pretty(&mut *out, &document(advice))?;
    writeln!(out)?;
    Ok(())
}

fn document<'a>(advice: &'a Advice<'_>) -> Document<'a> {
    let criteria = advice.criteria.iter().map(|one| CriterionJson {
        name: one.name(),
        words: one.words(),
    });
    Document {
        format: "berth-advise",
        version: 1,
        machine: &advice.args.plan.machine,
        goal: advice.args.goal.word(),
        criteria: criteria.collect(),
        tried: advice.all,
        would_run: advice.would_run,
        more: advice.more,
        lines: advice.kept.iter().map(|kept| line(advice, kept)).collect(),
    }
}

fn line<'a>(advice: &'a Advice<'_>, kept: &Kept) -> LineJson<'a> {
    let one = &advice.tried[kept.at];
    let alike = kept.alike.iter().map(|at| &*advice.tried[*at].line);
    LineJson {
        line: &one.line,
        plan: advice.plan_of(&one.line),
        figures: &one.figures,
        costs: costs(advice.criteria, &one.figures),
        condition: one.condition.as_deref(),
        notes: &one.notes,
        assumed: &one.step.facts,
        alike: alike.collect(),
    }
}
