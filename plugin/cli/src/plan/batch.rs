//! `berth plan --batch`: one request per line, one answer per line, in order.
//! Options before --batch are defaults for every line; errors are answers too.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use berth_placement::Node;
use clap::{Args, Command, FromArgMatches};

use super::request::{batch_file, node};
use super::{Answer, PlannedStep, answer, masks, notes};
use crate::Failure;
use crate::args::{Format, PlanArgs, as_getopt};
use crate::progress::counted;

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
    // The definitions are built once, because there are many options and many lines.
    let mut command = PlanArgs::augment_args(Command::new("berth plan").no_binary_name(true));
    command.build();
    let defaults = default_words();
    let mut machines = Machines::new();
    let mut output = BufWriter::new(io::stdout().lock());
    for line in counted(input.lines()) {
        let line = line?;
        let text = line.trim();
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        let answer = one(&mut command, &defaults, text, args, &mut machines)
            .unwrap_or_else(|why| format!("error: {}", one_line(&why.to_string())));
        writeln!(output, "{answer}")?;
    }
    output.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// The words typed before a line's own, without --batch and its value.
fn default_words() -> Vec<String> {
    let mut words = std::env::args().skip_while(|word| word != "plan").skip(1);
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

fn one(
    command: &mut Command,
    defaults: &[String],
    text: &str,
    outer: &PlanArgs,
    machines: &mut Machines,
) -> Result<String, Failure> {
    let words = shlex::split(text).ok_or("a quote is not closed on this line; close it")?;
    let words = words.strip_prefix(&["srun".to_string()]).unwrap_or(&words);
    let matches = command
        .try_get_matches_from_mut(
            defaults
                .iter()
                .chain(words)
                .flat_map(|word| as_getopt(word)),
        )
        .map_err(|why| first_line(&why.to_string()))?;
    let args = PlanArgs::from_arg_matches(&matches).map_err(|why| first_line(&why.to_string()))?;
    let key = (
        args.machine.clone(),
        format!(
            "{:?} {:?} {:?} {:?} {} {}",
            args.numbering,
            args.socket,
            args.config_cpus,
            args.slurm,
            args.allow_ecores,
            args.constrain_cores
        ),
    );
    if !machines.contains_key(&key) {
        machines.insert(key.clone(), node(&args)?);
    }
    Ok(match answer(&args, &machines[&key])? {
        Answer::Refused(why) => format!("error: {}", one_line(&why)),
        Answer::Planned(step) => {
            let mut line = match args.format.or(outer.format) {
                Some(Format::Cpus) => cpus(&step).join(" "),
                Some(Format::Masks) | None => nodes_masks(&step).join(" "),
                Some(_) => {
                    return Err(
                        "--batch prints one line per request; use --format masks or cpus".into(),
                    );
                }
            };
            for note in notes(&args, &machines[&key], &step) {
                line.push_str(&format!(" # {}", one_line(&note)));
            }
            line
        }
    })
}

/// The text of each node's launch message.
fn nodes_masks(step: &PlannedStep) -> Vec<String> {
    let nodes = 0..step.node_count();
    nodes.map(|node| masks(step.plan_of(node))).collect()
}

/// Each task's CPUs, in task order.
fn cpus(step: &PlannedStep) -> Vec<String> {
    if !step.is_bound() {
        return vec!["none".into()];
    }
    step.tasks()
        .map(|task| task.plan().cpus.to_string())
        .collect()
}

/// clap's own text without its usage reminder.
fn first_line(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    line.trim_start_matches("error: ").to_string()
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
