//! `berth tune`: which line is the fastest for a program, measured.

mod bound;
mod folder;
mod metric;
mod own_job;
mod rounds;
mod step;

use std::io::Write;
use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use berth_answer::json;
use berth_answer::lines::NoAnswer;
use berth_answer::tune::{self, Candidates, Metric, Request, Runs, Series};
use berth_answer::world::World;
use regex::bytes::Regex;

use crate::Failure;
use crate::args::{StatusFormat, TuneArgs, TuneRequest, usage};
use crate::here::{self, HOST};
use crate::say;
use folder::{Folder, Record};
use rounds::Measurement;
use step::Signals;

/// What is kept of a job's time for its own end.
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
    if let Some((job, line)) = own_job::split(line).unwrap_or_else(|why| usage(&why).exit()) {
        if !args.dry_run {
            return own_job::submit(&job, &line);
        }
        request.place.push(format!("--job={job}"));
        request.line = Some(line);
    }
    let before = args.resume.as_deref().map(Folder::open).transpose()?;
    let (request, before) = match before {
        Some((folder, first, records)) => (first, Some((folder, records))),
        None => (request, None),
    };
    let pattern = request.metric.as_deref().map(metric::pattern).transpose();
    let pattern = pattern.unwrap_or_else(|why| usage(&why).exit());
    let found = match candidates(&request, args.dry_run)? {
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
    let Some(job) = here::job::hinted() else {
        say::failed(
            "berth tune runs the lines inside a job, and this is none; type it again behind salloc OPTIONS, let it make \
             its own job (berth tune … -- sbatch OPTIONS -- 'srun …'), or look at the plans alone (--dry-run)",
        );
        return Ok(ExitCode::FAILURE);
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

fn candidates(
    request: &TuneRequest,
    is_dry: bool,
) -> Result<Result<Candidates, NoAnswer>, Failure> {
    let job = || HOST.standing(berth_answer::world::LIVE, None).job;
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
    match here::time_left(job) {
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
