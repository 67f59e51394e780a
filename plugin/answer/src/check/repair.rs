//! One corrected text: repairs are made one after the other, each on the text that has the ones
//! before, and each is kept only if it passes the checks that found the trap: srun's reading, the
//! submission checks and the plan. Bytes that no repair concerns stay as they are.

use std::collections::BTreeMap;
use std::ops::Range;

use super::case::Case;
use super::command::{Command, Kind};
use super::finding::{Finding, Level, Repair, applied};
use super::place::Surroundings;
use super::script::{Script, script};
use super::{findings, planned};

/// The most repairs of one text, so that a large file of traps ends in time.
const MOST: usize = 200;

/// Rules behind which others are hidden: their repair may show more.
const HIDING: &[&str] = &[
    "other-command",
    "misspelt-option",
    "indented-directive",
    "wrong-value",
    "srun-in-srun",
    "nested-launcher",
    "cpuset-never-fits",
];

/// The corrected text.
pub(super) struct Corrected {
    pub text: Vec<u8>,
    /// The places in it that were changed.
    pub spans: Vec<Range<usize>>,
    /// What showed only behind other repairs, and was repaired too.
    pub more: Vec<Finding>,
}

/// Repairs what can be repaired; none if nothing can, or if the text would be refused all the same.
/// `first` are the text's own findings.
pub(super) fn corrected(
    text: &[u8],
    first: &[Finding],
    around: &Surroundings<'_>,
) -> Option<Corrected> {
    let can = |finding: &Finding| finding.level == Level::Warning && !finding.repairs.is_empty();
    first.iter().any(can).then_some(())?;
    let mut now = Corrected {
        text: text.to_vec(),
        spans: Vec::new(),
        more: Vec::new(),
    };
    let mut state = State::of(text, around);
    for _ in 0..MOST {
        let mut wrong = state.found.iter().filter(|one| can(one));
        let Some((finding, next, spans)) = wrong.find_map(|one| {
            let mut repairs = one.repairs.iter();
            let (next, spans) = repairs.find_map(|repair| tried(&state, one, repair, around))?;
            Some((one, next, spans))
        }) else {
            break;
        };
        let is_it = |other: &Finding| other.rule == finding.rule && other.found == finding.found;
        if !first.iter().chain(&now.more).any(is_it) {
            now.more.push(finding.clone());
        }
        now.shift(&next.read.text, spans);
        state = next;
    }
    let is_refused = state
        .found
        .iter()
        .any(|finding| REFUSALS.contains(&finding.rule));
    (!now.spans.is_empty() && !is_refused).then_some(now)
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

/// The next text with its findings, and the places that have become others.
type Changed = (State, Vec<(Range<usize>, Range<usize>)>);

/// The text with a repair, if that is one.
fn tried(
    state: &State,
    finding: &Finding,
    repair: &Repair,
    around: &Surroundings<'_>,
) -> Option<Changed> {
    let (text, places) = applied(&state.read.text, repair)?;
    let next = State::of(&text, around);
    let before = counts(&state.found);
    let after = counts(&next.found);
    let of = |counts: &BTreeMap<&str, usize>, rule: &str| counts.get(rule).copied().unwrap_or(0);
    let is_less = of(&after, finding.rule) < of(&before, finding.rule);
    let hides = HIDING.contains(&finding.rule);
    let grows = |rule: &&str| of(&after, rule) > of(&before, rule) && !hides;
    let is_worse = after.keys().any(grows)
        || next.read.unclosed != state.read.unclosed && state.read.unclosed.is_none();
    let refused = |state: &State| refused_steps(&state.read, around);
    if !is_less || is_worse || refused(&next) > refused(state) {
        return None;
    }
    if serialises(&state.read, &next.read, around) {
        return None;
    }
    let mut old: Vec<_> = repair.iter().map(|edit| edit.range.clone()).collect();
    old.sort_by_key(|range| (range.start, range.end));
    Some((next, old.into_iter().zip(places).collect()))
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
const REFUSALS: &[&str] = &[
    "misspelt-option",
    "unknown-option",
    "other-release",
    "other-command",
    "invalid-directive",
    "wrong-value",
    "binding-never-fits",
    "binding-per-task",
    "binding-and-list",
    "mapping-never-fits",
    "mapping-and-binding",
    "mapping-and-list",
    "near-and-others",
    "cpuset-and-job",
    "more-than-the-job",
    "refused",
];

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

impl Corrected {
    /// Takes the next text, in which places `old` have become places `new`.
    fn shift(&mut self, text: &[u8], changes: Vec<(Range<usize>, Range<usize>)>) {
        for span in &mut self.spans {
            let (start, end) = (moved(span.start, &changes), moved(span.end, &changes));
            *span = start..end.max(start);
        }
        self.spans.extend(changes.into_iter().map(|(_, new)| new));
        self.text = text.to_vec();
    }

    /// The numbers of the changed lines, from 1, in the corrected text.
    pub(super) fn lines(&self) -> Vec<usize> {
        let mut lines = Vec::new();
        for span in &self.spans {
            let first = crate::shell::line_of(&self.text, span.start);
            let ended = self
                .text
                .get(span.clone())
                .is_some_and(|text| text.ends_with(b"\n"));
            let last = crate::shell::line_of(&self.text, span.end - usize::from(ended));
            lines.extend(first..=last);
        }
        lines.sort_unstable();
        lines.dedup();
        lines
    }
}

/// Where a place is after changes.
fn moved(place: usize, changes: &[(Range<usize>, Range<usize>)]) -> usize {
    let before = changes.iter().rev().find(|(old, _)| old.end <= place);
    let inside = changes
        .iter()
        .find(|(old, _)| old.start < place && place < old.end);
    match (inside, before) {
        (Some((_, new)), _) => new.end,
        (None, Some((old, new))) => place - old.end + new.end,
        (None, None) => place,
    }
}
