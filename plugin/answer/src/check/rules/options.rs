//! Options that the command does not have: misspelt ones, those of another command or of another
//! release, and words that were meant to be options.

use berth_srun::Release;
use berth_srun::line::{LineOption, Trouble};
use berth_srun::options::{Command as Program, Lookup, long, nearest};

use crate::args::is_plans_own;
use crate::check::case::Case;
use crate::check::command::{Command, Kind};
use crate::check::finding::{Finding, Repair, replaced};

const REFUSED: &str = "starts nothing with it";

/// Options that the command's table does not have, and beginnings of several of its names. One that is
/// near to none may be a plugin's.
pub(super) fn misspelt(case: &Case<'_>) -> Vec<Finding> {
    let finding = |given: &LineOption| match &given.trouble {
        Some(Trouble::Unknown) => unknown_option(case, given),
        Some(Trouble::Ambiguous(names)) => Some(ambiguous(case, given, names)),
        _ => None,
    };
    let all = case.command.line.options.iter();
    all.filter_map(|given| {
        let at = given.words.start;
        finding(given).map(|one| case.on_line_of(at, one))
    })
    .collect()
}

/// An option that begins several names.
fn ambiguous(case: &Case<'_>, given: &LineOption, names: &[&'static str]) -> Finding {
    let program = case.command.kind.program();
    let who = program.name();
    let found = format!("{who}: option '--{}' is ambiguous", given.name);
    let names: Vec<_> = names.iter().map(|name| format!("--{name}")).collect();
    let why = format!("it may mean {}; {who} {REFUSED}", names.join(", "));
    let near = nearest(&given.name, program, case.around.release);
    let near = near.and_then(|near| case.command.rename(&case.script.text, given, near));
    case.warning("misspelt-option", found, &why).or(near)
}

fn unknown_option(case: &Case<'_>, given: &LineOption) -> Option<Finding> {
    let (command, release) = (case.command, case.around.release);
    let program = command.kind.program();
    let who = program.name();
    let found = match given.name.chars().count() {
        1 => format!("{who}: invalid option -- '{}'", given.name),
        _ => format!("{who}: unrecognized option '--{}'", given.name),
    };
    let warning = |rule, why: String| Some(case.warning(rule, found.clone(), &why));
    if given.name.chars().count() == 1 {
        return warning("unknown-option", format!("{who} {REFUSED}"));
    }
    let has = |program, release| matches!(long(program, Some(release), &given.name), Lookup::Option(row) if row.typed == given.name);
    let others = [Program::Srun, Program::Sbatch, Program::Salloc];
    let mut lines = Release::ALL.into_iter().filter(|line| has(program, *line));
    if let Some(first) = lines.next() {
        let last = lines.next_back().unwrap_or(first);
        let why = match last > release {
            true => format!("Slurm {release} does not have it; {first} does"),
            false => format!("Slurm {release} does not have it any more; {last} was the last"),
        };
        return warning("other-release", why);
    }
    if let Some(other) = others.into_iter().find(|other| has(*other, release)) {
        let why = format!("it is an option of {}; {who} {REFUSED}", other.name());
        let finding = case.warning("other-command", found, &why);
        return Some(match other {
            Program::Srun => finding.or(moved(case, given)),
            _ => finding,
        });
    }
    if is_plans_own(&given.name) {
        let why = format!("it is an option of berth plan alone; {who} {REFUSED}");
        return warning("other-command", why);
    }
    let near = nearest(&given.name, program, release)?;
    let why = format!("the nearest option of {who} is --{near}; {who} {REFUSED}");
    let finding = case.warning("misspelt-option", found, &why);
    Some(finding.or(case.command.rename(&case.script.text, given, near)))
}

/// The option moved from a job to its sruns.
fn moved(case: &Case<'_>, given: &LineOption) -> Option<Repair> {
    let job = case.command;
    let words = job.words.get(given.words.clone())?;
    let typed: Vec<_> = words.iter().map(|word| word.text.as_str()).collect();
    let mut edits = job.remove(&case.script.text, given)?;
    let is_step = |command: &&Command| command.kind == Kind::Srun;
    let steps = case.script.commands.iter().filter(is_step);
    steps.clone().next()?;
    let steps = steps.filter(|step| step.option(&given.name).is_none());
    let inserted: Option<Vec<_>> = steps.map(|step| step.insert(&typed.join(" "))).collect();
    edits.extend(inserted?.concat());
    Some(edits)
}

/// A long name behind one dash: its letters are read as options, often without a complaint.
pub(super) fn single_dash(case: &Case<'_>) -> Option<Finding> {
    let command = case.command;
    let program = command.kind.program();
    let is_name = |text: &str| {
        let name = text.split('=').next().unwrap_or_default();
        let found = long(program, Some(case.around.release), name);
        name.len() > 2 && matches!(found, Lookup::Option(row) if row.typed == name)
    };
    let starts = command.line.options.iter().map(|given| given.words.start);
    let mut words = starts.filter_map(|at| Some((at, command.words.get(at)?)));
    let (at, word) = words.find(|(_, word)| {
        let name = word
            .text
            .strip_prefix('-')
            .filter(|name| !name.starts_with('-'));
        word.is_plain && name.is_some_and(is_name)
    })?;
    let letter = word.text.chars().nth(1).unwrap_or_default();
    let (who, rest) = (program.name(), word.text.get(2..).unwrap_or_default());
    let why = format!(
        "behind one dash {who} reads -{letter} with the value \"{rest}\", or several letters"
    );
    let finding = case.warning("misspelt-option", word.text.clone(), &why);
    let finding = case.on_line_of(at, finding);
    let start = word.range.start;
    Some(finding.or(Some(replaced(start..start, "-"))))
}

/// A dash that a word processor has made longer.
pub(super) fn other_dash(case: &Case<'_>) -> Option<Finding> {
    let command = case.command;
    let word = command.program().first().filter(|word| word.is_plain)?;
    let dash = word
        .text
        .chars()
        .next()
        .filter(|first| "–—−‐‑".contains(*first))?;
    let rest = word.text.get(dash.len_utf8()..)?;
    let rest = rest.trim_start_matches(['-', dash]);
    let name = rest.split('=').next().unwrap_or_default();
    let dashes = if name.chars().count() > 1 && !name.chars().nth(1)?.is_ascii_digit() {
        "--"
    } else {
        "-"
    };
    let why = format!(
        "this dash is no ASCII character, so {} takes the word for a program",
        command.kind.program().name()
    );
    let finding = case.warning("misspelt-option", word.text.clone(), &why);
    let finding = case.on_line_of(command.line.own_words, finding);
    let end = word.range.end - rest.len();
    Some(finding.or(Some(replaced(word.range.start..end, dashes))))
}

/// A word between the options of a directive; sbatch takes it for the end of the options and stops.
pub(super) fn not_an_option(case: &Case<'_>) -> Option<Finding> {
    let command = case.command;
    let is_directive = command.kind == Kind::Job(Program::Sbatch) && command.name.range.is_empty();
    let word = command.program().first().filter(|_| is_directive)?;
    let found = format!(
        "sbatch: Invalid directive found in batch script: {}",
        word.text
    );
    let why = "it is neither an option nor an option's value, and sbatch takes nothing behind it";
    let finding = case.warning("invalid-directive", found, why);
    Some(case.on_line_of(command.line.own_words, finding))
}
