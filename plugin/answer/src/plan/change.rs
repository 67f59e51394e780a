//! Options that would change a plan: added to the request, planned again, and kept only if
//! the new plan differs in the way that is said.

use berth_placement::request::distribution::AcrossHosts;
use berth_placement::{CpuSet, Level, Node, Order, Request, Rule, TaskPlan, either};
use berth_srun::options::{Choice, Own};
use derive_more::Display;
use serde::Serialize;

use super::step;
use super::step::{Answered, Planned, PlannedStep};
use crate::Question;

/// More tasks than anybody reads an explanation of are not planned a second time.
const MOST_TASKS: u32 = 1 << 14;

/// A change that was tried.
#[derive(Clone, Debug, Display, PartialEq, Eq, Serialize)]
#[display("{options} {effect}")]
pub struct Change {
    /// The options to add, `--cpu-bind=cores`.
    pub options: String,
    /// Their effect.
    pub effect: Effect,
}

/// The difference between the plans, as it is checked.
#[derive(Clone, Copy, Debug, Display, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// More pairs of neighbouring tasks have a socket in common.
    #[display("puts more neighbouring tasks on one socket")]
    CloseNeighbours,
    /// Fewer pairs have.
    #[display("puts fewer neighbouring tasks on one socket")]
    SpreadNeighbours,
    /// No task has two hardware threads of a core, as some have now.
    #[display("gives each task a core for each of its CPUs, with one hardware thread of it")]
    OneThread,
    /// Every task has as many CPUs as it requests, as not all have now.
    #[display("gives each task exactly the CPUs that it requests")]
    AsRequested,
    /// Every task has all of the step's threads of its cores, as not all have now.
    #[display("gives each task whole cores")]
    WholeCores,
    /// No two tasks share a CPU, as some do now.
    #[display("gives each task CPUs that no other task has")]
    OwnCpus,
    /// A level is chosen, where none is now.
    #[display("binds each task to a part of the step's CPUs")]
    Level,
    /// The `--binding` is served.
    #[display("can be served")]
    Served,
}

/// One option, by its long name.
type Added = (&'static str, Option<String>);

/// The changes that do what they say.
pub(crate) fn changes(of: Answered<'_>) -> Vec<Change> {
    let (args, on, now) = (of.args, of.on, of.step);
    // An mpirun does not take srun's options.
    if now.tasks > MOST_TASKS || args.for_mpirun.is_some() {
        return Vec::new();
    }
    let mut found: Vec<Change> = Vec::new();
    for (added, effects) in candidates(of) {
        let Some(changed) = with(args, &added) else {
            continue;
        };
        let Ok(then) = step(&changed, on) else {
            continue;
        };
        let holds = |effect: &&Effect| has_effect(**effect, on, now, &then);
        if let Some(effect) = effects.iter().find(holds) {
            let options: Vec<_> = added
                .iter()
                .map(|(name, value)| spelled(name, value.as_deref()))
                .collect();
            found.push(Change {
                options: options.join(" "),
                effect: *effect,
            });
        }
    }
    found
}

/// The note if tasks share CPUs although each could have its own, and nobody asked for that: with the
/// option that cures it.
pub(crate) fn shared(of: Answered<'_>) -> Option<String> {
    let (args, now) = (of.args, of.step);
    let is_meant = !args.srun.cpu_bind.asks_nothing() || args.srun.overcommit;
    let is_alone = now.plans.iter().all(|one| one.plan.tasks.len() < 2);
    if is_meant || is_alone || now.job.is_some() || is_disjoint(now) {
        return None;
    }
    let mut cures = changes(of).into_iter();
    let cure = cures.find(|one| one.effect == Effect::OwnCpus)?;
    let sharing = now.plans.iter().filter(|one| !has_own_cpus(one));
    let most = sharing.max_by_key(|one| one.plan.tasks.len())?;
    let tasks = most.plan.tasks.len();
    let here = either(&now.node_count(), "", " on a node");
    let needed = tasks as u64 * u64::from(most.request.cpus_per_task);
    let although = match needed <= u64::from(most.plan.decision.owned.threads) {
        true => ", although there are enough for each",
        false => "",
    };
    Some(format!(
        "{tasks} tasks{here} share CPUs of the step{although}; {cure}"
    ))
}

/// The option as it is typed.
fn spelled(name: &str, value: Option<&str>) -> String {
    match (name, value) {
        ("distribution", Some(value)) => format!("-m {value}"),
        ("cpus-per-task", Some(value)) => format!("-c {value}"),
        ("ntasks", Some(value)) => format!("-n {value}"),
        (name, Some(value)) => format!("--{name}={value}"),
        (name, None) => format!("--{name}"),
    }
}

/// The request with more options behind its own.
fn with(args: &Question, added: &[Added]) -> Option<Question> {
    let mut changed = args.clone();
    let mut others = Vec::new();
    for (name, value) in added {
        match (Own::named(name), value) {
            (Some(own), Some(text)) => {
                // It takes the place of a whole mapping.
                let mapping = &mut changed.typed.mapping;
                mapping.take_if(|_| own.choice == Choice::Mapping);
                changed.typed.set(own, text).ok()?;
            }
            _ => others.push((*name, value.as_deref())),
        }
    }
    changed.srun = args.srun.with(&others).ok()?;
    // slurmd refuses a cpuset whose list is too short.
    changed.merged_cpuset().ok()?;
    Some(changed)
}

/// Options that may be worth a try, with the effects that they may have, the best first.
type Candidate = (Vec<Added>, Vec<Effect>);

/// The candidates for the rule that decided.
fn candidates(of: Answered<'_>) -> Vec<Candidate> {
    let (args, on, now) = (of.args, of.on, of.step);
    let Some(first) = now.plans.first() else {
        return Vec::new();
    };
    let own = || vec![Effect::OwnCpus, Effect::Level];
    let levels = || ["cores", "threads"].map(|level| (bind(level), own()));
    match &first.plan.decision.rule {
        Rule::Level { level, order, .. } => {
            let mut all: Vec<_> = other_order(args, *order).into_iter().collect();
            all.extend(other_level(*level, &first.request));
            all
        }
        Rule::NoMatch => {
            let fill = filling(first, on).map(|each| (cpus(each), own()));
            levels().into_iter().chain(fill).collect()
        }
        Rule::Unbound { .. } | Rule::Asked(_) => levels().into(),
        Rule::Mapped(_) => {
            let widest = widest(first, on).map(|each| (cpus(each), vec![Effect::OwnCpus]));
            widest.into_iter().collect()
        }
        Rule::Overcommit | Rule::CgroupTooSmall | Rule::TooManyReserved => {
            fewer(first, now).map(|added| (added, own())).collect()
        }
        Rule::BindingFailed => {
            let most = first.plan.decision.owned.cores / first.part.tasks.max(1);
            let amount = Some(format!("linear:{most}"));
            let binding = (vec![("binding", amount)], vec![Effect::Served]);
            (most > 0).then_some(binding).into_iter().collect()
        }
        _ => Vec::new(),
    }
}

fn bind(level: &str) -> Vec<Added> {
    vec![("cpu-bind", Some(level.into()))]
}

fn cpus(each: u32) -> Vec<Added> {
    vec![("cpus-per-task", Some(each.to_string()))]
}

fn other_level(level: Level, request: &Request) -> Vec<Candidate> {
    let few_threads = request.cpu_bind.one_thread || request.threads_per_core.is_some();
    match level {
        // Whole cores would take the wish for few threads of each away.
        Level::Threads if few_threads => Vec::new(),
        Level::Cores => {
            let hint = vec![("hint", Some("nomultithread".into()))];
            let hint = (hint, vec![Effect::OneThread]);
            vec![hint, (bind("threads"), vec![Effect::AsRequested])]
        }
        Level::Threads => vec![(bind("cores"), vec![Effect::WholeCores])],
        Level::Sockets | Level::Ldoms => {
            vec![(bind("cores"), vec![Effect::OwnCpus, Effect::AsRequested])]
        }
    }
}

/// Options for as many tasks as the CPUs are enough for, and for one CPU per task.
fn fewer(planned: &Planned, now: &PlannedStep) -> impl Iterator<Item = Vec<Added>> {
    let each = planned.request.cpus_per_task.max(1);
    let tasks = (planned.plan.decision.owned.threads / each) * now.node_count();
    let fewer = tasks > 0 && tasks < now.tasks;
    let tasks = fewer.then(|| vec![("ntasks", Some(tasks.to_string()))]);
    tasks.into_iter().chain((each > 1).then(|| cpus(1)))
}

/// The other order over the sockets, with the nodes in the order that is requested.
fn other_order(args: &Question, order: Order) -> Option<Candidate> {
    let requested = args.srun.distribution.unwrap_or_default();
    let hosts = match requested.hosts {
        AcrossHosts::Cyclic => "cyclic",
        AcrossHosts::Plane | AcrossHosts::Arbitrary => return None,
        _ => "block",
    };
    let (sockets, effect) = match order {
        Order::Block => ("cyclic", Effect::SpreadNeighbours),
        Order::Cyclic | Order::Fcyclic => ("block", Effect::CloseNeighbours),
    };
    let value = Some(format!("{hosts}:{sockets}"));
    Some((vec![("distribution", value)], vec![effect]))
}

/// The `-c` with which the tasks of a node fill its step's CPUs.
fn filling(planned: &Planned, on: &Node) -> Option<u32> {
    let owned = planned.plan.decision.owned.threads;
    let single = planned.request.cpu_bind.one_thread || planned.on(on).counts_cores();
    let each = owned / planned.part.tasks.max(1);
    let fills =
        !single && each > planned.request.cpus_per_task && each * planned.part.tasks == owned;
    fills.then_some(each)
}

/// The `-c` with which the tasks of a node get all of its CPUs.
fn widest(planned: &Planned, on: &Node) -> Option<u32> {
    let each = planned.on(on).table().len() as u32 / planned.part.tasks.max(1);
    (each > planned.request.cpus_per_task).then_some(each)
}

/// Whether the new plan differs in the way that is said.
fn has_effect(effect: Effect, on: &Node, now: &PlannedStep, then: &PlannedStep) -> bool {
    let every = |step: &PlannedStep, holds: &dyn Fn(&Planned, &TaskPlan) -> bool| {
        let mut planned = step.plans.iter();
        planned.all(|one| one.plan.tasks.iter().all(|task| holds(one, task)))
    };
    let turns = |holds: &dyn Fn(&Planned, &TaskPlan) -> bool| {
        then.is_bound() && !every(now, holds) && every(then, holds)
    };
    match effect {
        Effect::CloseNeighbours => neighbours(on, then) > neighbours(on, now),
        Effect::SpreadNeighbours => neighbours(on, then) < neighbours(on, now),
        Effect::OneThread => {
            turns(&|one, task| threads_of_cores(one.on(on), &task.cpus).all(|(has, _)| has <= 1))
        }
        Effect::AsRequested => turns(&|one, task| {
            let requested = one.request.cpus_per_task;
            one.plan.decision.cpus_per_task == requested && task.cpus.count() as u32 == requested
        }),
        Effect::WholeCores => {
            turns(&|one, task| threads_of_cores(one.on(on), &task.cpus).all(|(has, of)| has == of))
        }
        Effect::OwnCpus => then.is_bound() && !is_disjoint(now) && is_disjoint(then),
        Effect::Level => {
            let has_level = |step: &PlannedStep| {
                let mut rules = step.plans().map(|(_, plan)| &plan.decision.rule);
                rules.all(|rule| matches!(rule, Rule::Level { .. }))
            };
            let narrow = |one: &Planned, task: &TaskPlan| task.cpus != one.plan.decision.own;
            then.is_bound() && !has_level(now) && has_level(then) && every(then, &narrow)
        }
        Effect::Served => {
            let mut rules = then.plans().map(|(_, plan)| &plan.decision.rule);
            rules.all(|rule| matches!(rule, Rule::Binding(_)))
        }
    }
}

/// How many of each touched core's hardware threads a task has, and how many the core has.
fn threads_of_cores<'a>(
    on: &'a Node,
    cpus: &'a CpuSet,
) -> impl Iterator<Item = (usize, usize)> + 'a {
    let cores = on.table().cores.iter();
    let counts = cores.map(|core| {
        let has = core.iter().filter_map(|pu| on.table().cpu(*pu));
        (has.filter(|cpu| cpus.contains(*cpu)).count(), core.len())
    });
    counts.filter(|(has, _)| *has > 0)
}

/// Whether no two tasks of a node share a CPU.
fn is_disjoint(step: &PlannedStep) -> bool {
    step.plans.iter().all(has_own_cpus)
}

/// Whether no two tasks of this node share a CPU.
fn has_own_cpus(one: &Planned) -> bool {
    let mut seen = CpuSet::new();
    one.plan.is_bound()
        && one.plan.tasks.iter().all(|task| {
            let is_new = !seen.intersects(&task.cpus);
            task.cpus.iter().for_each(|cpu| seen.insert(cpu));
            is_new
        })
}

/// How many pairs of neighbouring tasks of a node have a socket in common, over all nodes.
fn neighbours(on: &Node, step: &PlannedStep) -> usize {
    let of_node = |node: u32| {
        let planned = step.planned_on(node);
        let on = planned.on(on);
        let sockets = on.table().sockets.iter();
        let sockets: Vec<CpuSet> = sockets
            .map(|pus| on.table().cpus(pus.iter().copied()))
            .collect();
        let pairs = planned.plan.tasks.windows(2);
        let common = |pair: &&[TaskPlan]| {
            let on_both = |socket: &CpuSet| pair.iter().all(|task| task.cpus.intersects(socket));
            sockets.iter().any(on_both)
        };
        pairs.filter(common).count()
    };
    (0..step.node_count()).map(of_node).sum()
}
