//! `berth plan`: answers one request in the requested format. With `--batch` each line of a file is a request, and
//! gets one answer, in order: options before it are defaults for every line, and errors are answers too.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;

use berth_answer::args::{Format, PlanArgs, shortened};
use berth_answer::lines::NoAnswer;
use berth_answer::plan::{self, Answered};
use berth_answer::reader::{Reader, Unread};
use berth_answer::{Failure, Premise, Question, Unreadable, check, reader, text};
use berth_placement::Node;

use crate::args::usage;
use crate::say;
use crate::world::HOST;

/// Runs the subcommand.
///
/// # Errors
/// A machine or file that cannot be read, an output that cannot be written.
pub(crate) fn run(typed: &PlanArgs) -> Result<ExitCode, Failure> {
    if let Some(path) = &typed.batch {
        return batch(typed, path);
    }
    let question = match question(typed) {
        Ok(question) => question,
        Err(Unread::Options(why)) => shortened(why).exit(),
        Err(Unread::Line(why)) => return Err(why.into()),
    };
    let on = plan::node(&question, &HOST)?;
    let step = check::answer(&question, &on, &HOST)?;
    print(step.answered(&question, &on))?;
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
    let mut own = Vec::new();
    while let Some(word) = words.next() {
        if word == "--batch" {
            words.next();
        } else if word != "--ascii" && !word.starts_with("--batch=") {
            own.push(word);
        }
    }
    own
}

/// Prints the answer, what it rests on, and the notes.
fn print(of: Answered<'_>) -> Result<(), Failure> {
    let args = of.args;
    let format = args.format.unwrap_or(Format::Table);
    let is_text = matches!(format, Format::Table | Format::Tree | Format::Brackets);
    let mut out = say::output_for(is_text);
    let screen = say::screen(args.width, args.color);
    if let Some(note) = plan::show(of, screen, &mut out)? {
        say::note(note);
    }
    if is_text {
        plan::reasons(&mut out, of)?;
    }
    out.flush()?;
    // The JSON has everything; people read beside the other formats what is for them.
    if !is_text && format != Format::Json {
        plan::reasons(&mut io::stderr(), of)?;
        say::premises(&of.step.premises);
    }
    for note in plan::notes(of) {
        say::note(&note);
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

/// The machines that are already discovered, by name, because discovery is far slower than planning.
type Machines = HashMap<(String, String), Node>;

/// Runs a file of requests; `-` is stdin.
///
/// # Errors
/// A file that cannot be read, or an output that cannot be written.
fn batch(args: &PlanArgs, path: &Path) -> Result<ExitCode, Failure> {
    let input: Box<dyn BufRead> = match path.as_os_str() == "-" {
        true => Box::new(io::stdin().lock()),
        false => Box::new(BufReader::new(
            File::open(path).map_err(|why| unread(path, &why))?,
        )),
    };
    let reader = Reader::new(typed_words(), &HOST);
    let mut run = Run {
        reader: reader.unwrap_or_else(|why| usage(&reason(why)).exit()),
        format: args.format,
        of_line: args.format,
        failed: false,
        machines: HashMap::new(),
        premises: Vec::new(),
    };
    let mut output = BufWriter::new(io::stdout().lock());
    for line in input.lines() {
        let line = line.map_err(|why| unread(path, &why))?;
        let text = line.trim();
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        let answer = run.answer(text).unwrap_or_else(|why| {
            run.failed = true;
            plan::no_line(&why.to_string(), run.of_line)
        });
        writeln!(output, "{answer}")?;
    }
    output.flush()?;
    say::premises(&run.premises);
    Ok(crate::exit_code(run.failed))
}

fn unread(path: &Path, why: &io::Error) -> Unreadable {
    Unreadable(format!("--batch {} cannot be read: {why}", path.display()))
}

/// The state that the lines of a file have in common.
struct Run {
    reader: Reader<'static>,
    format: Option<Format>,
    /// The format of the line that is answered, as far as it is known.
    of_line: Option<Format>,
    /// Whether a line, or a step of a job's script, would be refused.
    failed: bool,
    machines: Machines,
    /// The facts found and assumed for the answers; each premise is printed once.
    premises: Vec<Premise>,
}

impl Run {
    /// One line's answer.
    ///
    /// # Errors
    /// Why the step would not run, or what is wrong with the line.
    fn answer(&mut self, text: &str) -> Result<String, Failure> {
        self.of_line = self.format;
        let args = self.reader.line_of_file(&as_line(text)).map_err(reason)?;
        self.of_line = args.format.or(self.format);
        let key = key(&args);
        if !self.machines.contains_key(&key) {
            self.machines.insert(key.clone(), plan::node(&args, &HOST)?);
        }
        let on = &self.machines[&key];
        let step = check::answer(&args, on, &HOST)?;
        self.failed |= step.refuses_a_step();
        for premise in &step.premises {
            if !self.premises.contains(premise) {
                self.premises.push(premise.clone());
            }
        }
        plan::one_line(step.answered(&args, on), self.of_line)
    }
}

/// The words that decide about the machine of a request.
fn key(args: &Question) -> (String, String) {
    let rules = format!(
        "{:?} {:?} {:?} {} {} {}",
        args.numbering,
        args.socket,
        args.config_cpus,
        args.srun.release,
        args.allow_ecores,
        args.constrain_cores
    );
    (args.machine.clone(), rules)
}

/// A reason in one line: clap's own text is without its usage reminder.
fn reason(why: Unread) -> String {
    text::short(&NoAnswer::from(why).to_string()).into_owned()
}
