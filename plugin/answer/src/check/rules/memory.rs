//! Memory of steps that run beside each other.

use super::options::renamed;
use crate::check::case::Case;
use crate::check::command::{Command, Kind};
use crate::check::finding::{Finding, Repair};

/// With the job's `--mem` each step takes all memory of the job on its nodes, unless it names its part.
pub(super) fn beside_each_other(case: &Case<'_>) -> Option<Finding> {
    let command = case.command;
    let memory = case.job_option("mem")?;
    let beside = |other: &&Command| {
        let names_part = ["mem", "mem-per-cpu", "mem-per-gpu", "overlap"];
        let takes_all = !names_part.iter().any(|name| other.option(name).is_some());
        let is_step = other.kind == Kind::Srun && other.in_background;
        is_step && takes_all && other.is_complete() && other.waits == command.waits
    };
    let all: Vec<_> = case.script.commands.iter().filter(beside).collect();
    // One finding is enough for all of them.
    let is_first = all
        .first()
        .is_some_and(|first| std::ptr::eq(*first, command));
    let nodes = case.job.as_ref()?.nodes.and_then(|nodes| nodes.most);
    let count = all.len() as u32;
    let waits = match command.loops > 0 {
        true => nodes.unwrap_or(1) == 1,
        false => count > nodes.unwrap_or(1),
    };
    if !is_first || !waits || !case.counts_memory() {
        return None;
    }
    let shown = memory.unwrap_or("…");
    let finding = case.warning(
        "steps-wait",
        format!("the job has --mem={shown}, and srun … & names no memory of its own"),
        "such a step takes all memory of the job on its nodes, so the next one waits for its end; the \
         job's --mem-per-cpu gives each step the memory of its CPUs",
    );
    Some(finding.or(per_cpu(case, memory?)))
}

/// The job's `--mem-per-cpu` in the place of its `--mem`, where its CPUs are known.
fn per_cpu(case: &Case<'_>, memory: &str) -> Option<Repair> {
    let (job, asked) = (case.script.job.as_ref()?, case.job.as_ref()?);
    let is_one_node = asked.nodes.is_none_or(|nodes| nodes.most == Some(1));
    let given = job
        .option("mem")
        .filter(|_| is_one_node && !case.is_whole())?;
    let cpus = asked
        .tasks()
        .checked_mul(asked.cpus_per_task.unwrap_or(1))?;
    let each = mebibytes(memory)? / u64::from(cpus.max(1));
    let value = match each % 1024 {
        0 => format!("{}G", each / 1024),
        _ => format!("{each}M"),
    };
    let mut edits = renamed(&case.script.text, job, given, "mem-per-cpu")?;
    edits.extend(job.revalue(&case.script.text, given, &value)?);
    (each > 0).then_some(edits)
}

/// Slurm's sizes: MiB, or a number with K, M, G or T.
fn mebibytes(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let number: u64 = digits.parse().ok()?;
    match text[digits.len()..]
        .to_ascii_lowercase()
        .trim_end_matches('b')
    {
        "" | "m" => Some(number),
        "k" => Some(number / 1024),
        "g" => number.checked_mul(1024),
        "t" => number.checked_mul(1024 * 1024),
        _ => None,
    }
}
