//! The advice for scripts: `berth-advise`, version 1. A field may be added within a version; none
//! changes its meaning or disappears.

use serde::Serialize;

use super::Advice;
use super::criteria::costs;
use super::figures::Figures;
use super::rank::Kept;
use crate::Fact;

/// The whole answer.
#[derive(Serialize)]
pub(super) struct Document<'a> {
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

/// The document of an advice.
pub(super) fn document(advice: &Advice) -> Document<'_> {
    let criteria = advice.criteria().iter().map(|one| CriterionJson {
        name: one.name(),
        words: one.words(),
    });
    Document {
        machine: &advice.machine,
        goal: advice.goal.word(),
        criteria: criteria.collect(),
        tried: advice.all,
        would_run: advice.would_run,
        more: advice.more,
        lines: advice.kept.iter().map(|kept| line(advice, kept)).collect(),
    }
}

fn line<'a>(advice: &'a Advice, kept: &Kept) -> LineJson<'a> {
    let one = &advice.tried[kept.at];
    let alike = kept.alike.iter().map(|at| &*advice.tried[*at].line);
    LineJson {
        line: &one.line,
        plan: advice.plan_of(&one.line),
        figures: &one.figures,
        costs: costs(advice.criteria(), &one.figures),
        condition: one.condition.as_deref(),
        notes: &one.notes,
        assumed: &one.step.facts,
        alike: alike.collect(),
    }
}
