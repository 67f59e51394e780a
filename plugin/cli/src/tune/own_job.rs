//! A measurement in a job of its own: `berth tune OPTIONS -- sbatch OPTIONS -- 'srun …'` submits the same command without
//! sbatch's part.

use std::ffi::OsString;
use std::process::{Command, ExitCode};

use crate::{Failure, say};

/// The line of sbatch and that of srun, if the words begin with sbatch.
///
/// # Errors
/// There is no line of srun behind it.
pub(super) fn split(line: &str) -> Result<Option<(String, String)>, String> {
    let words = shlex::split(line).unwrap_or_default();
    if words.first().is_none_or(|word| word != "sbatch") {
        return Ok(None);
    }
    let at = words.iter().position(|word| word == "--");
    let at = at
        .ok_or("there is no line of srun; give it as berth tune … -- sbatch OPTIONS -- 'srun …'")?;
    let joined =
        |words: &[String]| shlex::try_join(words.iter().map(String::as_str)).unwrap_or_default();
    let step = match &words[at + 1..] {
        [line] => line.clone(),
        several => joined(several),
    };
    Ok(Some((joined(&words[..at]), step)))
}

/// Submits the job.
///
/// # Errors
/// sbatch cannot be started.
pub(super) fn submit(job: &str, line: &str) -> Result<ExitCode, Failure> {
    let typed: Result<Vec<_>, _> = std::env::args_os()
        .skip(1)
        .map(OsString::into_string)
        .collect();
    let typed = typed.map_err(|word| {
        let word = word.to_string_lossy();
        format!("{word}: sbatch cannot pass on a word that is no UTF-8; use another name")
    })?;
    let own: Vec<_> = typed
        .into_iter()
        .take_while(|word| word != "--" && !word.starts_with("sbatch"))
        .collect();
    let program = std::env::current_exe()?;
    let program = program.to_string_lossy();
    let words = [program.as_ref()]
        .into_iter()
        .chain(own.iter().map(String::as_str))
        .chain(["--", line]);
    let mut sbatch = shlex::split(job).unwrap_or_default();
    sbatch.push(format!("--wrap=exec {}", shlex::try_join(words)?));
    let done = Command::new("sbatch").args(&sbatch[1..]).status();
    let done = done.map_err(|why| format!("sbatch cannot be started: {why}"))?;
    if !done.success() {
        return Ok(ExitCode::FAILURE);
    }
    say::note("the table will be in the job's output, and its runs in the folder berth-tune-JOB");
    Ok(ExitCode::SUCCESS)
}
