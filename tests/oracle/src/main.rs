//! `affinity-oracle`: compares our launch hook with the distribution's own task/affinity.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use berth_oracle::arguments::{Common, NOT_HERE};
use berth_oracle::child::{self, BY_FIX, Pair};
use berth_oracle::sums::Sums;
use berth_oracle::{by_fix, object, paths};
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
    /// Compare berth's default, fix by fix, instead of compat=affinity
    #[arg(long)]
    by_fix: bool,
    #[command(flatten)]
    common: Common,
}

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
    let mut part = a.common.part(1);
    if a.by_fix {
        part.settings = BY_FIX;
    }
    if let Some((progress, state)) = a.common.sends()? {
        let pair = Pair::load(&a.common.files(plugins, state), COMPAT)?;
        child::compare(&pair, &part, &progress)?;
        return Ok(ExitCode::SUCCESS);
    }
    let folder = tempfile::tempdir().map_err(|why| why.to_string())?;
    if let Some(seed) = a.common.replay {
        a.common.pretend(folder.path())?;
        let pair = Pair::load(&a.common.files(plugins, folder.path()), COMPAT)?;
        println!("{}", child::replay(&pair, &part, seed)?);
        return Ok(ExitCode::SUCCESS);
    }
    let is_by_fix = part.settings == BY_FIX;
    let what = match is_by_fix {
        true => "compat=berth, fix by fix",
        false => "compat=affinity",
    };
    let show = |part: &_, number| child::case(part, number, layout).to_string();
    let runner = a.common.runner(folder.path(), &show);
    println!(
        "{} requests, seed {}, {what}: {} against task/affinity of {}",
        a.requests,
        part.seed,
        runner.object.display(),
        layout.line
    );
    part.count = a.requests;
    let sums = runner.run(&child::parts(&part, a.common.chunk.unwrap_or(1000)))?;
    runner.found.print();
    Ok(match is_by_fix {
        true => fixes(&sums),
        false => equal(&sums),
    })
}

fn equal(sums: &Sums) -> ExitCode {
    let of = |name| sums.counts.of(name);
    let (same, refused, differ) = (of("same"), of("refused"), of("wrong"));
    println!("  {same} bound alike, {refused} refused alike, {differ} different");
    for (why, count) in sums.counts.under("aside ") {
        println!("  not compared: {count} {why}");
    }
    ExitCode::from(u8::from(differ > 0))
}

fn fixes(sums: &Sums) -> ExitCode {
    let of = |name| sums.counts.of(name);
    let (alike, purpose, differ) = (of("alike"), of("differ on purpose"), of("wrong"));
    println!("  {alike} alike, {purpose} claimed by fixes, {differ} claimed by none");
    let (text, wrong) = by_fix::summary(&sums.counts);
    print!("{text}");
    wrong.iter().for_each(|why| println!("  wrong: {why}"));
    ExitCode::from(u8::from(differ > 0 || !wrong.is_empty()))
}
