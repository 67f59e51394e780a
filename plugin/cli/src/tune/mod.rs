//! `berth tune`: which line is the fastest for a program, measured. `berth tune OPTIONS -- sbatch OPTIONS -- 'srun …'`
//! measures in a job of its own: it submits the same command without sbatch's part.

mod folder;
mod output;
mod rounds;
mod step;

use std::ffi::OsString;
use std::io::Write;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use berth_answer::tune::{self, Candidates, Metric, Request, Runs, Series};
use berth_answer::{World, json};
use regex::bytes::Regex;

use crate::args::{StatusFormat, TuneArgs, TuneRequest, usage};
use crate::world::{self, HOST, slurm_commands};
use crate::{Failure, say};
use folder::{Folder, Record};
use rounds::Measurement;
use step::Signals;

/// The part of a job's time that is kept for its end.
const RESERVE: Duration = Duration::from_secs(60);

/// Runs the subcommand.
///
/// # Errors
/// A machine or file that cannot be read, an output that cannot be written.
pub(crate) fn run(args: &TuneArgs) -> Result<ExitCode, Failure> {
    let args = &args.0;
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let mut request = TuneRequest {
        seed: now.unwrap_or_default().as_nanos() as u64,
        ..args.clone()
    };
    let line = request.line.as_deref().unwrap_or_default();
    if let Some((job, line)) = split(line).unwrap_or_else(|why| usage(&why).exit()) {
        if !args.dry_run {
            return submit(&job, &line);
        }
        request.place.push(format!("--job={job}"));
        request.line = Some(line);
    }
    let before = args.resume.as_deref().map(Folder::open).transpose()?;
    let (request, before) = match before {
        Some((folder, first, records)) => (first, Some((folder, records))),
        None => (request, None),
    };
    let pattern = request.metric.as_deref().map(output::pattern).transpose();
    let pattern = pattern.unwrap_or_else(|why| usage(&why).exit());
    let found = candidates(&request, args.dry_run)?;
    if found.runnable().next().is_none() {
        say::refused(found.all[0].refused.as_deref().unwrap_or_default());
        return Ok(ExitCode::FAILURE);
    }
    if args.dry_run {
        return dry_run(args, &found);
    }
    measure(args, &request, &found, pattern, before)
}

/// Runs the lines, and shows what the runs say.
fn measure(
    args: &TuneRequest,
    request: &TuneRequest,
    found: &Candidates,
    pattern: Option<Regex>,
    before: Option<(Folder, Vec<Record>)>,
) -> Result<ExitCode, Failure> {
    let Some(job) = world::job::hinted() else {
        let why = "berth tune runs the lines inside a job, and this is none; type it again behind salloc OPTIONS, let \
                   it make its own job (berth tune … -- sbatch OPTIONS -- 'srun …'), or look at the plans alone (--dry-run)";
        return Err(why.into());
    };
    let (folder, records) = match before {
        Some(before) => before,
        None => (
            Folder::new(args.folder.as_deref(), job, request)?,
            Vec::new(),
        ),
    };
    let mut measurement = Measurement {
        series: vec![Series::default(); found.all.len()],
        metric: Metric {
            higher: request.higher,
            is_time: pattern.is_none(),
        },
        found,
        job,
        folder,
        signals: Signals::new()?,
        pattern,
        deadline: Instant::now() + limit(args, job),
        timeout: args.timeout.map(Duration::from_secs_f64),
        warmup: request.warmup,
        rounds: args.repeat,
        seed: request.seed,
        longest: Duration::ZERO,
    };
    measurement.take(records);
    let ended = measurement.run();
    measurement.progress("");
    let shown = show(args, &measurement);
    if let Err(why) = ended {
        let folder = measurement.folder.path.display();
        say::note(&format!(
            "not all rounds were run: {why}; berth tune --resume {folder} goes on"
        ));
    }
    shown
}

fn candidates(request: &TuneRequest, is_dry: bool) -> Result<Candidates, Failure> {
    let job = || HOST.context(berth_answer::world::LIVE, None).job;
    // Elsewhere, as on a login node, the plans would be those of the wrong machine.
    let is_here = || job().is_some_and(|job| job.part.is_some());
    let request = Request {
        line: request.line.as_deref().unwrap_or_default(),
        place: request.place.clone(),
        goal: request.goal,
        also: &request.also,
        only: &request.only,
        is_planned: is_dry || !request.place.is_empty() || is_here(),
    };
    tune::candidates(&request, &HOST)
}

/// The time that all runs together may take.
fn limit(args: &TuneRequest, job: u32) -> Duration {
    let limit = Duration::from_secs_f64(args.limit * 60.0);
    match slurm_commands::time_left(job) {
        Some(left) => limit.min(left.saturating_sub(RESERVE)),
        None => limit,
    }
}

/// Shows the lines and the figures of their plans.
fn dry_run(args: &TuneRequest, found: &Candidates) -> Result<ExitCode, Failure> {
    if args.format == StatusFormat::Json {
        let document = tune::document(found, None, Metric::default());
        json::write_all(&mut say::output(), "berth-tune", &document)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut out = say::foreign_output();
    tune::dry_run(&mut out, found, say::width(None))?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// Shows what the runs say, and writes it into the folder.
fn show(args: &TuneRequest, done: &Measurement<'_>) -> Result<ExitCode, Failure> {
    let verdict = done.verdict();
    let runs = Runs {
        found: done.found,
        series: &done.series,
        verdict: &verdict,
        metric: done.metric,
    };
    let mut text = Vec::new();
    let document = tune::document(done.found, Some(&runs), done.metric);
    json::write_all(&mut text, "berth-tune", &document)?;
    let folder = &done.folder;
    let files = [
        ("result.json", text.clone()),
        ("result.svg", tune::svg(&runs).into_bytes()),
    ];
    let written = files
        .iter()
        .try_for_each(|(name, bytes)| folder.write(name, bytes));
    if args.format == StatusFormat::Json {
        say::output().write_all(&text)?;
    } else {
        let mut out = say::foreign_output();
        tune::measured(&mut out, &runs, say::width(None))?;
        writeln!(
            out,
            "\nThe output of each run, result.json and result.svg are in {}.",
            folder.path.display()
        )?;
        out.flush()?;
    }
    if let Err(why) = written {
        say::failed(&format!(
            "{}/result.json or result.svg cannot be written: {why}",
            folder.path.display()
        ));
    }
    Ok(crate::exit_code(verdict.best.is_none()))
}

/// The line of sbatch and that of srun, if the words begin with sbatch.
///
/// # Errors
/// There is no line of srun behind it.
fn split(line: &str) -> Result<Option<(String, String)>, String> {
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
fn submit(job: &str, line: &str) -> Result<ExitCode, Failure> {
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
