//! Steps in their job: numbers that do not match, options that are not taken over, and steps that
//! wait for each other.

use berth_srun::Release;

use super::binding::job_cpus;
use crate::check::case::Case;
use crate::check::command::{Command, Kind};
use crate::check::finding::Finding;
use crate::check::script;

/// srun of 22.05 and 23.02 does not read the job's `-c`; from 23.11 on it reads the variable
/// `SLURM_CPUS_PER_TASK`.
pub(super) fn cpus_per_task_not_taken_over(case: &Case<'_>) -> Option<Finding> {
    let of_job = case.job_option("cpus-per-task")?;
    let asked = case.asked.as_ref().ok()?;
    let is_taken_over = case.around.release >= Release::V23_11 || case.script.has_components;
    // A single task has the job's CPUs all the same, if no level is asked for.
    let is_alone = case.tasks() == Some(1) && asked.cpu_bind.level.is_none();
    let other = case.is_list() || case.cpu_bind().contains("none") || asked.overlap;
    let applies = !is_taken_over
        && of_job != Some("1")
        && !case.is_set("cpus-per-task")
        && case.knows(&["cpu-bind"])
        && !is_alone
        && !other;
    applies.then(|| {
        let each = of_job.unwrap_or("$SLURM_CPUS_PER_TASK");
        let finding = case.warning(
            "cpus-per-task",
            format!("the job has -c {each}, this srun has none"),
            "srun of 22.05 and 23.02 does not take -c from the job: its tasks are bound to one CPU \
             each, or not kept apart",
        );
        finding.or(case.insert(&format!("-c{each}")))
    })
}

/// `-n`, `-N` and `--ntasks-per-node` of one command.
pub(super) fn tasks_and_nodes(case: &Case<'_>) -> Option<Finding> {
    let command = case.command;
    let number = |name: &str| -> Option<u32> {
        case.has(name)
            .filter(|_| command.given(name).is_some())?
            .parse()
            .ok()
    };
    if !case.knows(&["ntasks", "nodes", "ntasks-per-node"]) || case.is_set("nodelist") {
        return None;
    }
    let (tasks, nodes) = (number("ntasks")?, number("nodes")?);
    if tasks < nodes {
        let finding = case.warning(
            "tasks-and-nodes",
            format!("-n {tasks} with -N {nodes}"),
            "there are fewer tasks than nodes, so some nodes would run nothing",
        );
        let edit = command.set(&case.script.text, "nodes", &tasks.to_string(), "");
        return Some(finding.or(edit.map(|edit| vec![edit])));
    }
    let each = number("ntasks-per-node")?;
    (nodes.checked_mul(each) != Some(tasks)).then(|| {
        let finding = case.warning(
            "tasks-and-nodes",
            format!("-n {tasks} with -N {nodes} and --ntasks-per-node={each}"),
            "the numbers contradict each other: -n counts the tasks of all nodes together",
        );
        let even = (tasks % nodes == 0).then(|| {
            command.set(
                &case.script.text,
                "ntasks-per-node",
                &(tasks / nodes).to_string(),
                "",
            )
        });
        let even = even.flatten().map(|edit| vec![edit]);
        let removed = command
            .given("ntasks-per-node")
            .and_then(|given| command.remove(&case.script.text, given));
        finding.or(even).or(removed)
    })
}

/// More tasks or nodes than the job around it has.
pub(super) fn more_than_the_job(case: &Case<'_>) -> Option<Finding> {
    let job = case
        .script
        .job
        .as_ref()
        .filter(|_| !case.script.has_components)?;
    let of_job = case.job.as_ref()?;
    let asked = case.asked.as_ref().ok()?;
    if !case.command.is_complete() || !job.is_complete() {
        return None;
    }
    let own = case.command.given("nodes").and_then(|_| case.nodes());
    let nodes = of_job
        .nodes
        .and_then(|nodes| nodes.most)
        .filter(|_| of_job.nodelist.is_none());
    if let (Some(own), Some(nodes)) = (own, nodes)
        && own > nodes
    {
        let finding = case.warning(
            "more-than-the-job",
            format!("-N {own} in a job of {nodes} node(s)"),
            "srun refuses it: a step has nodes of its job only",
        );
        let edit = case
            .command
            .set(&case.script.text, "nodes", &nodes.to_string(), "");
        return Some(finding.or(edit.map(|edit| vec![edit])));
    }
    let tasks = case
        .tasks()
        .filter(|_| case.command.given("ntasks").is_some())?;
    // A job that asks for nodes alone usually gets them whole.
    let mut counts = ["ntasks", "ntasks-per-node"].iter();
    counts.find(|name| job.given(name).is_some())?;
    let cpus = job_cpus(case, job)?;
    let wanted = tasks.checked_mul(asked.cpus_per_task.unwrap_or(1))?;
    // The job owns whole cores, so it may have one thread more than it asks for on each node.
    let nodes = of_job.nodes.map_or(1, |nodes| nodes.least).max(1);
    (wanted > cpus.div_ceil(nodes).next_multiple_of(2) * nodes && !asked.overcommit).then(|| {
        let finding = case.warning(
            "more-than-the-job",
            format!("the step asks for {wanted} CPUs, the job for {cpus}"),
            "srun refuses it: more processors are requested than the job has",
        );
        let edit = case
            .command
            .set(&case.script.text, "ntasks", &of_job.tasks().to_string(), "");
        finding.or(edit.map(|edit| vec![edit]))
    })
}

/// Steps that are meant to run beside each other, of which each takes all CPUs of the job.
pub(super) fn beside_each_other(case: &Case<'_>) -> Option<Finding> {
    let command = case.command;
    case.script.job.as_ref()?;
    if !takes_everything(case, command) || !command.is_complete() {
        return None;
    }
    let of_job = case.job.as_ref()?;
    let with = |other: &&Command| {
        other.kind == Kind::Srun && other.in_background && other.waits == command.waits
    };
    let others: Vec<_> = case.script.commands.iter().filter(with).collect();
    let in_loop = others.iter().any(|other| other.loops > 0);
    let count = others.len();
    // Steps on nodes of their own do not disturb each other.
    let job_nodes = of_job.nodes.and_then(|nodes| nodes.most).unwrap_or(1);
    let nodes = |other: &&Command| {
        let case = Case::new(case.script, other, case.around);
        let named = case.is_set("nodelist") || case.is_set("relative");
        let nodes = case.nodes().filter(|_| !named)?;
        Some(case.tasks().map_or(nodes, |tasks| nodes.min(tasks)))
    };
    let together: u32 = others.iter().map(nodes).sum::<Option<u32>>()?;
    let disturbs = match in_loop {
        true => job_nodes == 1,
        false => count > 1 && together > job_nodes,
    };
    disturbs.then(|| {
        let found = match in_loop {
            true => "srun … & in a loop, without --exact".into(),
            false => format!("{count} sruns in the background at once, this one without --exact"),
        };
        let finding = case.warning(
            "steps-wait",
            found,
            "a step without --exact takes all CPUs of the job on its nodes, so the next one waits for \
             its end",
        );
        finding.or(case.insert("--exact"))
    })
}

fn takes_everything(case: &Case<'_>, command: &Command) -> bool {
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
    command.in_background && !inherits && !shared.iter().any(|name| case.is_set(name))
}

/// `#SBATCH` behind the first command.
pub(super) fn late_directives(case: &Case<'_>) -> Option<Finding> {
    let is_script = case.command.name.range.is_empty();
    let mut late = script::late_directives(case.script).into_iter();
    let line = late.next().filter(|_| is_script)?;
    let finding = case.warning(
        "late-directive",
        "#SBATCH behind the first command".into(),
        "sbatch stops reading options there, and takes this line for a comment",
    );
    Some(Finding { line, ..finding })
}
