//! One line about this run, appended to a table that many runs share.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::options::Options;
use crate::samples::Longest;
use crate::work::{Soak, Told};

const HEAD: &str = "| seed | steps | seconds | tasks bound | killed: tasks, steps, slurmstepds, slurmds, slurmctlds | \
upgrades | CPUs off | doubled | slurmd, first and last tenth (kB) | result |\n\
|---:|---:|---:|---:|---|---:|---:|---:|---|---|\n";

/// Writes it; a run whose table cannot be written has its result all the same.
pub fn append(
    file: &Path,
    soak: &Soak,
    options: &Options,
    (told, longest): (&Told, &Longest),
    (took, is_well): (Duration, bool),
) {
    let counts = &soak.counts;
    let n = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    let killed = [
        &counts.tasks_killed,
        &counts.steps_killed,
        &counts.stepds_killed,
        &counts.slurmds_killed,
        &counts.slurmctlds_killed,
    ]
    .map(|counter| n(counter).to_string())
    .join(", ");
    let memory = match longest.grown() {
        Some((first, last)) => format!("{first}, {last}"),
        None => "too short".into(),
    };
    let line = format!(
        "| {} | {} | {:.0} | {} | {killed} | {} | {} | {} | {memory} | {} |\n",
        options.seed,
        n(&counts.steps),
        took.as_secs_f64(),
        told.bound,
        n(&counts.upgraded),
        n(&counts.went_off),
        told.bad.len(),
        if is_well { "well" } else { "FAIL" }
    );
    if let Err(why) = write(file, &line) {
        eprintln!("berth-soak: {}: {why}", file.display());
    }
}

fn write(file: &Path, line: &str) -> io::Result<()> {
    let mut table = OpenOptions::new().create(true).append(true).open(file)?;
    if table.metadata()?.len() == 0 {
        table.write_all(HEAD.as_bytes())?;
    }
    table.write_all(line.as_bytes())
}
