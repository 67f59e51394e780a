//! The steps of a batch script as requests of `berth plan`, from the reading that `berth check` has.

use berth_placement::Node;

use super::case::Case;
use super::command::{Command, Kind};
use super::place::{Place, Surroundings};
use super::script::{Role, Script, script};
use super::{planned, rules};
use crate::plan::controller::passed_on;
use crate::plan::{self, JobStep, PlannedStep, StepAnswer};
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
        let steps = steps(line, question, on, world);
        job.take_steps(steps, question);
    }
    Ok(step)
}

/// The steps of the script that a line of sbatch submits.
fn steps(line: &str, question: &Question, on: &Node, world: &dyn World) -> Vec<JobStep> {
    let Some(place) = Place::of(question, on, world) else {
        return Vec::new();
    };
    let release = question.srun.release;
    let mut around = Surroundings::of(line.as_bytes(), Some(place), release, world);
    around.whole = question.gives_whole_nodes();
    if let Some(lines::Script::Read { name, text }) = question.script() {
        around = around.with_script(name, text);
    }
    around.passed = passed_on(question);
    let mut found = Vec::new();
    add(&script(line.as_bytes(), &around), &around, &mut found);
    found.sort_by_key(|step| step.line);
    found
}

fn add(script: &Script, around: &Surroundings<'_>, found: &mut Vec<JobStep>) {
    let launches = |one: &&Command| matches!(one.kind, Kind::Srun | Kind::Mpirun);
    for command in script.commands.iter().filter(launches) {
        found.push(JobStep {
            line: Some(command.number),
            text: text(command),
            plan: String::new(),
            answer: Some(answered(&Case::new(script, command, around))),
        });
    }
    let why = "it may start srun, and was not read";
    found.extend(script.unread.iter().map(|(at, text)| JobStep {
        line: Some(script.line_of(*at)),
        text: text.clone(),
        plan: String::new(),
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

/// The words as far as the script gives them, on one line.
fn text(command: &Command) -> String {
    let words = std::iter::once(&command.name).chain(&command.words);
    let quoted = |text: &str| match text.is_empty() || text.contains(char::is_whitespace) {
        true => shlex::try_quote(text).map_or_else(|_| text.into(), Into::into),
        false => text.to_string(),
    };
    let words: Vec<String> = words.map(|word| quoted(&word.text)).collect();
    words.join(" ").replace("?}", "}")
}
