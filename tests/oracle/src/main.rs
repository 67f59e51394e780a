//! `affinity-oracle`: compares our launch hook with the distribution's own task/affinity.

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use berth_oracle::child::{self, Chunk, Pair};
use berth_oracle::counts::Counts;
use berth_oracle::machine::{Class, Machine};
use berth_oracle::parent::{Plan, Runner, show};
use berth_oracle::random::Random;
use berth_oracle::{aim, by_fix, generate, object, paths};
use clap::Parser;
use slurm_sys::Layout;

/// Compare our launch hook with the distribution's own task/affinity
#[derive(Parser)]
#[command(
    version,
    after_help = "Examples:
  affinity-oracle --requests 20000 --seed 1     compare

Environment: BERTH_OBJECT and BERTH_COMMAND name the built object and command."
)]
struct Arguments {
    /// How many requests
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    requests: u64,
    /// From which they are made; the same seed gives the same requests
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Requests a process
    #[arg(long, value_name = "N", default_value_t = 1000)]
    chunk: u64,
    /// Our object [default: BERTH_OBJECT, else the release build's]
    #[arg(long, value_name = "FILE")]
    object: Option<PathBuf>,
    /// Our command, for memory domains [default: BERTH_COMMAND, else the release build's]
    #[arg(long, value_name = "FILE")]
    command: Option<PathBuf>,
    /// Compare berth's default, fix by fix, instead of compat=affinity
    #[arg(long)]
    by_fix: bool,
    /// Show one request instead, by the seed and class that were printed with it
    #[arg(long, value_name = "SEED", requires = "class")]
    replay: Option<u64>,
    /// threads, cores, ldoms:SEED, uneven:SEED, holes:SEED or irregular:SEED
    #[arg(long, value_parser = Class::read)]
    class: Option<Class>,
    // The part of a comparing process.
    #[arg(long, hide = true, default_value_t = 0)]
    first: u64,
    #[arg(long, hide = true, requires_all = ["class", "state"])]
    progress: Option<PathBuf>,
    #[arg(long, hide = true)]
    state: Option<PathBuf>,
}

/// Nothing to compare with here; automake's number for a test that was not run.
const NOT_HERE: u8 = 77;
/// What is compared bit for bit.
const COMPAT: &str = "affinity";

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let (plugins, layout) = match here() {
        Ok(found) => found,
        Err(why) => {
            eprintln!("affinity-oracle: {why}");
            return ExitCode::from(NOT_HERE);
        }
    };
    run(&arguments, &plugins, layout).unwrap_or_else(|why| {
        eprintln!("affinity-oracle: {why}");
        ExitCode::from(2)
    })
}

/// The installed Slurm, where there is one to compare with.
fn here() -> Result<(PathBuf, &'static Layout), String> {
    let plugins = paths::plugin_dir().ok_or("no slurmd is installed here")?;
    paths::genuine(&plugins).ok_or("the installed Slurm has no task_affinity.so")?;
    let layout = object::slurm(&plugins)?.layout;
    object::can_stand_in(layout.line)?;
    Ok((plugins, layout))
}

fn run(a: &Arguments, plugins: &Path, layout: &'static Layout) -> Result<ExitCode, String> {
    let object = a.object.clone().unwrap_or_else(berth_tests::object);
    if let (Some(class), Some(progress), Some(state)) = (a.class, &a.progress, &a.state) {
        let command = a.command.clone().unwrap_or_default();
        let pair = Pair::load(plugins, &object, state, &command, COMPAT)?;
        return compare_chunk(a, class, progress, &pair);
    }
    let folder = tempfile::tempdir().map_err(|why| why.to_string())?;
    if let Some(seed) = a.replay {
        return replay(a, seed, plugins, &object, folder.path());
    }
    let runner = Runner {
        object,
        command: a.command.clone().unwrap_or_else(berth_tests::command),
        layout,
        folder: folder.path().to_owned(),
    };
    compare_all(a, &runner)
}

/// One request, in this process.
fn replay(
    a: &Arguments,
    seed: u64,
    plugins: &Path,
    object: &Path,
    state: &Path,
) -> Result<ExitCode, String> {
    let class = a.class.unwrap_or(Class::Threads);
    let machine = Machine::any(class, &mut Random::new(0));
    let (shown, value) = show(&machine, state)?;
    // SAFETY: no other thread runs yet.
    unsafe { std::env::set_var(shown, value) };
    let command = match class {
        Class::Threads | Class::Cores => "/nonexistent".into(),
        _ => a.command.clone().unwrap_or_else(berth_tests::command),
    };
    let pair = Pair::load(plugins, object, state, &command, COMPAT)?;
    child::pretend_domains(class);
    let make = if a.by_fix { aim::aimed } else { generate::case };
    let case = make(seed, class, pair.slurm.layout);
    if a.by_fix {
        let found = by_fix::compare(&pair, &case, &mut Counts::default(), &|_| {})?;
        println!("{case}\n{found:?}");
        return Ok(ExitCode::SUCCESS);
    }
    let (verdict, answers) = pair.compare(&case, |_| {});
    println!(
        "{case}\n{answers}\n  {}\n{verdict:?}",
        child::in_words(&case, &pair)
    );
    Ok(ExitCode::SUCCESS)
}

fn compare_chunk(
    a: &Arguments,
    class: Class,
    progress: &Path,
    pair: &Pair,
) -> Result<ExitCode, String> {
    let file = OpenOptions::new().write(true).open(progress);
    let file = file.map_err(|why| format!("{}: {why}", progress.display()))?;
    let chunk = Chunk {
        class,
        seed: a.seed,
        first: a.first,
        count: a.requests,
        by_fix: a.by_fix,
    };
    child::compare(pair, &chunk, &file)?;
    Ok(ExitCode::SUCCESS)
}

fn compare_all(a: &Arguments, runner: &Runner) -> Result<ExitCode, String> {
    let what = if a.by_fix {
        "compat=berth, fix by fix"
    } else {
        "compat=affinity"
    };
    println!(
        "{} requests, seed {}, {what}: {} against task/affinity of {}",
        a.requests,
        a.seed,
        runner.object.display(),
        runner.layout.line
    );
    let plan = Plan {
        requests: a.requests,
        seed: a.seed,
        chunk: a.chunk,
        by_fix: a.by_fix,
    };
    let mut sum = Counts::default();
    for chunk in plan.chunks() {
        sum.add(&runner.run(&chunk)?);
    }
    let differ = sum.of("differ");
    if !a.by_fix {
        let (same, refused) = (sum.of("same"), sum.of("refused"));
        println!("  {same} bound alike, {refused} refused alike, {differ} different");
        for (why, count) in sum.under("aside ") {
            println!("  not compared: {count} {why}");
        }
        return Ok(ExitCode::from(u8::from(differ > 0)));
    }
    let (alike, purpose) = (sum.of("alike"), sum.of("differ on purpose"));
    println!("  {alike} alike, {purpose} claimed by fixes, {differ} claimed by none");
    let (text, wrong) = by_fix::summary(&sum);
    print!("{text}");
    wrong.iter().for_each(|why| println!("  wrong: {why}"));
    Ok(ExitCode::from(u8::from(differ > 0 || !wrong.is_empty())))
}
