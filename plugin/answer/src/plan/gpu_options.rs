//! Slurm's own GPU options: how many GPUs the step has on a node, and which of them each task sees.
//! In: the request's options, and those of the job around it. Out: each task's GPUs, and notes.

use berth_placement::request::gres_bind::{GpuBind, Reading, gpu_bind};
use berth_placement::request::gres_closest::GpuTasks;
use berth_placement::{CpuSet, Gres, Mode, Node, counted};
use berth_srun::reading::gpu_counts::GpuCounts;
use berth_srun::reading::per_task;
use berth_srun::{LineOption, Release};

use super::owns::uses_controller;
use super::step::{Answered, Planned};
use crate::parents::gpus;
use crate::{Question, text};

/// The options that say which GPUs a step has, and how tasks see them.
const OPTIONS: &[&str] = &[
    "gpus",
    "gpus-per-node",
    "gpus-per-socket",
    "gpus-per-task",
    "tres-per-task",
    "gres",
    "gpu-bind",
    "tres-bind",
    "ntasks-per-gpu",
];

/// The options by which slurmctld gives other cores or tasks for the GPUs, in ways that are not modelled.
const FOR_GPUS: &[&str] = &[
    "gres-flags",
    "mem-per-gpu",
    "ntasks-per-gpu",
    "ntasks-per-tres",
    "tres-per-task",
];

/// The option, or the default of the partition, by which slurmctld gives the job CPUs for each of its GPUs. The model does
/// not count those CPUs.
pub(crate) fn cpus_for_gpus(args: &Question) -> Option<String> {
    let typed = Options::named(args, &["cpus-per-gpu"]);
    if !typed.0.is_empty() {
        return Some(typed.shown());
    }
    let config = args.known_config()?;
    let count = config.cpus_per_gpu(args.partition().as_deref())?;
    let has_gpus = !Options::of(args).0.is_empty();
    has_gpus.then(|| format!("DefCpuPerGPU={count} of slurm.conf"))
}

/// The options as they were given.
struct Options(Vec<(&'static str, String)>);

impl Options {
    /// Those of the request; its job passes the others on.
    fn named<'a>(args: &'a Question, names: &[&'static str]) -> Self {
        let value = |name: &'static str| {
            let last = |all: &'a [LineOption]| all.iter().rfind(|one| one.name == name);
            let own = last(args.srun.options());
            let found = own.or_else(|| last(&args.job()?.options))?;
            Some((name, found.value.clone().unwrap_or_default()))
        };
        Self(names.iter().copied().filter_map(value).collect())
    }

    /// Those that give the step GPUs.
    fn of(args: &Question) -> Self {
        let Self(mut all) = Self::named(args, OPTIONS);
        let has_list = |name: &str| ["gres", "tres-per-task"].contains(&name);
        all.retain(|(name, value)| !has_list(name) || gpus_of_gres(value).is_some());
        Self(all)
    }

    fn value(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// As they were typed, for a note.
    fn shown(&self) -> String {
        let shown = |(name, value): &(&str, String)| format!("--{name}={}", text::short(value));
        self.0.iter().map(shown).collect::<Vec<_>>().join(", ")
    }

    /// The step's GPUs on a node; `None` if slurmctld chooses how many.
    fn count(&self, nodes: u32, planned: &Planned, on: &Node) -> Option<u32> {
        let number = |name| self.value(name).map(number);
        let on_node = number("gpus-per-node").or_else(|| gpus_of_gres(self.value("gres")?));
        let by_task = || Some(self.of_task()?.saturating_mul(planned.part.tasks));
        let by_socket = || Some(number("gpus-per-socket")?.saturating_mul(on.shape().sockets));
        match on_node.or_else(by_task).or_else(by_socket) {
            Some(count) => Some(count),
            None if nodes > 1 && self.value("gpus").is_some() => None,
            None => Some(number("gpus").unwrap_or_else(|| places(on).len() as u32)),
        }
    }

    /// The GPUs of a task.
    fn of_task(&self) -> Option<u32> {
        let typed = self.value("gpus-per-task").map(number);
        typed.or_else(|| gpus_of_gres(self.value("tres-per-task")?))
    }

    /// Whether each node must have the count, and no other node may have a part of it.
    fn is_of_node(&self, args: &Question) -> bool {
        let names = ["gpus-per-node", "gres", "gpus-per-socket"];
        args.srun.nodes.is_some() || names.iter().any(|name| self.value(name).is_some())
    }

    /// `--tres-bind` as srun makes it of the options.
    fn bind(&self, release: Release) -> String {
        let name = match release >= Release::V23_11 {
            true => "gres/gpu:",
            false => "gpu:",
        };
        let typed = self.value("tres-bind").map(String::from);
        let gpu = || Some(format!("{name}{}", self.value("gpu-bind")?));
        let single = || {
            let count = number(self.value("ntasks-per-gpu")?);
            Some(format!("{name}single:{count}"))
        };
        let found = typed.or_else(gpu);
        let per_task = || Some(format!("{name}per_task:{}", self.of_task()?));
        let found = found.or_else(per_task);
        let found = found.or_else(single);
        found.unwrap_or_default()
    }
}

/// A count behind a type, as in `a100:2`; a type alone is one.
fn number(value: &str) -> u32 {
    let one = |part: &str| {
        let last = part.rsplit(':').next().unwrap_or_default();
        last.parse().unwrap_or(1)
    };
    value.split(',').map(one).fold(0, u32::saturating_add)
}

/// The GPUs of `--gres`; none if it names none.
fn gpus_of_gres(value: &str) -> Option<u32> {
    let gpus = value.split(',').filter(|part| {
        let name = part.trim_start_matches("gres:");
        let name = name.trim_start_matches("gres/");
        name.split([':', '=']).next() == Some("gpu")
    });
    let gpus: Vec<_> = gpus.collect();
    (!gpus.is_empty()).then(|| number(&gpus.join(",").replace('=', ":")))
}

/// The most tasks that a node's GPUs allow; `None` where they are not known, or no task asks for one.
pub(super) fn most_tasks(args: &Question, on: &Node) -> Option<u32> {
    let of_task = Options::of(args).of_task().filter(|count| *count > 0)?;
    let has = places(on).len() as u32;
    (has >= of_task).then_some(has / of_task)
}

/// The CPUs next to each GPU of a node.
fn places(on: &Node) -> Vec<CpuSet> {
    let all = on.machine().into_iter().flat_map(gpus);
    all.map(|gpu| gpu.cpus.clone()).collect()
}

fn reading(release: Release) -> Reading {
    match release {
        Release::V22_05 => Reading::First,
        Release::V23_02 => Reading::Slots,
        _ => Reading::Named,
    }
}

/// The GPUs that each task of a node sees, by local id; empty where nobody asks for GPUs, or where they
/// are not known.
pub(super) fn visible_gpus(of: Answered<'_>, planned: &Planned) -> Vec<Vec<u32>> {
    let Answered { args, step, .. } = of;
    let on = planned.on(of.on);
    let options = Options::of(args);
    let near = places(on);
    let count = options.count(step.node_count(), planned, on);
    let Some(count) = count.filter(|count| *count as usize <= near.len()) else {
        return Vec::new();
    };
    let release = args.srun.release;
    let text = options.bind(release);
    let bind = gpu_bind(&text, reading(release));
    let (Some(bind), false) = (bind, options.0.is_empty() || count == 0) else {
        return Vec::new();
    };
    let gres = Gres {
        on_node: near.len() as u32,
        step: (0..count).collect(),
        tasks: Vec::new(),
    };
    let cpus: Vec<_> = planned.plan.tasks.iter().map(|task| &task.cpus).collect();
    let tasks = GpuTasks {
        bind: &bind,
        closest: bind == GpuBind::Open && text.contains("closest"),
        gres: &gres,
        near: &near,
        tasks: &cpus,
    };
    tasks.visible().unwrap_or_default()
}

/// The GPUs that the node with the most tasks gives the step, if that is known, and those that it has.
fn on_fullest_node(of: Answered<'_>, options: &Options) -> Option<(Option<u32>, u32)> {
    let plans = of.step.plans.iter();
    let planned = plans.max_by_key(|planned| planned.part.tasks)?;
    let on = planned.on(of.on);
    let count = options.count(of.step.node_count(), planned, on);
    Some((count, places(on).len() as u32))
}

/// Why the job does not start: a node would have more GPUs than it has.
pub(super) fn refused(of: Answered<'_>) -> Option<String> {
    let (args, options) = (of.args, Options::of(of.args));
    let (count, has) = on_fullest_node(of, &options)?;
    let count = count?;
    if has == 0 || count <= has {
        return None;
    }
    let found = format!(
        "{}: {} on a node that has {has}",
        options.shown(),
        counted(count, "GPU")
    );
    let of_one = options.is_of_node(args) || options.of_task().is_some_and(|of_task| of_task > has);
    Some(match of_one {
        true => format!(
            "slurmctld refuses the job: \"Requested node configuration is not available\"; {found}"
        ),
        false => format!(
            "the job waits for more nodes; {found}; plan on several with -N {}",
            count.div_ceil(has)
        ),
    })
}

/// The options that a plan leaves out.
pub(super) fn notes(of: Answered<'_>) -> Vec<String> {
    let mut without = Options::named(of.args, FOR_GPUS);
    let release = of.args.srun.release;
    // The plan has these CPUs.
    without
        .0
        .retain(|(name, list)| *name != "tres-per-task" || !per_task::has_only_cpus(list, release));
    let by_cpus = cpus_for_gpus(of.args).filter(|_| uses_controller(of.args));
    let others = Some(without.shown()).filter(|shown| !shown.is_empty());
    let without: Vec<_> = by_cpus.into_iter().chain(others).collect();
    let without = (!without.is_empty()).then(|| {
        let shown = without.join(", ");
        format!("{shown}: slurmctld may give other cores or tasks for the GPUs, which the plan does not model")
    });
    let notes = note(of).into_iter().chain(without);
    notes.chain(fewer_tasks(of)).collect()
}

/// srun makes a job for the tasks that its GPUs imply, and starts one task on each node: it does not look at what
/// `_test_gres_cnt` has counted (`_set_ntasks`).
fn fewer_tasks(of: Answered<'_>) -> Option<String> {
    let (args, step) = (of.args, of.step);
    let is_own = uses_controller(args) && args.job.is_none() && args.context.job.is_none();
    let implied = GpuCounts::of(args.srun.options()).tasks()?;
    let fewer = is_own && args.srun.ntasks.is_none() && step.tasks < implied;
    fewer.then(|| {
        format!(
            "the job is one for {}, as its GPUs imply, and srun without -n starts {}; add -n{implied}",
            counted(implied, "task"),
            step.tasks
        )
    })
}

/// Why a list of CPUs that names others than those of the plan may be right: slurmctld chooses cores next to GPUs.
pub(super) fn other_cores(args: &Question) -> Option<String> {
    let is_list = matches!(
        args.srun.cpu_bind.mode,
        Some(Mode::MapCpu(_) | Mode::MaskCpu(_))
    );
    let options = Options::of(args);
    let may_be = is_list && uses_controller(args) && !options.0.is_empty();
    may_be.then(|| {
        format!(
            "{}: slurmctld may choose other cores, next to the GPUs",
            options.shown()
        )
    })
}

/// The source of a plan's GPUs, or why it has none.
fn note(of: Answered<'_>) -> Option<String> {
    let (args, options) = (of.args, Options::of(of.args));
    let (count, has) = on_fullest_node(of, &options)?;
    if options.0.is_empty() {
        return None;
    }
    let shown = options.shown();
    let release = args.srun.release;
    let cores = match uses_controller(args) {
        true => "; slurmctld may choose other cores, next to the GPUs",
        false => "",
    };
    Some(match count {
        _ if has == 0 => format!(
            "{shown}: the GPUs of this machine are not known, so the plan does not show them{cores}; plan on \
             a machine with GPUs, such as --machine lumi-g"
        ),
        None => format!(
            "{shown}: slurmctld chooses how many GPUs each node gives, so the plan does not show them{cores}"
        ),
        _ if gpu_bind(&options.bind(release), reading(release)).is_none() => {
            format!(
                "{shown}: this binding of GPUs is not modelled, so the plan does not show them{cores}"
            )
        }
        Some(count) if count < has => format!(
            "{shown}: the GPUs are the first {count} of the node's {has}, and gres.conf is assumed to have \
             the CPUs next to each{cores}"
        ),
        Some(_) => {
            format!("{shown}: gres.conf is assumed to have the CPUs next to each GPU{cores}")
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_gpus() {
        for (text, count) in [("2", 2), ("a100:2", 2), ("a100", 1), ("a100:2,v100:1", 3)] {
            assert_eq!(number(text), count, "{text}");
        }
        for (text, count) in [
            ("gpu", Some(1)),
            ("gpu:4", Some(4)),
            ("gpu:a100:2,nvme:1", Some(2)),
            ("gres/gpu=3", Some(3)),
            ("nvme:1", None),
            ("none", None),
        ] {
            assert_eq!(gpus_of_gres(text), count, "{text}");
        }
    }
}
