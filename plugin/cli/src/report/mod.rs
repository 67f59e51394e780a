//! `berth report`: run by every task of a step, it tells what each really has, as the kernel says
//! it, beside what was planned. The tasks of a node meet at a socket of their own; one of them
//! prints the node's block.

mod gather;
mod identity;
mod merge;
mod read;
mod show;

use std::io::{self, Write};
use std::process::{Child, Command, ExitCode, ExitStatus};
use std::thread;
use std::time::Duration;

use crate::Failure;
use crate::args::{ReportArgs, ReportFormat};
use crate::say;
use gather::{Gathered, gather};
use identity::Identity;

/// When each node's block is written.
const TURN: Duration = Duration::from_millis(20);
const LAST_TURN: Duration = Duration::from_secs(2);

/// Runs the subcommand.
///
/// # Errors
/// A program that does not start, a kernel that does not answer, an output that cannot be written.
pub(crate) fn run(args: &ReportArgs) -> Result<ExitCode, Failure> {
    if let Some(file) = &args.merge {
        return merge::run(args, file);
    }
    let me = Identity::of_this_task();
    let mut program = start(&args.program)?;
    if program.is_some() {
        thread::sleep(Duration::from_secs_f64(args.after));
    }
    let own = read::task(&me, program.as_ref().map(Child::id))?;
    let mut deviates = false;
    match gather(&me, own, Duration::from_secs(args.wait)) {
        Gathered::All(node) => {
            deviates = node.deviates();
            // In turn, so that srun mixes the nodes' lines less.
            thread::sleep((TURN * me.node).min(LAST_TURN));
            let text = show::text(args, &node);
            io::stdout().lock().write_all(text.as_bytes())?;
            if !node.missing.is_empty() {
                say::note(&format!(
                    "no word from task(s) {} of {} within {} s; do all of them run berth report? \
                     --wait gives them longer",
                    node.missing, node.host, args.wait
                ));
            }
        }
        Gathered::Told => {}
    }
    let code = program.as_mut().map(Child::wait).transpose()?;
    Ok(match code {
        Some(status) => exit_code(status),
        None if deviates && args.check => ExitCode::FAILURE,
        None => ExitCode::SUCCESS,
    })
}

fn start(words: &[String]) -> Result<Option<Child>, Failure> {
    let Some((program, arguments)) = words.split_first() else {
        return Ok(None);
    };
    let child = Command::new(program).args(arguments).spawn();
    Ok(Some(child.map_err(|why| {
        format!("the program {program} does not start: {why}; is it in PATH on this node?")
    })?))
}

/// As a shell has it: 128 and the signal's number.
fn exit_code(status: ExitStatus) -> ExitCode {
    use std::os::unix::process::ExitStatusExt;
    let signal = status.signal().map(|signal| 128 + signal);
    let code = status.code().or(signal).unwrap_or(1);
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}

/// Formats that berth itself reads again.
fn is_json(args: &ReportArgs) -> bool {
    args.format == ReportFormat::Json
}
