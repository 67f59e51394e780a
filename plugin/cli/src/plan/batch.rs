//! `berth plan --batch`: one request per line, one answer per line, in order.
//! Options before --batch are defaults for every line; errors are answers too.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use berth_placement::Node;
use berth_srun::Release;
use clap::{Args, Command, FromArgMatches};

use super::request::{batch_file, node};
use super::{Answer, PlannedStep, answer_of_line, json, line, line_in, masks, notes};
use crate::Failure;
use crate::args::{Format, PlanArgs, as_getopt, shortened};
use crate::here::{self, Fact};
use crate::progress::counted;
use crate::say;

/// The machines that are already discovered, by name, because discovery is far slower than planning.
type Machines = HashMap<(String, String), Node>;

/// Runs a file of requests.
///
/// # Errors
/// A file that cannot be read, or an output that cannot be written.
pub(crate) fn run(args: &PlanArgs, path: &PathBuf) -> Result<ExitCode, Failure> {
    let input: Box<dyn BufRead> = match batch_file(path) {
        None => Box::new(io::stdin().lock()),
        Some(path) => Box::new(BufReader::new(
            File::open(path).map_err(|why| format!("--batch {}: {why}", path.display()))?,
        )),
    };
    let mut run = Run {
        command: command(),
        defaults: typed_words(),
        format: args.format,
        of_line: args.format,
        machines: HashMap::new(),
        failed: false,
        facts: Vec::new(),
    };
    let mut output = BufWriter::new(io::stdout().lock());
    for line in counted(input.lines()) {
        let line = line?;
        let text = line.trim();
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        let answer = run.answer(text).unwrap_or_else(|why| {
            run.failed = true;
            let why = one_line(&why.to_string());
            match run.of_line {
                Some(Format::Json) => json::no_plan(&why),
                _ => format!("error: {why}"),
            }
        });
        writeln!(output, "{answer}")?;
    }
    output.flush()?;
    say::facts(&run.facts);
    Ok(if run.failed {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

/// The definitions of a request's options. They are built once, because there are many options and
/// many lines.
pub(crate) fn command() -> Command {
    let mut command = PlanArgs::augment_args(Command::new("berth plan").no_binary_name(true));
    command.build();
    command
}

/// The words typed behind `plan`, without --batch and its value, and without a whole line.
pub(super) fn typed_words() -> Vec<String> {
    let mut words: Vec<_> = std::env::args_os().collect();
    line_in(&mut words);
    let words = words
        .into_iter()
        .map(|word| word.to_string_lossy().into_owned());
    let mut words = words.skip_while(|word| word != "plan").skip(1);
    let mut kept = Vec::new();
    while let Some(word) = words.next() {
        if word == "--batch" {
            words.next();
        } else if !word.starts_with("--batch=") {
            kept.push(word);
        }
    }
    kept
}

/// What the lines of a file have in common.
struct Run {
    command: Command,
    /// The words typed before a line's own.
    defaults: Vec<String>,
    format: Option<Format>,
    /// The format of the line that is answered, as far as it is known.
    of_line: Option<Format>,
    machines: Machines,
    /// Whether a step of a job's script would be refused.
    failed: bool,
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
        let args = self.read(text)?;
        self.of_line = args.format.or(self.format);
        let key = (
            args.machine.clone(),
            format!(
                "{:?} {:?} {:?} {} {} {}",
                args.numbering,
                args.socket,
                args.config_cpus,
                args.srun.release,
                args.allow_ecores,
                args.constrain_cores
            ),
        );
        if !self.machines.contains_key(&key) {
            self.machines.insert(key.clone(), node(&args)?);
        }
        let on = &self.machines[&key];
        let step = match answer_of_line(&args, on)? {
            Answer::Refused(why) => return Err(why.into()),
            Answer::Planned(step) => step,
        };
        let mut refused = step.job.iter().flat_map(|job| job.refused_steps());
        self.failed |= refused.next().is_some();
        for fact in &step.facts {
            if !self.facts.contains(fact) {
                self.facts.push(fact.clone());
            }
        }
        let mut line = match self.of_line {
            Some(Format::Cpus) => cpus(&step).join(" "),
            Some(Format::Masks) | None => nodes_masks(&step).join(" "),
            Some(Format::Json) => return json::line(&args, on, &step),
            Some(_) => {
                return Err(
                    "--batch prints one line per request; use --format masks, cpus or json".into(),
                );
            }
        };
        let of_job = step.job.iter().filter(|_| args.format.is_none());
        let refused = of_job.flat_map(|job| job.refused_steps());
        for note in notes(&args, on, &step).into_iter().chain(refused) {
            line.push_str(&format!(" # {}", one_line(&note)));
        }
        Ok(line)
    }

    /// The options of a line: those of `berth plan`, or a whole line with srun.
    fn read(&mut self, text: &str) -> Result<PlanArgs, Failure> {
        let words = shlex::split(text).ok_or("a quote is not closed on this line; close it")?;
        let mut defaults = self.defaults.clone();
        let words = match words.first().is_some_and(|word| !word.starts_with('-')) {
            true => {
                let mut words = line::spelled_out(text, self.release(&words))
                    .map_err(|why| say::short(&why.to_string()).into_owned())?;
                line::move_exclusive(&mut words, &mut defaults);
                words
            }
            false => {
                line::one_name(&words).map_err(|why| why.to_string())?;
                words.iter().flat_map(|word| as_getopt(word)).collect()
            }
        };
        let defaults = defaults.iter().flat_map(|word| as_getopt(word));
        let matches = self
            .command
            .try_get_matches_from_mut(defaults.chain(words))
            .map_err(first_line)?;
        let mut args = PlanArgs::from_arg_matches(&matches).map_err(first_line)?;
        args.settle()?;
        Ok(args)
    }

    /// The release whose srun reads a line: the last `--slurm` that is typed.
    fn release(&self, words: &[String]) -> Release {
        let all = || self.defaults.iter().chain(words);
        let behind = all().zip(all().skip(1));
        let apart = behind.filter(|(word, _)| *word == "--slurm");
        let joined = all().filter_map(|word| word.strip_prefix("--slurm="));
        let texts = apart.map(|(_, value)| value.as_str()).chain(joined);
        let typed = texts.filter_map(|text| text.parse().ok()).last();
        let here = || here::standing(here::LIVE, None).release();
        typed.or_else(here).unwrap_or(Release::NEWEST)
    }
}

/// The text of each node's launch message.
fn nodes_masks(step: &PlannedStep) -> Vec<String> {
    let nodes = 0..step.node_count();
    nodes.map(|node| masks(step.plan_of(node))).collect()
}

/// Each task's CPUs, in task order.
pub(super) fn cpus(step: &PlannedStep) -> Vec<String> {
    if !step.is_bound() {
        return vec!["none".into()];
    }
    step.tasks()
        .map(|task| task.plan().cpus.to_string())
        .collect()
}

/// clap's own text without its usage reminder.
fn first_line(why: clap::Error) -> String {
    let text = shortened(why).to_string();
    let line = text.lines().next().unwrap_or_default();
    line.trim_start_matches("error: ").to_string()
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
