//! `cargo bench -p berth-oracle`: our object and the distribution's task/affinity in one process,
//! for machines of 2 to 4096 CPUs, and options of our own beside `--cpu-bind=cores`. A process each size, for both keep what they know of a machine.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use berth_oracle::bench::{self, CASES, Row};
use berth_oracle::machine::Class;
use berth_oracle::pair::Pair;
use berth_oracle::run::Here;
use clap::Parser;

const SIZES: [u16; 12] = [2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096];

/// Time task/berth and task/affinity side by side
#[derive(Parser)]
struct Arguments {
    /// Only machines of up to so many CPUs
    #[arg(long, value_name = "CPUS", default_value_t = 4096)]
    up_to: u16,
    /// With task/affinity's behaviour instead of the default
    #[arg(long, value_name = "NAME", default_value = "berth")]
    compat: String,
    /// Only with Slurm's log silent
    #[arg(long)]
    silent: bool,
    /// Only this case
    #[arg(long, value_name = "CASE", value_parser = CASES)]
    only: Option<String>,
    // cargo's own word for a benchmark.
    #[arg(long, hide = true)]
    bench: bool,
    // The part of a measuring process.
    #[arg(long, hide = true)]
    cpus: Option<u16>,
    #[arg(long, hide = true)]
    log: bool,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let done = match arguments.cpus {
        Some(cpus) => measure(&arguments, cpus),
        None => tables(&arguments),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("side_by_side: {why}");
            ExitCode::FAILURE
        }
    }
}

fn tables(arguments: &Arguments) -> Result<(), String> {
    for (log, title) in [
        (false, "Slurm's log silent"),
        (true, "Slurm's log at its default level (info)"),
    ] {
        if log && arguments.silent {
            break;
        }
        let mut rows = Vec::new();
        for cpus in SIZES.into_iter().filter(|cpus| *cpus <= arguments.up_to) {
            rows.extend(process(arguments, cpus, log)?);
        }
        println!("\n### {title}");
        let measured = |case: &&str| rows.iter().any(|row| row.case == *case);
        let cases = CASES.into_iter().filter(measured);
        cases.for_each(|case| table(case, &rows));
    }
    Ok(())
}

/// The rows of one size, measured by a process of its own on a pretended machine.
fn process(arguments: &Arguments, cpus: u16, log: bool) -> Result<Vec<Row>, String> {
    let this = std::env::current_exe().map_err(|why| why.to_string())?;
    let folder = tempfile::tempdir().map_err(|why| why.to_string())?;
    let shown = show(cpus, folder.path())?;
    let mut command = Command::new(this);
    command
        .args(["--cpus", &cpus.to_string(), "--compat", &arguments.compat])
        .args(log.then_some("--log"))
        .args(arguments.only.iter().flat_map(|case| ["--only", case]))
        .env(shown.0, shown.1)
        .stderr(Stdio::inherit());
    let output = command.output().map_err(|why| why.to_string())?;
    let rows = serde_json::from_slice(&output.stdout);
    rows.map_err(|why| format!("{cpus} CPUs: {}: {why}", output.status))
}

/// The variable by which hwloc shows the machine, and its value: a file, because a synthetic machine has
/// no GPUs.
fn show(cpus: u16, folder: &Path) -> Result<(&'static str, OsString), String> {
    let output = Command::new("lstopo-no-graphics")
        .args(["--input", &bench::synthetic(cpus), "--of", "xml"])
        .output();
    let output = output.map_err(|why| format!("lstopo-no-graphics of hwloc: {why}"))?;
    let file = folder.join("machine.xml");
    let xml = bench::with_gpus(&String::from_utf8_lossy(&output.stdout));
    std::fs::write(&file, xml).map_err(|why| why.to_string())?;
    Ok(("HWLOC_XMLFILE", file.into()))
}

fn table(case: &str, rows: &[Row]) {
    let (other, words) = match bench::is_own(case) {
        true => ("cores", "times slower"),
        false => ("task/affinity", "times faster"),
    };
    println!(
        "\n{case}\n\n| size | {other} µs: least, middle | task/berth µs: least, middle | {words}: least, middle | growth: theirs, ours |\n|---:|---:|---:|---:|---:|"
    );
    let mut before: Option<&Row> = None;
    for row in rows.iter().filter(|row| row.case == case) {
        let (theirs, ours) = (row.theirs, row.ours);
        let [least, middle] =
            [(theirs.least, ours.least), (theirs.middle, ours.middle)].map(|(theirs, ours)| {
                match bench::is_own(case) {
                    true => ours / theirs,
                    false => theirs / ours,
                }
            });
        let growth = before.map_or(String::new(), |before| {
            let theirs = theirs.middle / before.theirs.middle;
            format!("{theirs:.2}, {:.2}", ours.middle / before.ours.middle)
        });
        print!("| {} ", row.size);
        print!("| {:.1}, {:.1} ", theirs.least, theirs.middle);
        print!("| {:.1}, {:.1} ", ours.least, ours.middle);
        println!("| {least:.1}, {middle:.1} | {growth} |");
        before = Some(row);
    }
}

fn measure(arguments: &Arguments, cpus: u16) -> Result<(), String> {
    // The state directory is in memory on a node, too.
    let folder = tempfile::tempdir_in("/dev/shm").map_err(|why| why.to_string())?;
    let compat = format!("compat={}", arguments.compat);
    // Our object finds the machine that hwloc is shown.
    let pair = Pair::load(&[&compat], Class::Irregular(0), Here::new(folder.path())?)?;
    // The hooks bind it; it ends by itself, too.
    let mut sleep = Command::new("sleep");
    let sleep = sleep.arg("600").stdout(Stdio::null()).stderr(Stdio::null());
    let mut bound = sleep.spawn().map_err(|why| why.to_string())?;
    if arguments.log {
        pair.slurm.set_log(Some(Path::new("/dev/null")))?;
    }
    let is_wanted = |case: &&str| arguments.only.as_ref().is_none_or(|only| only == case);
    let cases = CASES.into_iter().filter(is_wanted);
    let rows: Vec<_> = cases
        .filter_map(|case| bench::row(&pair, case, cpus, bound.id() as i32))
        .collect();
    let ended = bound.kill().and_then(|()| bound.wait());
    ended.map_err(|why| why.to_string())?;
    let text = serde_json::to_string(&rows).map_err(|why| why.to_string())?;
    println!("{text}");
    Ok(())
}
