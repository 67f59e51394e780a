//! One line: the request with some options more, planned by the code of `berth plan`, and checked as the
//! submitting command checks it.

use berth_placement::sets::count::counted;

use berth_placement::{CpuSet, Node, Rule};
use berth_srun::options::Own;

use super::devices::Devices;
use super::figures::Figures;
use crate::args::PlanArgs;
use crate::lines::{NOT_MODELLED, NoAnswer, Unusable};
use crate::plan::{self, Added, Answer, PlannedStep, spelled, typed_with};
use crate::question::Question;

use crate::Unreadable;
use crate::world::World;

/// A line that runs.
pub(super) struct Tried {
    /// As it is typed.
    pub line: String,
    pub args: Question,
    pub step: PlannedStep,
    pub figures: Figures,
    pub notes: Vec<String>,
    /// What must hold for the figures of its devices, in words.
    pub condition: Option<String>,
}

/// A request with what all lines of it have in common.
pub(super) struct Request<'a> {
    /// The options that stay, as they were typed.
    pub typed: &'a PlanArgs,
    /// The question without more options.
    pub bare: &'a Question,
    pub on: &'a Node,
    pub devices: Option<&'a Devices>,
    pub world: &'a dyn World,
}

impl Request<'_> {
    /// Plans the request with more options.
    ///
    /// # Errors
    /// [`NoAnswer`].
    pub(super) fn planned(&self, added: &[Added]) -> Result<(Question, PlannedStep), NoAnswer> {
        let refused = || NoAnswer::Refused("srun refuses these options together".into());
        let typed = typed_with(self.typed, added).ok_or_else(refused)?;
        let args = Question::of(typed, self.world).map_err(NoAnswer::Usage)?;
        let answer = plan::answer_of_line(&args, self.on).map_err(|why| {
            match why.is::<Unusable>() || why.is::<Unreadable>() {
                true => NoAnswer::Usage(why.to_string()),
                false => NoAnswer::Refused(why.to_string()),
            }
        })?;
        match answer {
            Answer::Planned(step) => Ok((args, *step)),
            Answer::Refused(why) => Err(match why.strip_prefix(NOT_MODELLED) {
                Some(what) => NoAnswer::NotModelled(what.into()),
                None => NoAnswer::Refused(why),
            }),
        }
    }

    /// Tries the request with more options.
    ///
    /// # Errors
    /// [`NoAnswer`].
    pub(super) fn tried(&self, added: &[Added]) -> Result<Tried, NoAnswer> {
        let (args, step) = self.planned(added)?;
        let line = line(self.typed, added);
        let notes = plan::notes(&args, self.on, &step);
        let is_served = |plan: &berth_placement::Plan| plan.decision.rule != Rule::BindingFailed;
        let asks_near = args.asked_near().is_some();
        if asks_near && !is_near(&step) || !step.plans().all(|(_, plan)| is_served(plan)) {
            return Err(NoAnswer::Refused(notes.join("; ")));
        }
        if let Some(why) = too_few(&step) {
            return Err(NoAnswer::Refused(why));
        }
        let unknown = || NoAnswer::NotModelled("figures without a machine's tree".into());
        let figures = Figures::of(&step, self.on, self.devices).ok_or_else(unknown)?;
        let condition = self.devices.filter(|_| !asks_near);
        let condition = condition.and_then(|devices| devices.condition(&step));
        Ok(Tried {
            line,
            args,
            step,
            figures,
            notes,
            condition,
        })
    }
}

/// The step's cores of a node, and the CPUs of each task there.
pub(super) type OfNode<'a> = (&'a str, Vec<&'a CpuSet>);
/// The same of each different node, and which of them each node of the step is.
pub(super) type Masks<'a> = (Vec<OfNode<'a>>, &'a [usize]);

impl Tried {
    /// What it gives to each task of each node, and which cores the step gets there.
    pub(super) fn masks(&self) -> Masks<'_> {
        let plans = self.step.planned().iter().map(|planned| {
            let cpus = planned.plan.tasks.iter().map(|task| &task.cpus);
            (&*planned.step_cores, cpus.collect())
        });
        (plans.collect(), &self.step.of_node)
    }

    /// Whether the tasks of every node are bound.
    pub(super) fn is_bound(&self) -> bool {
        self.step.plans().all(|(_, plan)| plan.is_bound())
    }

    /// Its part of the cluster in words.
    pub(super) fn allocation(&self) -> String {
        let mut facts = self.step.facts.iter();
        let found = facts.find(|fact| fact.what == "allocation");
        found.map(ToString::to_string).unwrap_or_default()
    }
}

/// Whether every node's tasks got the devices that a `--near` asks for.
pub(super) fn is_near(step: &PlannedStep) -> bool {
    step.plans().all(|(_, plan)| plan.near.is_some())
}

/// The options that stay on the line.
pub(super) fn staying(typed: &PlanArgs) -> Vec<String> {
    let words = typed.options.words().into_iter();
    let own = [Own::CoreKind, Own::Confine, Own::Pool].into_iter();
    words
        .chain(own.filter_map(|own| Some(format!("--{}={}", own.name, typed.text(own)?))))
        .collect()
}

/// The whole line.
fn line(typed: &PlanArgs, added: &[Added]) -> String {
    let mut words = vec!["srun".to_string()];
    words.extend(staying(typed));
    words.extend(added.iter().map(spelled));
    words.push("./app".into());
    words.join(" ")
}

/// Why a step does not have what its `-n` and `-c` ask for.
fn too_few(step: &PlannedStep) -> Option<String> {
    let mut all = step.planned().iter();
    all.find_map(|planned| {
        let (plan, request) = (&planned.plan, &planned.request);
        let each = request.cpus_per_task;
        let (wanted, own) = (plan.decision.wanted, plan.decision.own.count());
        if wanted > own as u64 && !request.overcommit {
            let (tasks, each) = (counted(planned.tasks, "task"), counted(each, "CPU"));
            let own = counted(own, "CPU");
            return Some(format!(
                "{tasks} × {each} are {wanted}; this step has {own} on a node"
            ));
        }
        let count = |cpus: &CpuSet| match cpus.is_empty() {
            true => own,
            false => cpus.count(),
        };
        let least = plan.tasks.iter().map(|task| count(&task.cpus)).min()?;
        (least < each as usize).then(|| {
            format!("{each} CPUs are requested for each task (-c), but some tasks get {least}")
        })
    })
}
