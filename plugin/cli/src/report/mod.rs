//! `berth report`: every task of a step runs it. It shows what each task really has in the kernel,
//! beside the plan. The tasks of a node meet at a socket of their own user, and one of
//! them prints the node's block.

mod gather;
mod identity;
mod read;
mod show;
mod threads;

use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Child, Command, ExitCode, ExitStatus};
use std::thread;
use std::time::Duration;

use berth_answer::columns::write_rows;

use crate::args::ReportArgs;
use crate::{Failure, Unreadable, say};
use gather::{Gathered, gather};
use identity::Identity;
use show::{Row, rows};

/// When each node's block is written.
const TURN: Duration = Duration::from_millis(20);
const LAST_TURN: Duration = Duration::from_secs(2);

/// Runs the subcommand.
///
/// # Errors
/// A program that does not start, a kernel that does not answer, an output that cannot be written.
pub(crate) fn run(args: &ReportArgs) -> Result<ExitCode, Failure> {
    if let Some(file) = &args.merge {
        return merged(args, file);
    }
    let me = Identity::of_this_task();
    let Some(mut program) = start(&args.program)? else {
        let deviates = report(args, &me, None)?;
        return Ok(crate::exit_code(deviates && args.check));
    };
    thread::sleep(Duration::from_secs_f64(args.after));
    // The task exists for the program, which goes on even if the report fails.
    if let Err(why) = report(args, &me, Some(program.id())) {
        say::failed(&why.to_string());
    }
    Ok(exit_code(program.wait()?))
}

/// Sends this task's report to the task that prints, or prints itself. Returns whether a printed
/// task deviates.
fn report(args: &ReportArgs, me: &Identity, program: Option<u32>) -> Result<bool, Failure> {
    let own = read::task(me, program)?;
    let Gathered::All(node) = gather(me, own, Duration::from_secs(args.wait)) else {
        return Ok(false);
    };
    // In turn, so that srun mixes the nodes' lines less.
    thread::sleep((TURN * me.node).min(LAST_TURN));
    let text = show::text(args, &node);
    io::stdout().lock().write_all(text.as_bytes())?;
    if !node.missing.is_empty() {
        let is_several = node.missing.contains([',', '-']);
        let tasks = if is_several { "tasks" } else { "task" };
        say::note(&format!(
            "{tasks} {} of {} did not answer within {} s; check that all of them run berth \
             report, or give a longer --wait",
            node.missing, node.host, args.wait
        ));
    }
    Ok(node.deviates())
}

fn start(words: &[String]) -> Result<Option<Child>, Failure> {
    let Some((program, arguments)) = words.split_first() else {
        return Ok(None);
    };
    let child = Command::new(program).args(arguments).spawn();
    Ok(Some(child.map_err(|why| {
        format!(
            "the program {program} does not start: {why}; check that it is in PATH on this node"
        )
    })?))
}

/// As a shell has it: 128 and the signal's number.
fn exit_code(status: ExitStatus) -> ExitCode {
    use std::os::unix::process::ExitStatusExt;
    let signal = status.signal().map(|signal| 128 + signal);
    let code = status.code().or(signal).unwrap_or(1);
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}

/// Runs it.
///
/// # Errors
/// A file that cannot be read or holds something else.
fn merged(args: &ReportArgs, file: &Path) -> Result<ExitCode, Failure> {
    let text = match file.as_os_str() == "-" {
        true => {
            let mut text = String::new();
            io::stdin().read_to_string(&mut text)?;
            text
        }
        false => std::fs::read_to_string(file).map_err(|why| {
            Unreadable(format!("--merge {} cannot be read: {why}", file.display()))
        })?,
    };
    let mut tasks = Vec::new();
    // What the program wrote between the lines is not ours; srun --label stands before them.
    for line in text
        .lines()
        .filter(|line| line.contains("\"berth-report\""))
    {
        let from = line.find('{').unwrap_or_default();
        let row: Row = serde_json::from_str(&line[from..]).map_err(|why| {
            Unreadable(format!(
                "a line does not have the form of berth report --format json: {why}"
            ))
        })?;
        tasks.push(row);
    }
    if tasks.is_empty() {
        let why = "the input has no report; make one with srun … berth report --format json";
        return Err(Unreadable(why.into()).into());
    }
    tasks.sort_by_key(|row| row.task.task);
    let deviates = tasks.iter().any(|row| !row.as_planned);
    let mut out = say::foreign_output();
    write_rows(&mut out, say::width(None), &rows(&tasks, true))?;
    out.flush()?;
    Ok(crate::exit_code(deviates && args.check))
}
