//! One corrected text: repairs are made one after the other, each on the text that has the ones
//! before, and each is kept only if it passes the checks that found the trap: srun's reading, the
//! submission checks and the plan. Bytes that no repair concerns stay as they are.

use std::collections::BTreeMap;

use super::case::Case;
use super::command::{Command, Kind};
use super::finding::{Finding, Level, Repair, applied};
use super::place::Surroundings;
use super::script::{Script, script};
use super::{findings, planned};
use crate::text::has_word;

/// The most repairs of one text, so that a large file of traps ends in time.
const MOST: usize = 200;

const DIRECTIVE: &[u8] = b"#SBATCH";

/// Rules behind which others are hidden: their repair may show more.
const HIDING: &str = "other-command misspelt-option indented-directive wrong-value srun-in-srun \
    nested-launcher cpuset-never-fits";

/// The corrected text.
pub(super) struct Corrected {
    pub text: Vec<u8>,
    /// Findings that showed only behind other repairs, and were repaired too.
    pub more: Vec<Finding>,
}

/// Repairs what can be repaired; none if nothing can. A line that would be refused all the same stays as it is.
/// `first` are the text's own findings.
pub(super) fn corrected(
    text: &[u8],
    first: &[Finding],
    around: &Surroundings<'_>,
) -> Option<Corrected> {
    let can = |finding: &&Finding| finding.level == Level::Warning && !finding.repairs.is_empty();
    first.iter().find(can)?;
    let mut more = Vec::new();
    let mut state = State::of(text, around);
    for _ in 0..MOST {
        let mut wrong = state.found.iter().filter(can);
        let Some((finding, next)) = wrong.find_map(|one| {
            let mut repairs = one.repairs.iter();
            Some((
                one,
                repairs.find_map(|repair| tried(&state, one, repair, around))?,
            ))
        }) else {
            break;
        };
        let is_it = |other: &Finding| other.rule == finding.rule && other.found == finding.found;
        if !first.iter().chain(&more).any(is_it) {
            more.push(finding.clone());
        }
        state = next;
    }
    let refusals = |state: &State| -> Vec<Finding> {
        let found = state.found.iter();
        found
            .filter(|one| has_word(REFUSALS, one.rule))
            .cloned()
            .collect()
    };
    let kept: Vec<_> = refusals(&state).iter().map(|one| one.line).collect();
    let now = match kept.as_slice() {
        [] => state.read.text.to_vec(),
        kept => with_lines_of(&state.read.text, text, kept)?,
    };
    let is_known = |one: &Finding| {
        let mut known = first.iter();
        known.any(|other| (other.rule, other.line) == (one.rule, one.line))
    };
    let is_right = kept.is_empty() || refusals(&State::of(&now, around)).iter().all(is_known);
    (now != text && is_right).then_some(Corrected { text: now, more })
}

/// A text in which these lines, by their numbers, are those of another one; none if that has not as many lines, or other
/// directives: these are for all steps, and the repair of a step that stays as it is would be half of one.
fn with_lines_of(text: &[u8], other: &[u8], numbers: &[usize]) -> Option<Vec<u8>> {
    let lines = |text| -> Vec<_> { <[u8]>::split(text, |byte| *byte == b'\n').collect() };
    let (mut all, others) = (lines(text), lines(other));
    let is_directive = |line: &&&[u8]| line.starts_with(DIRECTIVE);
    let same = all
        .iter()
        .filter(is_directive)
        .eq(others.iter().filter(is_directive));
    (same && all.len() == others.len()).then_some(())?;
    for number in numbers {
        *all.get_mut(number - 1)? = others.get(number - 1)?;
    }
    Some(all.join(&b'\n'))
}

struct State {
    read: Script,
    found: Vec<Finding>,
}

impl State {
    fn of(text: &[u8], around: &Surroundings<'_>) -> Self {
        let read = script(text, around);
        let found = findings(&read, around);
        Self { read, found }
    }
}

/// The text with a repair, if that is one.
fn tried(
    state: &State,
    finding: &Finding,
    repair: &Repair,
    around: &Surroundings<'_>,
) -> Option<State> {
    let next = State::of(&applied(&state.read.text, repair)?, around);
    let before = counts(&state.found);
    let after = counts(&next.found);
    let of = |counts: &BTreeMap<&str, usize>, rule: &str| counts.get(rule).copied().unwrap_or(0);
    let is_less = of(&after, finding.rule) < of(&before, finding.rule);
    let hides = has_word(HIDING, finding.rule);
    let grows = |rule: &&str| of(&after, rule) > of(&before, rule) && !hides;
    let is_worse = after.keys().any(grows)
        || next.read.unclosed != state.read.unclosed && state.read.unclosed.is_none();
    let refused = |state: &State| refused_steps(&state.read, around);
    let is_repair = is_less
        && !is_worse
        && refused(&next) <= refused(state)
        && !serialises(&state.read, &next.read, around);
    is_repair.then_some(next)
}

/// Whether steps that run beside each other would have to wait for each other.
fn serialises(before: &Script, after: &Script, around: &Surroundings<'_>) -> bool {
    let at_once = |script: &Script, command: &Command| {
        let case = Case::new(script, command, around);
        let job = case.job.as_ref()?;
        let of_job = job.tasks().checked_mul(job.cpus_per_task.unwrap_or(1))?;
        let own = case.tasks()?.checked_mul(case.cpus_per_task()?)?;
        Some((of_job / own.max(1), job.tasks()))
    };
    let is_step = |one: &&Command| one.kind == Kind::Srun && one.in_background;
    let scripts = before.all_scripts().into_iter().zip(after.all_scripts());
    scripts.into_iter().any(|(old, new)| {
        let steps = old.commands.iter().zip(&new.commands);
        let mut steps = steps.filter(|(step, _)| is_step(step));
        steps.any(|(step, changed)| {
            let beside = |one: &&Command| is_step(one) && one.waits == step.waits;
            let count = old.commands.iter().filter(beside).count() as u32;
            let (Some((had, tasks)), Some((has, _))) = (at_once(old, step), at_once(new, changed))
            else {
                return false;
            };
            // A loop starts as many as there is room for, or as the job has tasks.
            let wanted = match step.loops > 0 && tasks <= 1 {
                true => u32::MAX,
                false => tasks.max(count),
            };
            has < had.min(wanted)
        })
    })
}

/// Findings that say that nothing would start.
const REFUSALS: &str = "misspelt-option unknown-option other-release other-command invalid-directive wrong-value \
    binding-never-fits binding-per-task binding-and-list mapping-never-fits \
    mapping-and-binding mapping-and-list near-and-others cpuset-and-job more-than-the-job \
    refused refused-script";

fn counts(found: &[Finding]) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for finding in found.iter().filter(|one| one.level == Level::Warning) {
        *counts.entry(finding.rule).or_default() += 1;
    }
    counts
}

/// How many steps a plan refuses on a machine with room for nearly everything.
fn refused_steps(read: &Script, around: &Surroundings<'_>) -> usize {
    let scripts = read.all_scripts().into_iter();
    let refused = |read: &&Script| {
        let steps = read.commands.iter();
        let steps = steps.filter(|command| command.kind == Kind::Srun);
        let is_refused =
            |command: &&Command| planned::is_refused(&Case::new(read, command, around));
        steps.filter(is_refused).count()
    };
    scripts.map(|read| refused(&read)).sum()
}
