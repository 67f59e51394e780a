//! The page's questions: the plan of a line, its check, the machine, the known machines, the options. Each answer is the
//! text of the command's own document.

use berth_answer::args::{Format, shortened};
use berth_answer::check::{self, check};
use berth_answer::json;
use berth_answer::lines::NoAnswer;
use berth_answer::picture::Screen;
use berth_answer::plan;
use berth_answer::question::Question;
use berth_answer::reader::{Reader, Unread, command};
use berth_answer::shell::assignment;
use berth_answer::topo::{Apart, Document, Known};
use berth_answer::{Failure, Unreadable, text};
use clap::Arg;
use clap::builder::PossibleValue;
use serde::Serialize;

use crate::page_world::PageWorld;
use crate::{Answer, Message, Request};

/// The screen of a picture of letters; the page shows none.
const SCREEN: Screen = Screen {
    width: 80,
    has_colours: false,
};

/// Answers a request in its world.
pub(crate) fn answer(request: &Request, world: &PageWorld) -> Answer {
    let done = match request.face.as_str() {
        "plan" => planned(request, world),
        "check" => checked(request, world),
        "topo" => topo(request, world),
        "machines" => document("berth-machines", "machines", &Known::all()),
        "options" => document("berth-options", "options", &options()),
        other => Err(Unreadable(format!("\"{other}\" is nothing that can be asked")).into()),
    };
    done.unwrap_or_else(|why| failed(&why))
}

fn failed(why: &Failure) -> Answer {
    let (code, kind) = match why.downcast_ref() {
        Some(NoAnswer::Usage(_)) => (2, "usage"),
        Some(NoAnswer::Failed(_)) => (2, "failed"),
        Some(NoAnswer::Refused(_)) => return Answer::without(1, "refused", why.to_string()),
        _ if why.is::<Unreadable>() => (2, "failed"),
        _ => (1, "failed"),
    };
    Answer::without(code, kind, text::short(&why.to_string()).into_owned())
}

fn document(format: &str, field: &str, value: &impl Serialize) -> Result<Answer, Failure> {
    let mut out = Vec::new();
    json::write(&mut out, format, field, value)?;
    Ok(Answer::of(String::from_utf8(out)?))
}

/// The answer to words that are no question.
fn unread(why: Unread) -> Answer {
    match why {
        Unread::Options(why) => Answer::without(2, "usage", shortened(why).to_string()),
        Unread::Line(why) => failed(&why.into()),
    }
}

/// The question of a request; without the line it is about the machine alone.
fn question(request: &Request, world: &PageWorld, with_line: bool) -> Result<Question, Unread> {
    let mut beside = vec!["--machine".to_string(), world.source.clone()];
    beside.extend(request.words.iter().cloned());
    let line = if with_line { request.line.trim() } else { "" };
    if !line.is_empty() && (!line.starts_with('-') || !request.variables.is_empty()) {
        return Reader::new(beside, world)?.line(&after_variables(request, line)?);
    }
    let unclosed = || "a quote is not closed on this line; close it".to_string();
    beside.extend(shlex::split(line).ok_or_else(unclosed)?);
    Reader::new(beside, world)?.alone()
}

/// The variables as they stand before a line, in the order of their names.
fn assignments(request: &Request) -> Result<Vec<String>, String> {
    let one = |(name, value): (&String, &String)| {
        let text = format!("{name}={value}");
        let is_one = assignment(&text).is_some_and(|(known, _)| known == name);
        let wrong = || format!("\"{name}\" is no name of a variable");
        is_one.then_some(text).ok_or_else(wrong)
    };
    let mut all: Vec<_> = request
        .variables
        .iter()
        .map(one)
        .collect::<Result<_, _>>()?;
    all.sort_unstable();
    Ok(all)
}

/// A line with the variables before it; those that it has itself win.
fn after_variables(request: &Request, line: &str) -> Result<String, String> {
    let mut words = Vec::new();
    for text in assignments(request)? {
        let (name, value) = text.split_once('=').unwrap_or((&text, ""));
        let value = shlex::try_quote(value).map_err(|why| format!("{name}: {why}"))?;
        words.push(format!("{name}={value}"));
    }
    if line.starts_with('-') {
        words.push("srun".into());
    }
    words.push(line.into());
    Ok(words.join(" "))
}

/// The output of `berth plan`.
fn planned(request: &Request, world: &PageWorld) -> Result<Answer, Failure> {
    let question = match question(request, world, true) {
        Ok(question) => question,
        Err(why) => return Ok(unread(why)),
    };
    let on = plan::node(&question, world)?;
    let step = check::answer(&question, &on, world)?;
    let of = step.answered(&question, &on);
    let mut out = Vec::new();
    let note = plan::show(of, SCREEN, &mut out)?;
    let is_text = !matches!(question.format, Some(Format::Json | Format::Svg));
    if is_text {
        plan::reasons(&mut out, of)?;
    }
    let notes = note.map(String::from).into_iter();
    let notes = notes.chain(plan::notes(of));
    Ok(Answer {
        code: u8::from(step.refuses_a_step()),
        output: String::from_utf8(out)?,
        messages: notes.map(|text| Message { kind: "note", text }).collect(),
    })
}

/// The output of `berth check --format json`.
fn checked(request: &Request, world: &PageWorld) -> Result<Answer, Failure> {
    let question = match question(request, world, false) {
        Ok(question) => question,
        Err(why) => return Ok(unread(why)),
    };
    let variables = match assignments(request) {
        Ok(variables) => variables,
        Err(why) => return Ok(unread(why.into())),
    };
    let text = request.script.as_deref().unwrap_or(&request.line);
    // The job is that of the text.
    let is_jobs = |word: &&String| word.starts_with("--job=");
    let beside: Vec<_> = request
        .words
        .iter()
        .filter(|word| !is_jobs(word))
        .cloned()
        .collect();
    let report = check(
        &check::Request {
            text: text.as_bytes(),
            is_file: request.script.is_some(),
            machine: Some(&world.source),
            cluster: None,
            release: question.slurm,
            exclusive: false,
            site: question.typed.site,
            beside: &beside,
            variables: &variables,
        },
        world,
    )?;
    let mut out = Vec::new();
    json::write_all(&mut out, "berth-check", &report)?;
    Ok(Answer {
        code: u8::from(report.is_wrong()),
        ..Answer::of(String::from_utf8(out)?)
    })
}

/// The output of `berth topo --format json`, by the rules of the words.
fn topo(request: &Request, world: &PageWorld) -> Result<Answer, Failure> {
    let question = match question(request, world, false) {
        Ok(question) => question,
        Err(why) => return Ok(unread(why)),
    };
    let node = plan::node(&question, world)?;
    let machine = node.machine().ok_or("the machine is unknown")?;
    let (kind, apart) = (question.socket_kind(), Apart::default());
    let document = Document::of(&world.source, machine, &[], kind, &apart);
    let mut out = Vec::new();
    json::write_all(&mut out, "berth-topo", &document)?;
    Ok(Answer::of(String::from_utf8(out)?))
}

/// An option.
#[derive(Serialize)]
struct Offer {
    long: Option<String>,
    short: Option<char>,
    /// The name of its value; absent where it has none.
    value: Option<String>,
    /// Whether the value may be left out.
    optional: bool,
    help: String,
    /// The chapter of the help.
    chapter: Option<String>,
    values: Vec<Choice>,
}

/// A value that it may have.
#[derive(Serialize)]
struct Choice {
    word: String,
    help: String,
}

/// Every option of a line, in the order of the help, with its help and values, from the definitions that the command's help
/// has: the page offers them while somebody types.
fn options() -> Vec<Offer> {
    let command = command();
    let options = command.get_arguments().filter(|one| !one.is_positional());
    options.map(offer).collect()
}

fn offer(option: &Arg) -> Offer {
    let names = option.get_value_names().unwrap_or_default();
    let takes = option.get_action().takes_values();
    let choice = |value: PossibleValue| Choice {
        word: value.get_name().into(),
        help: value
            .get_help()
            .map(ToString::to_string)
            .unwrap_or_default(),
    };
    Offer {
        long: option.get_long().map(String::from),
        short: option.get_short(),
        value: takes.then(|| names.iter().map(ToString::to_string).collect()),
        optional: option
            .get_num_args()
            .is_some_and(|count| count.min_values() == 0),
        help: option
            .get_help()
            .map(ToString::to_string)
            .unwrap_or_default(),
        chapter: option.get_help_heading().map(String::from),
        values: option
            .get_possible_values()
            .into_iter()
            .map(choice)
            .collect(),
    }
}
