//! The rule that decided, in the user's words: why it did, the levels that did not fit before it, and the order of sockets
//! to which it led. In: the plan's decision.

use berth_placement::answer::decision::Mapped;
use berth_placement::owned::Counts;
use berth_placement::request::mapping::{RankBy, Target, level_word};
use berth_placement::{
    Binding, Decision, Level, LevelFrom, Order, Request, Rule, SharedOut, Unit, counted,
};
use berth_srun::reading::LevelFrom as LevelOption;

use super::step::Planned;
use crate::Question;
use crate::parents::Parents;

fn requested_cpus(request: &Request) -> String {
    let all = u64::from(request.tasks) * u64::from(request.cpus_per_task);
    let tasks = counted(request.tasks, "task");
    format!(
        "{tasks} × {} = {all}",
        counted(request.cpus_per_task, "CPU")
    )
}

/// Why the tasks are where they are.
pub(super) fn why(args: &Question, request: &Request, decision: &Decision, rule: &Rule) -> String {
    if let Some(why) = why_all(request, rule) {
        let own = &decision.own;
        return format!("every task gets all of the step's CPUs ({own}), because {why}");
    }
    match rule {
        Rule::Unbound { .. } => {
            "nothing is bound, because --cpu-bind=none is given and the step has the whole node"
                .into()
        }
        Rule::Asked(word) => format!("--cpu-bind={word} names the CPUs; berth chooses nothing"),
        Rule::Level { level, from, .. } => level_why(args, request, *level, *from, &decision.owned),
        Rule::Binding(binding) => format!(
            "--binding={binding}: Grid Engine's rules choose the cores, free ones first; Slurm's \
             own levels do not count"
        ),
        Rule::Near(near) => format!(
            "--near={near}: each task gets cores next to its devices, an even share of those that \
             are next to them; Slurm's own levels give way"
        ),
        Rule::Share(binding, out) => share_why(binding, *out),
        Rule::Mapped(mapped) => mapped_why(mapped, request.tasks),
        Rule::Narrowed(near, rule) => format!(
            "--near={near}: tasks with the same devices divide the cores next to these among them; {}",
            why(args, request, decision, rule)
        ),
        // The others give every task all CPUs.
        _ => format!(
            "the batch script gets all of the job's CPUs on this node ({})",
            decision.own
        ),
    }
}

/// Why every task gets all of the step's CPUs; none where a rule divides them.
fn why_all(request: &Request, rule: &Rule) -> Option<String> {
    Some(match rule {
        Rule::Unbound { whole: false } => {
            "--cpu-bind=none is given and the step has a part of the node".into()
        }
        Rule::NoMatch => format!(
            "no level is requested, and the step does not have exactly as many whole sockets, whole \
             cores or threads as its tasks need CPUs ({})",
            requested_cpus(request)
        ),
        Rule::Overcommit => "--overcommit is given and there are fewer CPUs than requested".into(),
        Rule::CgroupTooSmall => format!(
            "the step's cgroup has fewer CPUs than slurmd counts for its cores, and these are not \
             enough for {}",
            requested_cpus(request)
        ),
        Rule::TooManyReserved => format!(
            "the site keeps others free that Slurm has given the step, and the rest is not enough \
             for {}",
            requested_cpus(request)
        ),
        Rule::CpusetFailed => {
            "the cpuset is not available, and this site then lets the step run without it".into()
        }
        Rule::BindingFailed => {
            "the --binding or --near cannot be served, and it is not strict".into()
        }
        _ => return None,
    })
}

/// How a mapping places tasks, and what it left open.
fn mapped_why(mapped: &Mapped, tasks: u32) -> String {
    let unit = if mapped.threads {
        "hardware threads"
    } else {
        "cores"
    };
    let places = match &mapped.target {
        Target::Slot | Target::Node => "the tasks one after the other".into(),
        Target::Level(kind) => format!("one task on each {} in turn", level_word(*kind)),
        Target::PerObject { count, of } => {
            format!("{count} on each {}", of.map_or("node", level_word))
        }
        Target::List {
            list,
            ordered: true,
        } => format!("one entry of {list} for each task"),
        Target::List { list, .. } => format!("all of {list} for every task"),
    };
    let each = match mapped.each {
        1 => String::new(),
        each => format!(", {each} {unit} each"),
    };
    let order = match mapped.rank {
        RankBy::Slot | RankBy::Node => "numbered in that order",
        RankBy::Fill => "numbered object by object",
        RankBy::Span => "numbered in turn over the objects",
    };
    let bind = match mapped.bind {
        None => "bound to nothing".into(),
        Some(kind) => {
            let requested = mapped
                .requested
                .bind
                .as_ref()
                .is_some_and(|bind| bind.level.is_some());
            let by = if requested { "" } else { " (the default)" };
            format!("bound to {}{by}", level_word(kind))
        }
    };
    let tasks = counted(tasks, "task");
    format!(
        "{}: {places}{each}; {tasks} {order}, {bind}",
        mapped.requested
    )
}

fn share_why(binding: &Binding, out: SharedOut) -> String {
    let cores = counted(out.cores, "free core");
    let threads = counted(out.threads, "hardware thread");
    let left_out = match out.left_out {
        0 => String::new(),
        some => format!(
            "; auto leaves out {} of jobs in pools",
            counted(some, "core")
        ),
    };
    let each = match out.unit {
        Unit::Cores => "each core has one task",
        Unit::Threads => "there are fewer cores than tasks, and each hardware thread has one task",
        Unit::Time => "there are fewer hardware threads than tasks, and tasks run by turns",
    };
    format!(
        "--binding={binding}: the step's {cores} with {threads} are divided among the tasks, whole \
         packages, NUMA nodes and caches first; {each}{left_out}"
    )
}

fn level_why(
    args: &Question,
    request: &Request,
    level: Level,
    from: LevelFrom,
    owned: &Counts,
) -> String {
    match from {
        LevelFrom::Asked => format!("tasks are bound to {level}, because {}", level_from(args)),
        LevelFrom::Site => format!(
            "tasks are bound to {level}, because no level is requested, none fits exactly, and the \
             site sets autobind={level}"
        ),
        LevelFrom::Exact => {
            let has = match level {
                Level::Sockets => counted(owned.sockets, "whole socket"),
                Level::Cores => counted(owned.cores, "whole core"),
                Level::Threads | Level::Ldoms => counted(owned.threads, "hardware thread"),
            };
            format!(
                "tasks are bound to {level}, because no level is requested, and the step's {has} are \
                 exactly as many as the CPUs that its tasks need ({})",
                requested_cpus(request)
            )
        }
    }
}

/// The levels that automatic binding tried before the one it took.
pub(super) fn rejected(decision: &Decision) -> Vec<String> {
    let owned = &decision.owned;
    let part = |count| match count {
        0 => String::new(),
        count => format!(" and {count} in part"),
    };
    let has = |level: &Level| match level {
        Level::Sockets => format!(
            "sockets: the step has {}{}",
            counted(owned.sockets, "whole socket"),
            part(owned.part_sockets)
        ),
        Level::Cores => format!(
            "cores: the step has {}{}",
            counted(owned.cores, "whole core"),
            part(owned.part_cores)
        ),
        Level::Threads | Level::Ldoms => {
            let threads = counted(owned.threads, "hardware thread");
            format!("threads: the step has {threads}")
        }
    };
    let line = |level| format!("{}, and its tasks need {}", has(level), decision.wanted);
    decision.tried.iter().map(line).collect()
}

/// Which of the options chose the level.
fn level_from(args: &Question) -> String {
    let implied = |option: &str| format!("{option} implies it");
    match args.srun.level_from {
        Some(LevelOption::CpuBind) => match args.srun.cpu_bind.level {
            Some(level) => format!("--cpu-bind={level} asks for it"),
            None => "--cpu-bind asks for it".into(),
        },
        Some(LevelOption::NodeInfo(fields)) => {
            let numbers = ["one number", "two numbers", "three numbers"];
            let fields = usize::from(fields).clamp(1, 3);
            format!("-B has {}", numbers[fields - 1])
        }
        Some(LevelOption::ThreadsPerCore) => implied("--threads-per-core"),
        Some(LevelOption::NtasksPerCore) => implied("--ntasks-per-core"),
        Some(LevelOption::NtasksPerSocket) => implied("--ntasks-per-socket"),
        Some(LevelOption::Hint) => "the hint asks for it".into(),
        // The request itself chose none.
        None if args.srun.cpu_bind.level.is_none() => "it is the site's default (CpuBind=)".into(),
        None => "the request asks for it".into(),
    }
}

/// `--explain`'s line on the order of sockets: what `-m` asks, and what it has led to; none where no level decides.
pub(super) fn order(
    args: &Question,
    planned: &Planned,
    parents: Option<&Parents<'_>>,
) -> Option<String> {
    let Rule::Level { order, .. } = planned.plan.decision.rule else {
        return None;
    };
    let requested = planned.request.distribution.sockets;
    let by = match (&args.srun.distribution, requested) {
        (Some(requested), Some(_)) => format!("-m {requested}"),
        (Some(requested), None) if requested.plane_size.is_some() => format!("-m {requested}"),
        (Some(requested), None) => format!("-m {requested} leaves the sockets to the default"),
        (None, _) => "the default".into(),
    };
    let of_task = |parents: &Parents<'_>| -> Vec<String> {
        let tasks = planned.plan.tasks.iter();
        tasks
            .map(|task| parents.of(&task.cpus)[0].clone())
            .collect()
    };
    let sockets = parents.map(of_task).unwrap_or_default();
    let means = means(order, &sockets);
    Some(format!(
        "order       {order} over the sockets ({by}): {means}"
    ))
}

/// The effect of a task order in words, as far as the tasks' sockets show it.
fn means(order: Order, sockets: &[String]) -> &'static str {
    let changes = sockets.windows(2).filter(|two| two[0] != two[1]).count();
    let mut different = sockets.to_vec();
    different.sort_unstable();
    different.dedup();
    let one_place = different.len() == 1 && sockets.len() > 1;
    let takes_turns = changes + 1 == sockets.len();
    match order {
        _ if one_place && different[0].contains(['-', ',']) => "every task is on the same sockets",
        _ if one_place => "all tasks are on the same socket",
        Order::Block if changes + 1 == different.len() => "one socket is filled, then the next",
        Order::Block => "one socket is filled, then the next, and then again from the first",
        Order::Cyclic if takes_turns => "each task goes to the next socket",
        Order::Cyclic => "tasks go to the sockets in turn, but some neighbours are on one socket",
        Order::Fcyclic => "CPUs are taken from the sockets in turn, also within a task",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_what_happened() {
        let sentence = |order, sockets: &str| {
            let sockets: Vec<_> = sockets.split(' ').map(String::from).collect();
            means(order, &sockets)
        };
        for (order, sockets, says) in [
            (
                Order::Block,
                "0 0 1 1",
                "one socket is filled, then the next",
            ),
            (Order::Block, "0 1 0 1", "again from the first"),
            (
                Order::Cyclic,
                "0 1 0 1",
                "each task goes to the next socket",
            ),
            (
                Order::Cyclic,
                "0 1 1 0",
                "some neighbours are on one socket",
            ),
            (Order::Cyclic, "0 0 0", "all tasks are on the same socket"),
            (Order::Cyclic, "0", "each task goes to the next socket"),
            (
                Order::Fcyclic,
                "0-1 0-1",
                "every task is on the same sockets",
            ),
            (Order::Fcyclic, "0 1", "in turn, also within a task"),
        ] {
            assert!(
                sentence(order, sockets).contains(says),
                "{sockets}: {}",
                sentence(order, sockets)
            );
        }
    }
}
