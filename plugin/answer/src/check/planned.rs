//! Traps that only a plan shows, on a known machine or cluster: refused jobs and requests, requests
//! that are served otherwise or not at all, and tasks that share a core. The plan is that of
//! `berth plan`, with slurmctld's choice of nodes and cores.

use berth_placement::{Level, Node, Plan, Rule, counted, either};
use berth_srun::reading::{Refused, selection};
use berth_srun::{LineOption, Own};

use super::case::Case;
use super::command::Kind;
use super::finding::Finding;
use super::place::Place;
use super::rules::openmp;
use crate::Question;
use crate::args::{SiteNodes, SrunOptions};
use crate::lines::NoAnswer;
use crate::parents::Parents;
use crate::plan::{self, PlannedStep, StepAnswer, cpus_for_gpus};

/// The request as a plan's. What was typed beside the line goes before its own words.
///
/// # Errors
/// Only the shell knows what matters, or srun refuses the line.
pub(super) fn request(case: &Case<'_>, place: &Place) -> Result<Question, StepAnswer> {
    let known = || Some((case.options()?, case.job_line()?));
    let known = known().filter(|_| case.knows(&Own::ALL.map(|own| own.name)));
    let (mut options, job) = known.ok_or_else(|| unknown(case))?;
    let beside = place.args.srun.options().iter();
    options.extend(beside.filter(|one| one.variable.is_none()).cloned());
    let args = in_job(case, place, options, job);
    let mut args = args.map_err(|why| refused(why.to_string()))?;
    let typed = &mut args.typed;
    for own in Own::ALL {
        if let Some(text) = case.has(own.name).filter(|_| typed.text(own).is_none()) {
            typed.set(own, text).map_err(refused)?;
        }
    }
    args.find_defaults(case.around.world).map_err(refused)?;
    Ok(args)
}

/// A step with these options, in a job with this line.
fn in_job(
    case: &Case<'_>,
    place: &Place,
    options: Vec<LineOption>,
    job: Option<String>,
) -> Result<Question, Refused> {
    let mut args = place.args.clone();
    args.srun = SrunOptions::read(options, case.around.release)?;
    args.site = case.around.whole.then_some(SiteNodes::Exclusive);
    args.typed.slurm = Some(case.around.release);
    args.typed.job = job;
    args.hidden.clone_from(&case.hidden);
    args.read_job(case.around.world);
    Ok(args)
}

/// A value that only the shell knows.
pub(super) fn unknown(case: &Case<'_>) -> StepAnswer {
    let mut names = case.unknown().iter();
    let name = names.find(|name| selection::concerns(name));
    let why = match name {
        Some(name) => format!("--{name} has a value that only the job knows"),
        None => "only the job knows its options".into(),
    };
    StepAnswer::NotPlanned { why }
}

fn refused(why: String) -> StepAnswer {
    StepAnswer::Refused { why }
}

/// Whether a plan refuses the step on nodes with room for nearly everything. A list of CPUs is for
/// another numbering than theirs.
pub(super) fn is_refused(case: &Case<'_>) -> bool {
    let requested = || {
        (!case.is_list()).then_some(())?;
        let own = Own::ALL.map(|own| case.has(own.name));
        let step = (case.options()?, case.job_line()?, own);
        Some(format!("{step:?}"))
    };
    let Some(key) = requested() else {
        return false;
    };
    let known = &case.around.refused;
    if let Some(known) = known.borrow().get(&key) {
        return *known;
    }
    let planned = || {
        let place = case.around.roomy()?;
        let mut args = request(case, place).ok()?;
        // These nodes stand for any, and have cores of one kind, no devices and other numbers.
        let typed = &mut args.typed;
        (typed.core_kind, typed.near, typed.cpuset) = (None, None, None);
        plan::answer(&args, &place.node).err()
    };
    let why = planned();
    let why = why.as_ref().and_then(|why| why.downcast_ref());
    let is_refused = matches!(why, Some(NoAnswer::Refused(_)));
    known.borrow_mut().insert(key, is_refused);
    is_refused
}

/// The job alone, on a known machine or cluster.
fn job_on<'a>(case: &Case<'a>) -> Option<(Question, &'a Node)> {
    let place = case.around.place.as_ref()?;
    let args = in_job(case, place, Vec::new(), case.job_line()?).ok()?;
    Some((args, &place.node))
}

/// The CPUs that the job around a step has there.
pub(super) fn job_cpus(case: &Case<'_>) -> Option<u32> {
    let (args, on) = job_on(case)?;
    plan::job_cpus(&args, on)
}

/// Why slurmctld would not start a job there.
pub(super) fn job_refused(case: &Case<'_>) -> Option<Finding> {
    let (args, on) = job_on(case)?;
    let why = plan::job_refused(&args, on)?;
    Some(case.warning("refused", why, "the job does not start there"))
}

/// Why a batch script that starts no step does not run there. A step has its own finding.
pub(super) fn script_refused(case: &Case<'_>) -> Option<Finding> {
    if case
        .script
        .commands
        .iter()
        .any(|one| one.kind == Kind::Srun)
    {
        return None;
    }
    let (mut args, on) = job_on(case)?;
    args.typed.only_job = true;
    args.find_defaults(case.around.world).ok()?;
    let why = plan::answer(&args, on).err()?;
    match why.downcast().map(|why| *why) {
        Ok(NoAnswer::Refused(why)) => {
            Some(case.warning("refused", why, "the script does not run there"))
        }
        _ => None,
    }
}

/// The findings from the plan on a known machine or cluster.
pub(super) fn on_machine(case: &Case<'_>) -> Vec<Finding> {
    let place = case.around.place.as_ref();
    let requested = place.and_then(|place| Some((request(case, place).ok()?, &place.node)));
    // How many CPUs a job has for its GPUs is slurmctld's answer, which no plan has.
    let requested = requested.filter(|(args, _)| cpus_for_gpus(args).is_none());
    let Some((mut args, on)) = requested else {
        return Vec::new();
    };
    // The numbers of a job's CPUs on a shared node are not known: the job is judged without the list, which has taken any
    // hint away.
    let is_unknown = case.is_list() && !case.is_whole();
    if is_unknown {
        let others = args.srun.options().iter();
        let others = others.filter(|one| one.name != "cpu-bind").cloned();
        let unbound = LineOption::typed("cpu-bind", Some("none".into()));
        let options = others.chain([unbound]).collect();
        match SrunOptions::read(options, case.around.release) {
            Ok(srun) => args.srun = srun,
            Err(_) => return Vec::new(),
        }
    }
    let step = match plan::answer_of_line(&args, on).map_err(|why| why.downcast()) {
        Ok(step) if !is_unknown => step,
        Err(Ok(why)) => return without_plan(case, *why),
        _ => return Vec::new(),
    };
    let planned = Planned {
        case,
        args,
        on,
        step,
    };
    let all = [
        Planned::unbound,
        Planned::more_threads_than_cpus,
        Planned::more_tasks_than_cores,
        Planned::shared_core,
        Planned::noted,
        Planned::mapped_together,
    ];
    let wrong = all.iter().find_map(|one| one(&planned)).into_iter();
    wrong.chain(planned.neighbours_apart()).collect()
}

/// The finding where there is no plan.
fn without_plan(case: &Case<'_>, why: NoAnswer) -> Vec<Finding> {
    let text = why.to_string();
    match why {
        NoAnswer::NotModelled(_) => {
            let reason = "berth plan has no answer for this step, so its place was not checked";
            vec![case.hint("not-planned", text, reason)]
        }
        // The submitting command refuses what it cannot use.
        NoAnswer::Refused(_) | NoAnswer::Usage(_) => {
            let finding = case.warning("refused", text, "the step does not run there");
            vec![finding.or(case.bind_to("cores"))]
        }
        _ => Vec::new(),
    }
}

/// A step with its plan.
struct Planned<'a> {
    case: &'a Case<'a>,
    args: Question,
    on: &'a Node,
    step: PlannedStep,
}

impl Planned<'_> {
    /// Nothing is asked for and no level fits, so srun's tasks stay where the kernel puts them.
    fn unbound(&self) -> Option<Finding> {
        let fits_nothing = |plan: &Plan| plan.decision.rule == Rule::NoMatch;
        let mut plans = self.step.plans();
        plans.find(|(_, plan)| fits_nothing(plan))?;
        let tasks = self.step.tasks;
        let finding = self.case.warning(
            "nothing-bound",
            format!(
                "{} {} neither the threads, nor the cores, nor the sockets of the step",
                counted(tasks, "task"),
                either(&tasks, "fits", "fit")
            ),
            "srun binds by itself only if tasks × CPUs per task match one of the three exactly; \
             here every task may run on all CPUs of the step",
        );
        // A task that has everything loses nothing.
        if tasks == self.step.node_count() {
            return Some(finding.hint_if(true));
        }
        let threads = openmp::threads_of_level(self.case);
        let threads = threads.and_then(|threads| openmp::more_cpus(self.case, threads));
        let cores = finding.or(threads).or(self.case.bind_to("cores"));
        Some(cores.or(self.case.bind_to("threads")))
    }

    /// OpenMP's threads on a whole node, where the level gives a task fewer CPUs.
    fn more_threads_than_cpus(&self) -> Option<Finding> {
        let threads = openmp::threads_of_level(self.case)?;
        let bound = self.step.plans().filter(|(_, plan)| plan.is_bound());
        let tasks = bound.flat_map(|(_, plan)| &plan.tasks);
        let fewest = tasks.map(|task| task.cpus.count()).min()?;
        (fewest < threads as usize).then(|| {
            let finding = self.case.warning(
                "openmp-threads",
                format!("OMP_NUM_THREADS={threads}, and a task is bound to {}", counted(fewest, "CPU")),
                "without -c a task has what the level gives, and its threads share that; -c gives each a CPU",
            );
            finding.or(openmp::more_cpus(self.case, threads))
        })
    }

    /// Without a level, tasks on hardware threads of one core are what srun always gives; they count only
    /// where whole nodes have too few cores.
    fn more_tasks_than_cores(&self) -> Option<Finding> {
        let (case, bind, step) = (self.case, &self.args.srun.cpu_bind, &self.step);
        let is_by_core = bind.level == Some(Level::Cores);
        let cores = match is_by_core {
            true => step.core_count(),
            false => step.core_count_of_nodes(self.on),
        };
        let by_thread = bind.level == Some(Level::Threads) && !bind.one_thread;
        let wants_threads = by_thread || self.args.srun.overcommit;
        (step.tasks as usize > cores && step.is_bound() && !wants_threads).then(|| {
            let finding = case.warning(
                "more-tasks-than-cores",
                format!("{} tasks on {}", step.tasks, counted(cores, "core")),
                "some tasks share a core; each has one hardware thread of it, or all of them; with \
             --cpu-bind=threads each has one",
            );
            finding.or(case.bind_to("threads"))
        })
    }

    fn shared_core(&self) -> Option<Finding> {
        let case = self.case;
        let (one, other, core) = case
            .is_list()
            .then(|| on_one_core(self.on, &self.step))
            .flatten()?;
        let finding = case.warning(
        "list-on-one-core",
        format!("tasks {one} and {other} are on hardware threads of one core ({core})"),
        "the list assumes another numbering of the CPUs (berth topo shows it); --cpu-bind=cores needs \
         no numbers",
    );
        // slurm.conf does not say how its nodes number their CPUs.
        let is_made = |one: &crate::plan::Planned| one.part.on.is_some();
        let is_guessed = self.args.numbering.is_none() && self.step.plans.iter().any(is_made);
        Some(finding.hint_if(is_guessed).or(case.bind_to("cores")))
    }

    fn noted(&self) -> Option<Finding> {
        let note = self.step.plans().flat_map(|(_, plan)| &plan.notes).next()?;
        Some(self.case.warning(
            "not-as-asked",
            note.to_string(),
            "the step runs there, but not as requested",
        ))
    }

    /// Mapped tasks that share an object, where more CPUs for each would spread them.
    fn mapped_together(&self) -> Option<Finding> {
        let mut plans = self.step.plans();
        plans.find(|(_, plan)| matches!(plan.decision.rule, Rule::Mapped(_)))?;
        let text = plan::shared(self.step.answered(&self.args, self.on))?;
        let reason = "a mapping goes round the objects of the step's own CPUs; more CPUs for each task give it more objects";
        Some(self.case.hint("mapped-together", text, reason))
    }

    /// Neighbours on different sockets, where the other order would place them otherwise.
    fn neighbours_apart(&self) -> Option<Finding> {
        let (case, args, step) = (self.case, &self.args, &self.step);
        let gpus = ["gpus", "gpus-per-node", "gpus-per-task", "gpus-per-socket"];
        let gres = case.has("gres").or(case.job_option("gres").flatten());
        let with_devices = case.has_one_of(&gpus) || gres.is_some_and(|gres| gres.contains("gpu"));
        let matters = with_devices || case.cpus_per_task().is_some_and(|cpus| cpus > 1);
        let levels = case.has("distribution").unwrap_or_default();
        let decided =
            levels.contains(':') || levels.starts_with("plane") || levels.starts_with("arbitrary");
        if decided || !matters || !step.is_bound() {
            return None;
        }
        let mut other = args.clone();
        let nodes = levels.split(',').next().filter(|nodes| !nodes.is_empty());
        let order = format!("{}:block", nodes.unwrap_or("block"));
        other.srun = args.srun.with(&[("distribution", Some(&order))]).ok()?;
        let blocks = plan::answer(&other, self.on).ok()?;
        let places = |step: &PlannedStep| -> Vec<_> {
            step.tasks().map(|task| task.plan().cpus.clone()).collect()
        };
        (places(&blocks) != places(step)).then(|| {
        case.hint(
            "cyclic-default",
            "-m does not order the sockets".into(),
            "by default the next task goes to the next socket, so neighbours are apart; -m block:block \
             keeps them together, -m block:cyclic says that it is meant",
        )
    })
    }
}

/// Two tasks of a node that have CPUs of their own but share a core.
fn on_one_core(host: &Node, step: &PlannedStep) -> Option<(usize, usize, u32)> {
    let planned = step.planned_on(0);
    let on = planned.on(host);
    let parents = Parents::new(on.machine()?, on.socket());
    let tasks = &planned.plan.tasks;
    let pairs = (0..tasks.len()).flat_map(|one| (0..one).map(move |other| (other, one)));
    for (one, other) in pairs {
        let (first, second) = (&tasks[one].cpus, &tasks[other].cpus);
        let mut both = parents.cores_of(first).filter(|place| {
            let cpus = parents.cpus_of(place.id);
            cpus.iter().any(|cpu| second.contains(*cpu))
        });
        if !first.intersects(second)
            && let Some(core) = both.next()
        {
            return Some((one, other, core.id.0));
        }
    }
    None
}
