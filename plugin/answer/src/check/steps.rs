//! The steps of a batch script as requests of `berth plan`, from the reading that `berth check` has.

use berth_placement::Node;
use berth_srun::options::{Command as Program, variables};

use super::case::Case;
use super::command::{Command, Kind};
use super::place::{Place, Surroundings};
use super::script::{Role, Script, script};
use super::{planned, rules};
use crate::plan::controller::passed_on;
use crate::plan::{self, JobStep, PlannedStep, StepAnswer};
use crate::shell::Word;
use crate::{Failure, Question, World, lines};

/// Plans one request as `berth plan` does, and the steps of the script that its job runs; the body of a loop
/// counts once.
///
/// # Errors
/// [`lines::NoAnswer`] where it would not run, and options that do not fit the machine.
pub fn answer(question: &Question, on: &Node, world: &dyn World) -> Result<PlannedStep, Failure> {
    let mut step = plan::answer_of_line(question, on)?;
    if let Some(job) = &mut step.job
        && let Some(line) = &job.submits
    {
        let (steps, beside) = steps(line, question, on, world);
        job.take_steps(steps, question);
        step.notes.extend(note(&beside));
    }
    Ok(step)
}

/// The steps of the script that a line of sbatch submits, and the lines of those that are planned but start beside
/// others.
fn steps(
    line: &str,
    question: &Question,
    on: &Node,
    world: &dyn World,
) -> (Vec<JobStep>, Vec<usize>) {
    let Some(place) = Place::of(question, on, world) else {
        return Default::default();
    };
    let release = question.srun.release;
    let mut around = Surroundings::of(line.as_bytes(), Some(place), release, world);
    around.whole = question.gives_whole_nodes();
    if let Some(lines::Script::Read { name, text }) = question.script() {
        around = around.with_script(name, text);
    }
    around.passed = passed_on(question);
    let mut found = Vec::new();
    let read = script(line.as_bytes(), &around);
    add(&read, &around, &mut found);
    found.sort_by_key(|step| step.line);
    let all = read.all_scripts();
    let is_planned = |line: &usize| {
        let mut steps = found.iter().filter(|step| step.line == Some(*line));
        steps.any(|step| step.planned().is_some())
    };
    let beside = all.iter().flat_map(|script| beside_others(script));
    let beside = beside.filter(is_planned).collect();
    (found, beside)
}

/// The lines of steps that start while another one may still hold CPUs of the job.
fn beside_others(script: &Script) -> impl Iterator<Item = usize> + '_ {
    let holds = |one: &Command| one.kind == Kind::Srun && one.option("overlap").is_none();
    let all = script.commands.iter().enumerate();
    let beside = all.filter(move |(at, one)| {
        let mut before = script.commands.iter().take(*at);
        let runs =
            |other: &Command| holds(other) && other.in_background && other.waits == one.waits;
        holds(one) && (before.any(runs) || one.in_background && one.loops > 0)
    });
    beside.map(|(_, one)| one.number)
}

fn note(lines: &[usize]) -> Option<String> {
    let mut lines: Vec<_> = lines.iter().map(usize::to_string).collect();
    lines.dedup();
    let what = match lines.len() {
        0 => return None,
        1 => "line",
        _ => "lines",
    };
    Some(format!(
        "{what} {}: planned as if no other step of the job were running; beside others a step gets CPUs that they \
         leave, or waits",
        lines.join(", ")
    ))
}

fn add(script: &Script, around: &Surroundings<'_>, found: &mut Vec<JobStep>) {
    let launches = |one: &&Command| matches!(one.kind, Kind::Srun | Kind::Mpirun);
    for command in script.commands.iter().filter(launches) {
        let case = Case::new(script, command, around);
        found.push(JobStep {
            line: Some(command.number),
            text: text(command, |word| word.text.clone()),
            plan: alone(&case),
            answer: Some(answered(&case)),
        });
    }
    let why = "it may start srun, and was not read";
    found.extend(script.unread.iter().map(|(at, text)| JobStep {
        line: Some(script.line_of(*at)),
        text: text.clone(),
        plan: text.clone(),
        answer: Some(StepAnswer::NotPlanned { why: why.into() }),
    }));
    // A job that the script submits is another one.
    let is_submitted = script.role == Role::Submitted;
    let runs = |one: &&Script| match one.role {
        Role::Part => true,
        Role::Submitted => !is_submitted,
        Role::Whole | Role::InTasks => false,
    };
    for nested in script.nested.iter().filter(runs) {
        add(nested, around, found);
    }
}

fn answered(case: &Case<'_>) -> StepAnswer {
    if case.command.kind == Kind::Mpirun {
        let why = "mpirun starts its tasks itself; berth plan 'mpirun …' shows where Open MPI's puts them".into();
        return StepAnswer::NotPlanned { why };
    }
    if let Some(wrong) = rules::refused(case).into_iter().next() {
        return StepAnswer::Refused { why: wrong.found };
    }
    let Some(place) = &case.around.place else {
        return planned::unknown(case);
    };
    match planned::request(case, place) {
        Ok(request) => plan::answered(request, &place.node),
        Err(answer) => answer,
    }
}

/// The step without its script: its words with the job's variables, behind the script's own variables that srun reads.
fn alone(case: &Case<'_>) -> String {
    let set = variables(Program::Srun, case.around.release).filter_map(|(name, _)| {
        let variable = case.command.variables.get(name);
        let value = case
            .job_variables
            .value_of(variable.filter(|one| !one.is_hidden)?)?;
        Some(format!("{name}={} ", shlex::try_quote(&value).ok()?))
    });
    let complete = |word: &Word| {
        let completed = case.job_variables.complete(&word.text);
        completed.unwrap_or_else(|| word.text.clone())
    };
    set.collect::<String>() + &text(case.command, complete)
}

/// The words of a command on one line.
fn text(command: &Command, value: impl Fn(&Word) -> String) -> String {
    let words = std::iter::once(&command.name).chain(&command.words);
    let quoted = |text: &str| match text.is_empty() || text.contains(char::is_whitespace) {
        true => shlex::try_quote(text).map_or_else(|_| text.into(), Into::into),
        false => text.to_string(),
    };
    let words: Vec<String> = words.map(|word| quoted(&value(word))).collect();
    words.join(" ").replace("?}", "}")
}
