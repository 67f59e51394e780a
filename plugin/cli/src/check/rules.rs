//! The traps; each is a function that gives the found text, the reason, and the line to use
//! instead. A line without a trap must give no finding.

use berth_placement::Binding;
use berth_placement::request::grid_engine::{Scope, Strategy};

use super::Finding;
use super::case::Case;
use super::script::is_launcher;
use super::words::joined;

/// Every rule for an srun.
pub(super) const RULES: &[fn(&Case<'_>) -> Option<Finding>] = &[
    cpus_per_task_not_taken_over,
    hint_dropped,
    list_on_several_nodes,
    list_on_part_of_a_node,
    rank,
    binding_per_task,
    start_on_shared_nodes,
    threads_without_places,
    more_threads_than_cpus,
    launcher_in_srun,
    neighbours_apart,
];

fn cpus_per_task_not_taken_over(case: &Case<'_>) -> Option<Finding> {
    let asked = case.script.job.get("cpus-per-task")?;
    if case.has("cpus-per-task").is_some() || asked == "1" {
        return None;
    }
    Some(Finding::warning(
        case.command,
        "cpus-per-task",
        format!("the job has -c {asked}, this srun has none"),
        "srun of 22.05 and 23.02 does not take -c from the job: its tasks may get one CPU each",
        case.rewritten(&[], &[&format!("-c{asked}")]),
    ))
}

fn hint_dropped(case: &Case<'_>) -> Option<Finding> {
    let hint = case.has("hint")?;
    let bare = case
        .cpu_bind()
        .split(',')
        .all(|word| ["", "v", "verbose", "q", "quiet"].contains(&word));
    let others = [
        "extra-node-info",
        "ntasks-per-core",
        "threads-per-core",
        "cpu-bind",
    ];
    let other = others
        .iter()
        .find(|name| case.has(name).is_some() && (**name != "cpu-bind" || !bare))?;
    let own = |name: &str| case.command.line.value(name).is_some();
    let instead = match (own("hint"), own(other)) {
        (true, _) => case.rewritten(&["hint"], &[]),
        (false, true) => case.rewritten(&[other], &[]),
        // Both stand elsewhere, so no single line replaces them.
        (false, false) => String::new(),
    };
    Some(Finding::warning(
        case.command,
        "hint",
        format!("--hint={hint} beside --{other}"),
        "srun silently ignores the hint beside that option",
        instead,
    ))
}

fn list_on_several_nodes(case: &Case<'_>) -> Option<Finding> {
    if !case.is_list() || case.nodes() < 2 {
        return None;
    }
    // On whole, equal nodes a list may be intended.
    let say = match case.is_exclusive() {
        true => Finding::hint,
        false => Finding::warning,
    };
    Some(say(
        case.command,
        "list-on-several-nodes",
        format!("--cpu-bind={} on {} nodes", case.cpu_bind(), case.nodes()),
        "the same list applies to every node, by the kernel's numbers there; the job's CPUs and \
         their numbering differ from node to node",
        case.rewritten(&["cpu-bind"], &["--cpu-bind=cores"]),
    ))
}

fn list_on_part_of_a_node(case: &Case<'_>) -> Option<Finding> {
    (case.is_list() && case.nodes() == 1 && !case.is_exclusive()).then(|| {
        let instead = match case.script.is_batch {
            true => "#SBATCH --exclusive".into(),
            false => case.rewritten(&[], &["--exclusive"]),
        };
        Finding::warning(
            case.command,
            "list-on-part-of-a-node",
            format!("--cpu-bind={} without --exclusive", case.cpu_bind()),
            "nobody knows beforehand which CPUs of a shared node a job gets; a list that names \
             others is refused; --cpu-bind=cores chooses among the job's CPUs",
            instead,
        )
    })
}

fn rank(case: &Case<'_>) -> Option<Finding> {
    let bind = case.cpu_bind();
    let word = bind.split(',').find(|word| *word == "rank")?;
    Some(Finding::warning(
        case.command,
        "rank",
        format!("--cpu-bind={word}"),
        "Slurm 24.11 removed it from srun",
        case.rewritten(&["cpu-bind"], &["--cpu-bind=threads"]),
    ))
}

/// The `--binding` that counts, if it can be read.
fn binding(case: &Case<'_>) -> Option<Binding> {
    case.has("binding")?.parse().ok()
}

fn binding_per_task(case: &Case<'_>) -> Option<Finding> {
    let binding = binding(case)?;
    let (Strategy::Linear { amount, .. } | Strategy::Striding { amount, .. }) = binding.strategy
    else {
        return None;
    };
    let tasks = case.tasks();
    let wrong = tasks > 1 && amount == tasks && case.cpus_per_task() == 1;
    (wrong && binding.scope == Scope::Task).then(|| {
        Finding::warning(
            case.command,
            "binding-per-task",
            format!("-n{tasks} with --binding={binding}"),
            "-n counts processes, and each gets the amount; for one process with that many \
             threads use -n1 and -c",
            case.rewritten(
                &["ntasks", "cpus-per-task"],
                &["-n1", &format!("-c{amount}")],
            ),
        )
    })
}

fn start_on_shared_nodes(case: &Case<'_>) -> Option<Finding> {
    let binding = binding(case)?;
    let starts = match &binding.strategy {
        Strategy::Linear { start, .. } | Strategy::Striding { start, .. } => start.is_some(),
        Strategy::Explicit(_) => true,
        Strategy::None => false,
    };
    (starts && !case.is_exclusive()).then(|| {
        let instead = match case.script.is_batch {
            true => "#SBATCH --exclusive".into(),
            false => case.rewritten(&[], &["--exclusive"]),
        };
        Finding::warning(
            case.command,
            "binding-start",
            format!("--binding={binding} without --exclusive"),
            "on a shared node the named cores may belong to another job; then no task is bound",
            instead,
        )
    })
}

fn threads_without_places(case: &Case<'_>) -> Option<Finding> {
    let threads = case.openmp_threads()?;
    let set = |name: &&str| case.command.variables.contains_key(*name);
    let places = [
        "OMP_PLACES",
        "OMP_PROC_BIND",
        "GOMP_CPU_AFFINITY",
        "KMP_AFFINITY",
    ];
    let told = places.iter().any(set)
        || binding(case)
            .is_some_and(|b| b.instance == berth_placement::request::grid_engine::Instance::Env);
    let hybrid = threads > 1 || (threads == 0 && case.cpus_per_task() > 1);
    (hybrid && !told).then(|| {
        Finding::warning(
            case.command,
            "openmp-places",
            "OMP_NUM_THREADS without OMP_PLACES and OMP_PROC_BIND".into(),
            "the task's threads may move between its CPUs, and two of them may share a core",
            "export OMP_PLACES=cores OMP_PROC_BIND=close".into(),
        )
    })
}

fn more_threads_than_cpus(case: &Case<'_>) -> Option<Finding> {
    let (threads, cpus) = (case.openmp_threads()?, case.cpus_per_task());
    // One process on a node of its own has all of it, whatever -c.
    let has_all = case.tasks() == case.nodes() && case.is_exclusive() && cpus == 1;
    (threads > cpus && !has_all).then(|| {
        Finding::warning(
            case.command,
            "openmp-threads",
            format!("OMP_NUM_THREADS={threads} with -c {cpus}"),
            "each task has fewer CPUs than threads",
            case.rewritten(&["cpus-per-task"], &[&format!("-c{threads}")]),
        )
    })
}

fn launcher_in_srun(case: &Case<'_>) -> Option<Finding> {
    let program = case
        .command
        .line
        .program
        .first()
        .filter(|word| is_launcher(word))?;
    let tasks = case.tasks();
    let found = match tasks {
        1 => format!("srun starts {program}, which starts tasks of its own inside one task"),
        _ => format!("srun starts {program} {tasks} times, and each starts tasks of its own"),
    };
    Some(Finding::warning(
        case.command,
        "nested-launcher",
        found,
        "the processes that it starts get the mask of its own task, which is often one core",
        joined(&case.command.line.program),
    ))
}

fn neighbours_apart(case: &Case<'_>) -> Option<Finding> {
    let levels = case.has("distribution").unwrap_or_default();
    let decided =
        levels.contains(':') || levels.starts_with("plane") || levels.starts_with("arbitrary");
    let bind = case.cpu_bind();
    let other = case.is_list() || bind.contains("none") || case.has("binding").is_some();
    let gpus = [
        "gpus",
        "gpus-per-node",
        "gpus-per-task",
        "gpus-per-socket",
        "gres",
    ];
    let gpu = gpus.iter().any(|name| {
        case.has(name)
            .is_some_and(|value| *name != "gres" || value.contains("gpu"))
    });
    let matters = gpu || case.cpus_per_task() > 1;
    let one_socket = case.host.is_some_and(|host| host.shape().sockets == 1);
    let several = case.tasks() > case.nodes();
    (several && matters && !decided && !other && !one_socket).then(|| {
        Finding::hint(
            case.command,
            "cyclic-default",
            "-m does not order the sockets".into(),
            "by default the next task goes to the next socket, so neighbours are apart; choose an \
             order",
            case.rewritten(&["distribution"], &["-m", "block:block"]),
        )
    })
}
