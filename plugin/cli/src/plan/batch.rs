//! `berth plan --batch`: one request per line, one answer per line, in order.
//! Options before --batch are defaults for every line; errors are answers too.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;

use berth_answer::args::{Format, PlanArgs};
use berth_answer::lines::NoAnswer;
use berth_answer::plan::{self, Answer};
use berth_answer::reader::{Reader, Unread};
use berth_answer::{Fact, Failure, Question, Unreadable, check, text};
use berth_placement::Node;

use super::{as_line, typed_words};
use crate::args::usage;
use crate::here::HOST;
use crate::say;

/// The machines that are already discovered, by name, because discovery is far slower than planning.
type Machines = HashMap<(String, String), Node>;

/// Runs a file of requests; `-` is stdin.
///
/// # Errors
/// A file that cannot be read, or an output that cannot be written.
pub(super) fn run(args: &PlanArgs, path: &Path) -> Result<ExitCode, Failure> {
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
        facts: Vec::new(),
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
    say::facts(&run.facts);
    Ok(crate::exit_code(run.failed))
}

fn unread(path: &Path, why: &io::Error) -> Unreadable {
    Unreadable(format!("--batch {} cannot be read: {why}", path.display()))
}

/// What the lines of a file have in common.
struct Run {
    reader: Reader<'static>,
    format: Option<Format>,
    /// The format of the line that is answered, as far as it is known.
    of_line: Option<Format>,
    /// Whether a line, or a step of a job's script, would be refused.
    failed: bool,
    machines: Machines,
    /// What was found out and assumed for the answers; each fact is printed once.
    facts: Vec<Fact>,
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
        let step = match check::answer(&args, on, &HOST)? {
            Answer::Refused(why) => return Err(why.into()),
            Answer::Planned(step) => step,
        };
        self.failed |= step.refuses_a_step();
        for fact in &step.facts {
            if !self.facts.contains(fact) {
                self.facts.push(fact.clone());
            }
        }
        plan::one_line(&args, on, &step, self.of_line)
    }
}

/// What decides about the machine of a request.
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
