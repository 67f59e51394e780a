//! The steps of a batch script as requests of `berth plan`, from the reading that `berth check` has.

use berth_answer::lines;
use berth_answer::plan::{NoStep, ScriptStep};
use berth_answer::question::Question;
use berth_placement::Node;
use berth_srun::reading::selection;

use super::case::Case;
use super::command::{Command, Kind};
use super::files::Files;
use super::place::{Place, Surroundings};
use super::planned;
use super::role::Role;
use super::rules;
use super::script::{Script, script};

/// The steps of the script that a line of sbatch submits; the body of a loop counts once. `args` say where
/// it is planned.
pub(crate) fn steps(line: &str, args: &Question, on: &Node) -> Vec<ScriptStep> {
    let files = match args.script() {
        Some(lines::Script::Read { name, text }) => Files::with(name, text),
        _ => Files::default(),
    };
    let Some(place) = Place::of(args, on) else {
        return Vec::new();
    };
    let around = Surroundings {
        place: Some(&place),
        release: args.srun.release,
        exclusive: false,
        whole: args.gives_whole_nodes(),
        files: &files,
    };
    let mut found = Vec::new();
    add(&script(line.as_bytes(), around), around, &place, &mut found);
    found.sort_by_key(|step| step.line);
    found
}

fn add(script: &Script, around: Surroundings<'_>, place: &Place, found: &mut Vec<ScriptStep>) {
    let launches = |one: &&Command| matches!(one.kind, Kind::Srun | Kind::Mpirun);
    for command in script.commands.iter().filter(launches) {
        found.push(ScriptStep {
            line: command.number,
            text: text(command),
            request: request(&Case::new(script, command, around), place),
        });
    }
    // A job that the script submits is another one.
    let is_submitted = script.role == Role::Submitted;
    let runs = |inner: &&Script| match inner.role {
        Role::Part => true,
        Role::Submitted => !is_submitted,
        Role::Whole | Role::InTasks => false,
    };
    for inner in script.inner.iter().filter(runs) {
        add(inner, around, place, found);
    }
}

fn request(case: &Case<'_>, place: &Place) -> Result<Box<Question>, NoStep> {
    if case.command.kind == Kind::Mpirun {
        let why = "mpirun starts its tasks itself; berth plan 'mpirun …' shows where Open MPI's puts them";
        return Err(NoStep::NotPlanned(why.into()));
    }
    if let Some(wrong) = rules::refused(case).into_iter().next() {
        return Err(NoStep::Refused(wrong.found));
    }
    planned::request(case, place).map(Box::new).ok_or_else(|| {
        let mut names = case.unknown.iter();
        let name = names.find(|name| selection::concerns(name));
        NoStep::NotPlanned(match name {
            Some(name) => format!("--{name} has a value that only the job knows"),
            None => "only the job knows its options".into(),
        })
    })
}

/// The words as they are typed, on one line.
fn text(command: &Command) -> String {
    let words = std::iter::once(&command.name).chain(&command.words);
    let quoted = |text: &str| match text.contains(char::is_whitespace) {
        true => shlex::try_quote(text).map_or_else(|_| text.into(), Into::into),
        false => text.to_string(),
    };
    let words: Vec<String> = words.map(|word| quoted(&word.text)).collect();
    words.join(" ")
}
