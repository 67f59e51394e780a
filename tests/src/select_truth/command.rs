//! What `berth plan --cluster` says of a recorded line: the same cores of the job and of its first step
//! as slurmctld gave, on each node, and the exit code of a line that does not run.
//! In: a record, and the release that answered. Out: a verdict; `None` where the command has no words
//! for the question.

use std::fs;
use std::process::Command;

use berth_srun::Release;
use serde_json::Value;

use super::compare::Verdict;
use super::record::{JobTruth, Record, StepTruth, list};
use crate::{Done, command};

/// A line that would not run.
const NOT_RUN: i32 = 1;
/// A line that its own command would not take.
const USAGE: i32 = 2;

/// Asks the command; on slurmctld's own nodes where it chose others.
///
/// # Panics
/// Where the command cannot be run, or prints something that is not JSON.
#[must_use]
pub fn through_the_command(record: &Record, release: Release) -> Option<Verdict> {
    if record.step_got == Some(StepTruth::Killed) {
        return None;
    }
    let first = as_asked(record, release);
    Some(match (&first, record.on_its_nodes()) {
        (Verdict::Differs(_), Some(record)) => as_asked(&record, release),
        _ => first,
    })
}

fn as_asked(record: &Record, release: Release) -> Verdict {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let conf = folder.path().join("slurm.conf");
    fs::write(&conf, record.conf.join("\n")).expect("a file in a temporary folder");
    let mut asked = Command::new(command());
    asked.args([
        "plan",
        "--format",
        "json",
        "--slurm",
        release.name(),
        "--cluster",
    ]);
    asked.arg(&conf);
    match &record.step {
        Some(step) => asked
            .arg("--job")
            .arg(&record.line)
            .arg(format!("{step} ./app")),
        None if record.line.starts_with("srun") => asked.arg(format!("{} ./app", record.line)),
        None => asked.arg(&record.line),
    };
    let done = Done::from(asked.output().expect("the command can be run"));
    verdict(record, &done)
}

fn verdict(record: &Record, done: &Done) -> Verdict {
    let said = done.stderr.trim();
    if said.contains("not modelled") {
        return Verdict::NotModelled(said.into());
    }
    let expected = exit_code(record);
    if done.code != Some(expected) {
        if said.contains("this step owns ") {
            // slurmctld has granted it, and slurmd would refuse to bind it.
            return Verdict::NotModelled(said.into());
        }
        return Verdict::Differs(format!("exit code {:?}, not {expected}: {said}", done.code));
    }
    if expected != 0 {
        return Verdict::Equal;
    }
    let json: Value = serde_json::from_str(&done.stdout).expect("JSON");
    let (ours, theirs) = match &record.step_got {
        Some(StepTruth::Granted(step)) => (of_step(&json), given_step(record, step)),
        _ => (of_job(&json), given_job(record)),
    };
    match ours == theirs {
        true => Verdict::Equal,
        false => Verdict::Differs(format!("{ours:?}")),
    }
}

/// How the command ends where slurmctld, or Slurm's command, gave this answer.
fn exit_code(record: &Record) -> i32 {
    let refused = |text: &str| {
        if is_of_slurmctld(text) {
            NOT_RUN
        } else {
            USAGE
        }
    };
    match (&record.job, &record.step_got) {
        (JobTruth::Refused(text), _) | (_, Some(StepTruth::Refused(text))) => refused(text),
        (JobTruth::Pending(_), _) | (_, Some(StepTruth::Waits)) => NOT_RUN,
        _ => 0,
    }
}

/// Whether a line was refused for what it meets, and not for its words: by slurmctld, or by an srun
/// whose job is too small.
fn is_of_slurmctld(text: &str) -> bool {
    let words = [
        "allocate failed",
        "Unable to allocate",
        "submission failed",
        "Unable to create step",
        "Only allocated",
    ];
    words.iter().any(|word| text.contains(word))
}

fn text(node: &Value, key: &str) -> String {
    let found = node.get(key).and_then(Value::as_str);
    found.unwrap_or_default().into()
}

/// Name, cores of the job, and cores of the step of each node.
fn of_step(json: &Value) -> Vec<[String; 3]> {
    let nodes = json.get("nodes").and_then(Value::as_array);
    let nodes = nodes.into_iter().flatten();
    let keys = ["name", "cores", "step_cores"];
    nodes.map(|node| keys.map(|key| text(node, key))).collect()
}

fn given_step(record: &Record, step: &super::record::Cores) -> Vec<[String; 3]> {
    let JobTruth::Granted { nodes, .. } = &record.job else {
        return Vec::new();
    };
    let of_job = |name| {
        nodes
            .get(name)
            .map_or(String::new(), |(cores, _)| list(cores))
    };
    step.iter()
        .map(|(name, cores)| [name.clone(), of_job(name), list(cores)])
        .collect()
}

/// Name, cores and CPUs of each node of a job without a step.
fn of_job(json: &Value) -> Vec<[String; 3]> {
    let nodes = json.get("job").and_then(|job| job.get("nodes"));
    let nodes = nodes.and_then(Value::as_array).into_iter().flatten();
    let cpus = |node: &Value| node.get("cpus").map_or(String::new(), Value::to_string);
    let all = nodes.map(|node| [text(node, "name"), text(node, "cores"), cpus(node)]);
    all.collect()
}

fn given_job(record: &Record) -> Vec<[String; 3]> {
    let JobTruth::Granted { nodes, .. } = &record.job else {
        return Vec::new();
    };
    let nodes = nodes.iter();
    let all = nodes.map(|(name, (cores, cpus))| [name.clone(), list(cores), cpus.to_string()]);
    all.collect()
}
