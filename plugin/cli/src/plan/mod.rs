//! `berth plan`: answers one request, or a file of them, in the requested format.

mod batch;

use std::borrow::Cow;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use berth_answer::args::{Format, PlanArgs, shortened};
use berth_answer::lines::NoAnswer;
use berth_answer::plan::{Answer, PlannedStep};
use berth_answer::reader::{Reader, Unread};
use berth_answer::{Failure, Question, check, lines, plan, reader};
use berth_placement::Node;

use crate::args::usage;
use crate::here::HOST;
use crate::say;

/// Runs the subcommand.
///
/// # Errors
/// A machine or file that cannot be read, an output that cannot be written.
pub(crate) fn run(typed: &PlanArgs) -> Result<ExitCode, Failure> {
    if let Some(path) = &typed.batch {
        return batch::run(typed, path);
    }
    let question = match question(typed) {
        Ok(question) => question,
        Err(Unread::Options(why)) => shortened(why).exit(),
        Err(Unread::Line(NoAnswer::Usage(why))) => usage(&why).exit(),
        Err(Unread::Line(why)) => return Err(why.into()),
    };
    let on = plan::node(&question, &HOST)?;
    let answered = check::answer(&question, &on, &HOST).map_err(|why| {
        match why.downcast::<lines::Unusable>() {
            Ok(why) => usage(&why.to_string()).exit(),
            Err(why) => why,
        }
    });
    let step = match answered? {
        Answer::Planned(step) => step,
        Answer::Refused(why) => {
            match plan::is_not_modelled(&why) {
                true => say::failed(&why),
                false => say::refused(&why),
            }
            return Ok(ExitCode::FAILURE);
        }
    };
    print(&question, &on, &step)?;
    Ok(crate::exit_code(step.refuses_a_step()))
}

/// The question that was typed.
fn question(typed: &PlanArgs) -> Result<Question, Unread> {
    let mut beside = typed_words();
    beside.retain(|word| Some(word) != typed.line.as_ref());
    let mut reader = Reader::new(beside, &HOST)?;
    match &typed.line {
        Some(line) => reader.line(&as_line(line)),
        None => reader.alone(),
    }
}

/// The words typed behind `plan`, without --batch and its value, and without a whole line.
fn typed_words() -> Vec<String> {
    let mut words: Vec<_> = std::env::args_os().collect();
    reader::line_in(&mut words);
    let words = words
        .into_iter()
        .map(|word| word.to_string_lossy().into_owned());
    let mut words = words.skip_while(|word| word != "plan").skip(1);
    let mut kept = Vec::new();
    while let Some(word) = words.next() {
        if word == "--batch" {
            words.next();
        } else if word != "--ascii" && !word.starts_with("--batch=") {
            kept.push(word);
        }
    }
    kept
}

/// Prints the answer, what it rests on, and the notes.
fn print(args: &Question, on: &Node, step: &PlannedStep) -> Result<(), Failure> {
    let format = args.format.unwrap_or(Format::Table);
    let is_text = matches!(format, Format::Table | Format::Tree | Format::Brackets);
    let mut out: Box<dyn Write> = match is_text {
        true => Box::new(say::text_output()),
        false => Box::new(say::output()),
    };
    let screen = say::screen(args.width, args.color);
    if let Some(note) = plan::show(args, on, step, screen, &mut out)? {
        say::note(note);
    }
    if is_text {
        reasons(&mut out, args, on, step)?;
    }
    out.flush()?;
    // The JSON has everything; people read beside the other formats what is for them.
    if !is_text && format != Format::Json {
        reasons(&mut std::io::stderr(), args, on, step)?;
        say::facts(&step.facts);
    }
    for note in plan::notes(args, on, step) {
        say::note(&note);
    }
    Ok(())
}

/// What `--explain` and `--score` ask for.
fn reasons(
    out: &mut impl Write,
    args: &Question,
    on: &Node,
    step: &PlannedStep,
) -> Result<(), Failure> {
    if args.explain {
        plan::explain(out, args, on, step)?;
    }
    if args.score {
        plan::score(out, on, step)?;
    }
    Ok(())
}

/// A batch script is planned as the line of sbatch that submits it.
fn as_line(text: &str) -> Cow<'_, str> {
    let quoted = || shlex::try_quote(text).ok();
    match Path::new(text).is_file() {
        true => quoted().map_or(text.into(), |name| format!("sbatch {name}").into()),
        false => text.into(),
    }
}
