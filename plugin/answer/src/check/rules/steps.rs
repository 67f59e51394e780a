//! Steps in their job: numbers that do not match, and options that are not taken over.

use berth_placement::{Level, counted};
use berth_srun::Release;
use berth_srun::options::{Command as Program, variables};
use berth_srun::reading::SrunRequest;

use super::own_options::job_cpus;
use crate::check::case::Case;
use crate::check::finding::Finding;

/// srun of 22.05 and 23.02 does not read the job's `-c`; from 23.11 on it reads the variable
/// `SLURM_CPUS_PER_TASK`.
pub(super) fn cpus_per_task_not_taken_over(case: &Case<'_>) -> Option<Finding> {
    let of_job = case.job_option("cpus-per-task")?;
    let requested = case.request.as_ref().ok()?;
    let is_taken_over = case.around.release >= Release::V23_11 || case.script.has_components;
    // A single task has the job's CPUs all the same, if no level is asked for.
    let is_alone = case.tasks() == Some(1) && requested.cpu_bind.level.is_none();
    let other = case.is_list() || case.cpu_bind().contains("none") || requested.overlap;
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
        // Tasks that get whole sockets lose nothing, if there are enough of them.
        let is_wide = matches!(
            requested.cpu_bind.level,
            Some(Level::Sockets | Level::Ldoms)
        );
        let own = case.command.insert(&format!("-c{each}"));
        finding.hint_if(is_wide).or(own)
    })
}

/// Options of a job that count its tasks.
const COUNTS: [&str; 6] = [
    "ntasks",
    "ntasks-per-node",
    "ntasks-per-socket",
    "ntasks-per-gpu",
    "gpus",
    "gpus-per-task",
];

/// The value of an option is a variable that sbatch does not set for this job.
pub(super) fn unset_variable(case: &Case<'_>) -> Option<Finding> {
    let job = case.script.job.as_ref()?;
    let names = ["cpus-per-task", "ntasks", "ntasks-per-node"];
    let (given, value) = names.iter().find_map(|name| {
        let given = case.command.option(name)?;
        let value = given.value.as_deref()?;
        case.job_variables.is_unset(value).then_some((given, value))
    })?;
    if given.name == "ntasks" && COUNTS.iter().any(|name| job.option(name).is_some()) {
        return None;
    }
    let name = &given.name;
    let variable = value.trim_matches(['$', '{', '}']);
    Some(case.warning(
        "unset-variable",
        format!("--{name}={value} in a job without --{name}"),
        &format!(
            "sbatch sets this variable only for a job that has the option; without it srun takes the next word for the \
             number, or refuses an empty one: give the job --{name}, or write ${{{variable}:-1}}"
        ),
    ))
}

/// A variable that srun or OpenMP reads, and that the script keeps for itself.
pub(super) fn not_exported(case: &Case<'_>) -> Option<Finding> {
    let read = variables(Program::Srun, case.around.release).map(|(variable, _)| variable);
    let mut read = read.chain(["OMP_NUM_THREADS"]);
    let is_set = |name: &&str| {
        let hidden = case.command.hidden.get(*name);
        hidden.is_some_and(|one| !one.value.is_empty())
    };
    let name = read.find(is_set)?;
    Some(case.hint(
        "not-exported",
        format!("{name} is set, but not exported"),
        &format!(
            "srun and its tasks do not find it; write export {name} behind it, or export {name}=…"
        ),
    ))
}

/// `--ntasks-per-socket` limits tasks, and does not make more of them.
pub(super) fn tasks_per_socket(case: &Case<'_>) -> Option<Finding> {
    let most = case.command.option("ntasks-per-socket")?.value.clone()?;
    let counts = [
        "ntasks",
        "ntasks-per-node",
        "cpus-per-gpu",
        "gpus-per-task",
        "ntasks-per-gpu",
    ];
    (!case.has_one_of(&counts) && case.command.is_complete()).then(|| {
        case.hint(
            "tasks-and-nodes",
            format!("--ntasks-per-socket={most} without -n"),
            "it is a limit and makes no tasks: without -n there is one task per node, or one for each -c \
             of the job",
        )
    })
}

/// `-n`, `-N` and `--ntasks-per-node` of one command.
pub(super) fn tasks_and_nodes(case: &Case<'_>) -> Option<Finding> {
    let command = case.command;
    let number = |name: &str| -> Option<u32> {
        command.option(name)?;
        case.own(name)
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
        return Some(finding.or(case.set(&[format!("-N{tasks}")])));
    }
    let each = number("ntasks-per-node")?;
    // Beside -n it is a limit.
    (nodes.checked_mul(each).is_some_and(|most| most < tasks)).then(|| {
        let finding = case.warning(
            "tasks-and-nodes",
            format!("-n {tasks} with -N {nodes} and --ntasks-per-node={each}"),
            "so many tasks do not fit: -n counts the tasks of all nodes together, and --ntasks-per-node limits those of each",
        );
        let even = || case.set(&[format!("--ntasks-per-node={}", tasks / nodes)]);
        let even = (tasks % nodes == 0).then(even).flatten();
        finding.or(even).or(case.remove("ntasks-per-node"))
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
    let requested = case.request.as_ref().ok()?;
    if !case.command.is_complete() || !job.is_complete() {
        return None;
    }
    if let Some(finding) = more_nodes(case, of_job) {
        return Some(finding);
    }
    let tasks = numbered_tasks(case)?;
    // A job that asks for nodes alone usually gets them whole.
    let mut counts = ["ntasks", "ntasks-per-node"].iter();
    counts.find(|name| job.option(name).is_some())?;
    // The job owns whole cores, so it may have one thread more than it asks for on each node.
    let nodes = of_job.nodes.map_or(1, |nodes| nodes.least).max(1);
    let cpus = job_cpus(case, job)?;
    let each = cpus.div_ceil(nodes).checked_next_multiple_of(2)?;
    let most = each.saturating_mul(nodes);
    let on_own = on_own_nodes(case);
    let (cpus, most) = on_own.unwrap_or((cpus, most));
    let place = on_own.and_then(|_| case.nodes());
    let place = place.map_or(String::new(), |own| format!(" on {}", counted(own, "node")));
    let each = requested.cpus_per_task.unwrap_or(1);
    let wanted = tasks.checked_mul(each)?;
    (wanted > most && !requested.overcommit).then(|| {
        let finding = case.warning(
            "more-than-the-job",
            format!("the step asks for {wanted} CPUs, the job for {cpus}{place}"),
            "srun refuses it: more processors are requested than the job has",
        );
        let fitting = cpus / each.max(1);
        finding.or(match case.command.option("ntasks") {
            Some(_) if fitting == 0 => None,
            Some(_) => case.set(&[format!("-n{fitting}")]),
            None => job.set(&case.script.text, &[format!("-c{each}")]),
        })
    })
}

/// The tasks of a step by its `-n`, or by the job's where no other option of its own counts them.
fn numbered_tasks(case: &Case<'_>) -> Option<u32> {
    let has_own = |name: &&str| case.command.option(name).is_some();
    let is_counted = ["nodes", "ntasks-per-node"].iter().any(has_own);
    let is_numbered = has_own(&"ntasks") || !is_counted && case.has("ntasks").is_some();
    case.tasks().filter(|_| is_numbered)
}

/// More nodes than the job has.
fn more_nodes(case: &Case<'_>, of_job: &SrunRequest) -> Option<Finding> {
    let own = case.command.option("nodes").and_then(|_| case.nodes())?;
    let nodes = of_job.nodes?.most.filter(|_| of_job.nodelist.is_none())?;
    (own > nodes).then(|| {
        let found = format!("-N {own} in a job of {}", counted(nodes, "node"));
        let why = "srun refuses it: a step has nodes of its job only";
        let finding = case.warning("more-than-the-job", found, why);
        finding.or(case.set(&[format!("-N{nodes}")]))
    })
}

/// The job's request on as many nodes as the step asks for, and the most that it may have there;
/// none if the job does not say how much each node has.
fn on_own_nodes(case: &Case<'_>) -> Option<(u32, u32)> {
    let own = case.command.option("nodes").and_then(|_| case.nodes())?;
    let job = case.job.as_ref()?;
    let all = job.nodes?.most?;
    let each = job
        .ntasks_per_node?
        .checked_mul(job.cpus_per_task.unwrap_or(1))?;
    let most = each.next_multiple_of(2).checked_mul(own)?;
    (own < all).then_some((each.checked_mul(own)?, most))
}

/// A step that takes the lines that the loop around it reads.
pub(super) fn input_of_loop(case: &Case<'_>) -> Option<Finding> {
    let applies = case.command.reads_loop_input && !case.is_set("input");
    applies.then(|| {
        let finding = case.warning(
            "loop-input",
            "srun in a loop of while read".into(),
            "srun takes the rest of the loop's input, so the loop ends behind its first line; --input=none leaves the \
             input to the loop",
        );
        finding.or(case.command.insert("--input=none"))
    })
}

/// `#SBATCH` behind the first command.
pub(super) fn late_directives(case: &Case<'_>) -> Option<Finding> {
    let late = case.script.late.first().filter(|_| case.is_script())?;
    let line = case.script.line_of(*late);
    let finding = case.warning(
        "late-directive",
        "#SBATCH behind the first command".into(),
        "sbatch stops reading options there, and takes this line for a comment",
    );
    let file = case.script.file.clone();
    Some(Finding {
        file,
        line,
        ..finding
    })
}
