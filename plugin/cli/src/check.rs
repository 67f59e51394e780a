//! `berth check`: what is to be checked, and where the answer goes.

use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};
use std::path::Path;
use std::process::ExitCode;

use berth_answer::args::{SiteNodes, unused_site};
use berth_answer::check::{Request, check};
use berth_answer::{Failure, Unreadable, json};
use berth_host::script_file::MOST;

use crate::args::{CheckArgs, CheckFormat};
use crate::say;
use crate::world::Host;

/// Programs whose lines are understood.
const COMMANDS: &[&str] = &[
    "srun", "sbatch", "salloc", "qsub", "qrsh", "qlogin", "bsub", "mpirun", "mpiexec",
];

/// Runs the subcommand.
///
/// # Errors
/// A text that cannot be read or has nothing to check, an output that cannot be written.
pub(crate) fn run(args: &CheckArgs) -> Result<ExitCode, Failure> {
    let text = text(&args.line)?;
    let variable = std::env::var(SiteNodes::VARIABLE).ok();
    let site = SiteNodes::of(args.site, variable.as_deref()).map_err(Unreadable)?;
    let request = Request {
        text: &text,
        is_file: matches!(args.line.as_slice(), [one] if Path::new(one).exists()),
        machine: args.machine.as_deref(),
        cluster: args.cluster.as_deref(),
        release: args.slurm,
        exclusive: args.exclusive,
        site,
        beside: &[],
        variables: &[],
    };
    let report = check(&request, &Host::beside(&args.line[0]))?;
    match args.format {
        CheckFormat::Table => {
            let mut out = say::foreign_output();
            report.write(&mut out)?;
            out.flush()?;
            report.not_read.iter().for_each(|why| say::note(why));
            unused_site(args.site, args.cluster.as_deref()).map(say::note);
        }
        CheckFormat::Json => json::write_all(&mut say::output(), "berth-check", &report)?,
        CheckFormat::Script => {
            // A terminal gets no control characters.
            let mut out: Box<dyn Write> = match io::stdout().is_terminal() {
                true => Box::new(say::foreign_output()),
                false => Box::new(say::output()),
            };
            out.write_all(&report.text)?;
            out.flush()?;
        }
    }
    Ok(crate::exit_code(report.is_wrong()))
}

/// The text to check: a line in words or in one word, a file, or stdin.
fn text(words: &[String]) -> Result<Vec<u8>, Failure> {
    match words {
        [one] if one == "-" => bounded("stdin", io::stdin().lock())?,
        [one] if Path::new(one).exists() => {
            let read = File::open(one).and_then(|file| bounded(one, file));
            read.unwrap_or_else(|why| Err(format!("{one} cannot be read: {why}")))
        }
        [one] if is_name(one) => Err(format!(
            "{one}: there is no such file, and it is no line of srun or sbatch; give an existing \
             script, a line in quotes, or - for stdin"
        )),
        [one] => Ok(one.clone().into_bytes()),
        [file, option, ..] if option.starts_with("--") && Path::new(file).is_file() => Err(format!(
            "{option} stands behind {file}, where the words of a line are; options of berth check stand before the \
             file, as in berth check {option} … {file}"
        )),
        several => Ok(shlex::try_join(several.iter().map(String::as_str))?.into_bytes()),
    }
    .map_err(|why| Unreadable(why).into())
}

/// Reads it to its end; more than [`MOST`] bytes are refused.
fn bounded(name: &str, from: impl Read) -> io::Result<Result<Vec<u8>, String>> {
    let mut bytes = Vec::new();
    let count = from.take(MOST + 1).read_to_end(&mut bytes)? as u64;
    Ok(match count > MOST {
        true => Err(format!(
            "{name} has more than {MOST} bytes, too many for a batch script"
        )),
        false => Ok(bytes),
    })
}

/// Whether a word can only be meant as a file's name.
fn is_name(word: &str) -> bool {
    let is_one = !word.contains(char::is_whitespace) && !word.contains(['\'', '"', '$', ';']);
    let name = word.rsplit('/').next().unwrap_or_default();
    is_one && !COMMANDS.contains(&name)
}
