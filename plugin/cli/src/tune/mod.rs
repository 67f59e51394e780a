//! `berth tune`: which line is the fastest for a program, measured.

use std::io::Write;
use std::process::ExitCode;

use berth_answer::lines::NoAnswer;
use berth_answer::tune::{self, Candidates, Metric, Request};

use crate::Failure;
use crate::args::{TuneArgs, TuneFormat, usage};
use crate::here::HOST;
use crate::{json, say};

/// Runs the subcommand.
///
/// # Errors
/// A machine or file that cannot be read, an output that cannot be written.
pub(crate) fn run(args: &TuneArgs) -> Result<ExitCode, Failure> {
    let line = args.own.line.as_deref().unwrap_or_default();
    let request = Request {
        line,
        place: args.place.clone(),
        goal: args.own.goal,
        also: &args.own.also,
        only: &args.own.only,
        is_planned: true,
    };
    let found = match tune::candidates(&request, &HOST)? {
        Ok(found) => found,
        Err(NoAnswer::Usage(why)) => usage(&why).exit(),
        Err(why) => {
            say::failed(&why.to_string());
            return Ok(ExitCode::FAILURE);
        }
    };
    if found.runnable().next().is_none() {
        say::refused(found.all[0].refused.as_deref().unwrap_or_default());
        return Ok(ExitCode::FAILURE);
    }
    dry_run(args, &found)
}

/// Shows the lines and their figures.
fn dry_run(args: &TuneArgs, found: &Candidates) -> Result<ExitCode, Failure> {
    if args.own.format == TuneFormat::Json {
        let document = tune::document(found, None, Metric::default());
        json::write_all(&mut say::output(), "berth-tune", &document)?;
    } else {
        let mut out = say::foreign_output();
        tune::dry_run(&mut out, found, say::width(None))?;
        out.flush()?;
    }
    Ok(ExitCode::SUCCESS)
}
