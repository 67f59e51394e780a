//! What `berth plan --cluster` says of a recorded line: the same cores of the job and of its first step
//! as slurmctld gave, on each node of the step.
//! In: a record, and the release that answered. Out: a verdict; `None` where the command has no words
//! for the question.

use std::fs;
use std::process::Command;

use berth_srun::Release;
use serde_json::Value;

use super::compare::Verdict;
use super::record::{JobTruth, Record, StepTruth, list};
use crate::{Done, command};

/// Asks the command. A job without a step, memory of other jobs and whole nodes have no option.
///
/// # Panics
/// Where the command cannot be run, or prints something that is not JSON.
#[must_use]
pub fn through_the_command(record: &Record, release: Release) -> Option<Verdict> {
    let has_words =
        |busy: &super::record::Busy| !busy.whole && busy.memory.values().all(|used| *used == 0);
    let step = record.step_got.as_ref()?;
    if !record.busy.iter().all(has_words) || matches!(step, StepTruth::Killed) {
        return None;
    }
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
    for busy in &record.busy {
        for (node, cores) in &busy.cores {
            asked.arg("--busy").arg(format!("{node}={}", list(cores)));
        }
    }
    let line = match &record.step {
        Some(step) => {
            asked.arg("--job").arg(&record.line);
            step
        }
        None => &record.line,
    };
    asked.arg(format!("{line} ./app"));
    let done = Done::from(asked.output().expect("the command can be run"));
    Some(verdict(record, step, &done))
}

fn verdict(record: &Record, step: &StepTruth, done: &Done) -> Verdict {
    let said = done.stderr.trim();
    if said.contains("not modelled") {
        return Verdict::NotModelled(said.into());
    }
    let (StepTruth::Granted(theirs), JobTruth::Granted { nodes, .. }) = (step, &record.job) else {
        // 2 where srun itself does not take the line.
        return match done.code {
            Some(1 | 2) => Verdict::Equal,
            code => Verdict::Differs(format!("it would run: exit code {code:?}")),
        };
    };
    if said.contains("this step owns ") {
        // slurmctld has granted it, and slurmd would refuse to bind it.
        return Verdict::NotModelled(said.into());
    }
    if done.code != Some(0) {
        return Verdict::Differs(format!("exit code {:?}: {said}", done.code));
    }
    let json: Value = serde_json::from_str(&done.stdout).expect("JSON");
    let ours = json
        .get("nodes")
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    let text = |node: &Value, key: &str| node.get(key).and_then(Value::as_str).map(String::from);
    let shown: Vec<_> = ours
        .iter()
        .map(|node| {
            [
                text(node, "name"),
                text(node, "cores"),
                text(node, "step_cores"),
            ]
            .map(Option::unwrap_or_default)
        })
        .collect();
    let expected: Vec<_> = theirs
        .iter()
        .map(|(name, cores)| {
            let job = nodes
                .get(name)
                .map_or(String::new(), |(cores, _)| list(cores));
            [name.clone(), job, list(cores)]
        })
        .collect();
    match shown == expected {
        true => Verdict::Equal,
        false => Verdict::Differs(format!("{shown:?}")),
    }
}
