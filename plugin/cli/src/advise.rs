//! `berth advise`: what advice is asked for, and where it goes.

use std::io::Write;
use std::process::ExitCode;

use berth_answer::advise::{Wanted, advise};
use berth_answer::args::Format;
use berth_answer::lines::NoAnswer;
use berth_answer::text;

use crate::Failure;
use crate::args::{AdviseArgs, usage};
use crate::here::HOST;
use crate::say;
use berth_answer::json;

/// Runs the subcommand.
///
/// # Errors
/// A machine or file that cannot be read, an output that cannot be written.
pub(crate) fn run(args: &AdviseArgs) -> Result<ExitCode, Failure> {
    let words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
    let words: Vec<_> = words.skip_while(|word| word != "advise").skip(1).collect();
    let wanted = Wanted {
        plan: &args.plan,
        words: &words,
        goal: args.goal,
        lines: args.lines,
    };
    let advice = match advise(&wanted, &HOST)? {
        Ok(advice) => advice,
        Err(NoAnswer::Usage(why)) => usage(&why).exit(),
        Err(NoAnswer::Refused(why)) => {
            say::refused(&text::short(&why));
            return Ok(ExitCode::FAILURE);
        }
        Err(why) => {
            say::failed(&why.to_string());
            return Ok(ExitCode::FAILURE);
        }
    };
    if args.plan.format == Some(Format::Json) {
        json::write_all(&mut say::output(), "berth-advise", &advice.document())?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut out = say::foreign_output();
    advice.write(&mut out, say::width(None))?;
    out.flush()?;
    advice.notes().for_each(|note| say::note(&note));
    Ok(ExitCode::SUCCESS)
}
