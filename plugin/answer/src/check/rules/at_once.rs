//! Steps that are meant to run at once: each takes the job's CPUs or its memory, so they wait for each other, or the
//! script ends before they do.

use berth_srun::{Program, Release};

use super::own_options::job_cpus;
use crate::check::case::Case;
use crate::check::command::{Command, Kind};
use crate::check::finding::{Finding, Repair, replaced};
use crate::check::script::{Role, is_launcher};
use crate::lines::job::base;
use crate::text::has_word;

/// Steps that are meant to run beside each other, of which each takes all CPUs of the job.
pub(super) fn beside_each_other(case: &Case<'_>) -> Option<Finding> {
    case.script.job.as_ref()?;
    if !takes_everything(case) || !case.command.is_complete() {
        return None;
    }
    let of_job = case.job.as_ref()?;
    let all = at_once(case);
    let in_loop = all.iter().any(|one| is_repeated(case, one));
    let count = all.len();
    // Steps on nodes of their own do not disturb each other.
    let job_nodes = of_job.nodes.and_then(|nodes| nodes.most).unwrap_or(1);
    let nodes = |one: &&Command| {
        let case = Case::new(case.script, one, case.around);
        let named = case.is_set("nodelist") || case.is_set("relative");
        let nodes = case.nodes().filter(|_| !named)?;
        Some(case.tasks().map_or(nodes, |tasks| nodes.min(tasks)))
    };
    let together: u32 = all.iter().map(nodes).sum::<Option<u32>>()?;
    let disturbs = match in_loop {
        true => job_nodes == 1,
        false => count > 1 && together > job_nodes,
    };
    disturbs.then(|| {
        let found = match in_loop {
            true => "srun … & in a loop, without --exact".into(),
            false => format!("{count} sruns at once, this one without --exact"),
        };
        match too_large(case, &all) {
            Some((two, job)) => case.warning(
                "steps-wait",
                format!("{found}; two of them ask for {two} CPUs, the job for {job}"),
                "one waits for the end of the other, with --exact too: give each fewer tasks, or more to the job, \
                 or --overlap to each if they may share CPUs",
            ),
            None => {
                let why = "a step without --exact takes all CPUs of the job on its nodes, so the next one waits for \
                           its end";
                let finding = case.warning("steps-wait", found, why);
                finding.or(case.command.insert("--exact"))
            }
        }
    })
}

/// The steps that are meant to run at the same time as this one, with itself.
fn at_once<'a>(case: &Case<'a>) -> Vec<&'a Command> {
    let command = case.command;
    let steps = case.script.commands.iter();
    let steps = steps.filter(|one| one.kind == Kind::Srun && one.waits == command.waits);
    let in_pipe = steps.clone().filter(|one| one.pipeline == command.pipeline);
    if in_pipe.clone().count() > 1 {
        return in_pipe.collect();
    }
    let mut in_background = steps.clone().filter(|one| one.in_background);
    let first = in_background.find(|one| one.option("overlap").is_none());
    let place = |one: &Command| (one.number, one.name.range.start);
    // A step that is not in the background starts beside those that were put there before.
    let is_beside =
        |one: &&Command| first.is_some_and(|first| one.in_background || place(one) > place(first));
    match is_beside(&command) {
        true => steps.filter(is_beside).collect(),
        false => Vec::new(),
    }
}

/// Whether a loop starts the step again before it waits for it.
fn is_repeated(case: &Case<'_>, command: &Command) -> bool {
    command.loops > 0 && case.script.waits.get(command.waits) != Some(&command.block)
}

/// The CPUs of this step and the smallest one of the others, and those of the job, where these are fewer.
fn too_large(case: &Case<'_>, all: &[&Command]) -> Option<(u32, u32)> {
    let job = case.script.job.as_ref()?;
    let mut counts = ["ntasks", "ntasks-per-node"].iter();
    counts.find(|name| job.option(name).is_some())?;
    let cpus = |one: &Command| {
        let case = Case::new(case.script, one, case.around);
        let each = case.request.as_ref().ok()?.cpus_per_task.unwrap_or(1);
        case.tasks()?.checked_mul(each)
    };
    let is_other = |one: &&&Command| {
        let is_own = std::ptr::eq(**one, case.command) && !is_repeated(case, one);
        !is_own && one.option("overlap").is_none()
    };
    let others = all.iter().filter(is_other).map(|one| cpus(one));
    let smallest = others.collect::<Option<Vec<_>>>()?.into_iter().min()?;
    let (two, of_job) = (
        cpus(case.command)?.checked_add(smallest)?,
        job_cpus(case, job)?,
    );
    (two > of_job).then_some((two, of_job))
}

fn takes_everything(case: &Case<'_>) -> bool {
    let shared = [
        "exact",
        "exclusive",
        "overlap",
        "cpus-per-task",
        "binding",
        "overcommit",
    ];
    let inherits =
        case.around.release >= Release::V23_11 && case.job_option("cpus-per-task").is_some();
    !inherits && !shared.iter().any(|name| case.is_set(name))
}

/// With the job's `--mem` each step takes all memory of the job on its nodes, unless it names its part.
pub(super) fn memory_of_steps(case: &Case<'_>) -> Option<Finding> {
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
    let waits = match is_repeated(case, command) {
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
    let (job, requested) = (case.script.job.as_ref()?, case.job.as_ref()?);
    let is_one_node = requested.nodes.is_none_or(|nodes| nodes.most == Some(1));
    let given = job
        .option("mem")
        .filter(|_| is_one_node && !case.is_whole())?;
    let cpus = requested
        .tasks()
        .checked_mul(requested.cpus_per_task.unwrap_or(1))?;
    let each = mebibytes(memory)? / u64::from(cpus.max(1));
    let value = match each % 1024 {
        0 => format!("{}G", each / 1024),
        _ => format!("{each}M"),
    };
    let mut edits = job.rename(&case.script.text, given, "mem-per-cpu")?;
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

/// Commands behind which a script ends at once.
const QUICK: &str = "echo printf date true exit";

/// A step in the background that nobody waits for: the job ends with its script.
pub(super) fn no_wait(case: &Case<'_>) -> Option<Finding> {
    let (script, command) = (case.script, case.command);
    let is_batch = script.job.as_ref()?.kind == Kind::Job(Program::Sbatch);
    let launches = |one: &&Command| matches!(one.kind, Kind::Srun | Kind::Mpirun);
    let last = script.commands.iter().rev().filter(launches);
    let later: Vec<_> = last
        .take_while(|one| !std::ptr::eq(*one, command))
        .collect();
    let is_other = later.iter().any(|one| one.in_background);
    let is_part = matches!(script.role, Role::Part | Role::InTasks);
    if !command.in_background || !is_batch || is_part || is_other {
        return None;
    }
    let starts = |words: &Vec<String>| {
        let mut words = words.iter();
        words.any(|word| base(word) == "srun" || is_launcher(word))
    };
    let places = script.all.iter().enumerate().rev();
    let (at, _) = places.filter(|(_, words)| starts(words)).nth(later.len())?;
    let (before, behind) = script.all.split_at(at + 1);
    // A function that waits may be called anywhere.
    let has_functions = script.text.windows(2).any(|two| two == b"()");
    let waits = |words: &Vec<String>| {
        let mut words = words.iter().filter(|word| !word.starts_with('-'));
        words.any(|word| word.contains("wait") || word.contains("kill"))
    };
    let is_with_another = !later.is_empty() && command.option("overlap").is_some();
    if behind.iter().any(waits) || has_functions && before.iter().any(waits) || is_with_another {
        return None;
    }
    let ends = behind
        .iter()
        .all(|words| words.first().is_some_and(|word| has_word(QUICK, word)));
    let finding = case.warning(
        "no-wait",
        "srun … & without a wait behind it".into(),
        "the job ends with its batch script, and Slurm kills the steps that still run; a wait at the end of the \
         script prevents that",
    );
    let is_sure = ends && later.is_empty();
    let has_exit = behind
        .iter()
        .any(|words| words.first().is_some_and(|word| word == "exit"));
    Some(
        finding
            .hint_if(!is_sure)
            .or(wait_at_end(case).filter(|_| !has_exit)),
    )
}

/// A `wait` behind the last line of the script, if the text is that script.
fn wait_at_end(case: &Case<'_>) -> Option<Repair> {
    let is_text =
        case.script.role == Role::Whole && case.script.job.as_ref()?.name.range.is_empty();
    let text = is_text.then_some(&case.script.text)?;
    let mut end = text.len();
    for line in text.rsplit(|byte| *byte == b'\n') {
        let code = line.trim_ascii_end();
        if !code.is_empty() && !code.trim_ascii_start().starts_with(b"#") {
            let sign = if code.ends_with(b"&") { "" } else { ";" };
            let at = end - line.len() + code.len();
            return Some(replaced(at..at, format!("{sign} wait")));
        }
        end = end.saturating_sub(line.len() + 1);
    }
    None
}
